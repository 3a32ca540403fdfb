"""Fills an index from the record logs of crawl directories: of all their gatherers, also while they write.

Invariant: the positions are in the commit that holds what was read before them. So an index that was killed repeats
what it had not committed, and pages that come twice are one document.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gcs.core.page.values import PageRecord, tells
from gcs.core.polite.politeness import RETRY_STATUSES
from gcs.core.search.searchable import Searchable
from gcs.ports.records.follower import SessionReader
from gcs.ports.search import IndexEngine

#: a commit is made of so many pages, or characters, or when the first has waited so many seconds
COMMIT_PAGES, COMMIT_CHARS, COMMIT_S = 4_000, 32 << 20, 5.0
_READ = 64


class IndexFollower:
    """Brings what crawls store into an index: reads their record logs, and commits from time to time."""

    def __init__(
        self,
        directories: Sequence[Path],
        home: Path,
        engine: IndexEngine,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine, self._clock = engine, clock
        self._reader = SessionReader(directories, engine.positions(), home)
        #: by URL: the page as it is now, or None if it is gone
        self._pending: dict[str, Searchable | None] = {}
        self._chars = 0
        self._first_at = 0.0
        self._has_read = False
        #: pages that were added or renewed
        self.indexed = 0

    def step(self, hurry: bool = False) -> bool:
        """Read and commit some; whether it is worth to come again at once. With `hurry`, all that was read."""
        now = self._clock()
        records = self._reader.read(_READ)
        for _, record in records:
            self._first_at = self._first_at if self._has_read else now
            self._has_read = True
            self._take(record)
        is_full = len(self._pending) >= COMMIT_PAGES or self._chars >= COMMIT_CHARS
        is_old = self._has_read and now >= self._first_at + COMMIT_S
        if is_full or is_old or (hurry and not records and self._has_read):
            self._commit()
        return bool(records)

    def close(self) -> None:
        self._reader.close()
        self._engine.close()

    def _take(self, record: PageRecord) -> None:
        is_silent = bool(record.failure) and (record.status == 0 or record.status in RETRY_STATUSES)
        if is_silent or not tells(record.status, record.failure, record.held_at_us):
            return
        if record.is_page and not record.noindex:
            self._pending[record.url] = searchable(record)
            self._chars += len(record.text)
        elif record.session > 1 or record.url in self._pending:  # else nothing was there
            self._pending[record.url] = None

    def _commit(self) -> None:
        pages = [page for page in self._pending.values() if page is not None]
        gone = [url for url, page in self._pending.items() if page is None]
        self._engine.write(pages, gone, self._reader.positions)
        self.indexed += len(pages)
        self._pending, self._chars, self._has_read = {}, 0, False


def searchable(record: PageRecord) -> Searchable:
    """A record as search sees it."""
    year, month, day = time.gmtime(record.fetched_at)[:3]
    return Searchable.of(record, year * 10_000 + month * 100 + day)
