"""The crawls that a station shows: where each is (source), what is open, which there are, and what begins them."""
