"""The crawls that a station shows: where each is (source), what is open of it (desk), and which there are (shelf)."""
