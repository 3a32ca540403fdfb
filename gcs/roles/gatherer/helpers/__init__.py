"""Helpers: pages are lent to helpers, and the pages of untrusted helpers are checked."""
