"""What a station needs of the machine that it is on: crawls in directories, processes that crawl, tokens in files."""
