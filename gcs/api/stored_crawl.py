"""A crawl that is stored: `gcs.open(directory)` reads what any crawl has left, by one gatherer or by a team.

Everything is read when it is asked for, record by record. Works while the crawl runs, too.
"""

from collections.abc import Iterator
from pathlib import Path

from gcs.app import crawl_dir
from gcs.core.page.values import PageRecord, tells
from gcs.core.polite.politeness import RETRY_STATUSES
from gcs.core.report.report import Report
from gcs.errors import UsageError
from gcs.ports.records import reading
from gcs.ports.records.page import Page
from gcs.ports.records.parquet import FIELDS


class StoredCrawl:
    """What a crawl has stored, in a directory or at the URL of its store (`s3://…`)."""

    def __init__(self, place: str | Path) -> None:
        self._place = place if reading.is_url(place) else Path(place)
        if isinstance(self._place, Path):
            reading.check_crawl(self._place)

    def __repr__(self) -> str:
        return f"<StoredCrawl {self._place}>"

    def __iter__(self) -> Iterator[Page]:
        return self.pages()

    def pages(self) -> Iterator[Page]:
        """Each page once, as it was found last; none that are gone.

        Needs 60 bytes of memory for each page, up to two million of them. Larger crawls are read several times, a share
        of the URLs each time.
        """
        return (self._page(row) for row in reading.latest(self._place, FIELDS))

    def records(self) -> Iterator[Page]:
        """Everything, by gatherer and in the order it was stored: redirects, failures, and all sessions."""
        return (self._page(row) for row in reading.rows(self._place, FIELDS))

    def page(self, url: str) -> Page | None:
        """The page at this canonical URL, as it was found last; None if it is gone. Reads all records."""
        told = [page for page in self.versions(url) if _tells(page.record)]
        return told[-1] if told and told[-1].is_page else None

    def versions(self, url: str) -> list[Page]:
        """What each session found at this canonical URL, the oldest first. Reads all records."""
        found = (self._page(row) for row in reading.rows(self._place, FIELDS) if row[0] == url)
        return sorted(found, key=lambda page: (page.session, page.fetched_at))

    def edges(self) -> Iterator[tuple[str, str]]:
        """The links of the pages, each as (from, to), also to URLs that were not crawled."""
        for url, outlinks in reading.latest(self._place, ("url", "outlinks")):
            for target in outlinks:
                yield url, target

    def reports(self) -> dict[int, Report]:
        """The reports of the sessions that have ended, by number."""
        if not isinstance(self._place, Path):
            raise UsageError(f"{self._place}: reports are in the directory of a crawl, not at the URL of its store")
        return crawl_dir.reports(self._place)

    def _page(self, row: reading.Row) -> Page:
        return Page(PageRecord(**dict(zip(FIELDS, row))), self._place)


def _tells(record: PageRecord) -> bool:
    """Whether it says what is at the URL, and not only that a server cannot answer, or that an older record holds."""
    is_silent = bool(record.failure) and (record.status == 0 or record.status in RETRY_STATUSES)
    return not is_silent and tells(record.status, record.failure, record.held_at_us)


def open(place: str | Path) -> StoredCrawl:
    """Read the crawl in this directory, or at the URL of its store."""
    return StoredCrawl(place)
