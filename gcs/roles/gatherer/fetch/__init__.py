"""Fetching: which URL is requested when and by whom, and what is done with the responses."""
