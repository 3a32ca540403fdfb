"""GCS, Grand Central Station: a web crawler that a team of machines shares.

As a library:

    for page in gcs.crawl("https://example.org/", contact="you@example.org", max_pages=100):
        print(page.url, page.title)

`async for` works, too. `gcs.open(directory)` reads what a crawl has stored.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gcs.version import __version__

if TYPE_CHECKING:
    from gcs.api.crawling import Crawl, CrawlOptions, crawl
    from gcs.api.stored_crawl import StoredCrawl, open
    from gcs.core.report.report import Report
    from gcs.errors import GcsError
    from gcs.ports.plugins import ReadPage
    from gcs.ports.records.page import Page

__all__ = [
    "Crawl",
    "CrawlOptions",
    "GcsError",
    "Page",
    "ReadPage",
    "Report",
    "StoredCrawl",
    "__version__",
    "crawl",
    "open",
]

#: name → module; loaded at the first use, so that `import gcs` costs nothing
_PARTS = {
    "Crawl": "gcs.api.crawling",
    "CrawlOptions": "gcs.api.crawling",
    "GcsError": "gcs.errors",
    "Page": "gcs.ports.records.page",
    "ReadPage": "gcs.ports.plugins",
    "Report": "gcs.core.report.report",
    "StoredCrawl": "gcs.api.stored_crawl",
    "crawl": "gcs.api.crawling",
    "open": "gcs.api.stored_crawl",
}


def __getattr__(name: str) -> Any:
    if name not in _PARTS:
        raise AttributeError(f"module 'gcs' has no attribute {name!r}")
    return getattr(import_module(_PARTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})
