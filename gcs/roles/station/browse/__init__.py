"""What a crawl has gathered, for people: pages, hosts, settings, log, downloads. All of it is hostile text."""
