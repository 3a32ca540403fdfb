"""The watch of a crawl on its disk: profiles, matches, receivers, and what pages said before."""
