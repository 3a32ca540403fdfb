"""The watch of a crawl on its disk: profiles, matches, receivers, and what pages said before."""

from pathlib import Path


def watch_file(directory: Path) -> Path:
    """Where the watch of a crawl is kept; there is none before it has a profile."""
    return directory / "watch" / "watch.sqlite"
