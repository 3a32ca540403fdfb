"""Reports: what a crawl counts, its estimate of the rest, and the figures that people see."""
