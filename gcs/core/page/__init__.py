"""Pages: what is asked of the web and what comes back, formats, robots.txt, changes between sessions, search."""
