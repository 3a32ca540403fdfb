"""The watcher: matches what a crawl stores against the profiles of people, and pushes what matched to them."""
