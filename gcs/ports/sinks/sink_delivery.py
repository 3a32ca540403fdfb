"""Brings the records of a crawl directory to one sink: of all its gatherers, also while they write.

It follows the record logs, so the crawl never waits for a sink, and a sink that is away misses nothing. How far it has
come is kept in state/GATHERER/sinks/, a file of 16 bytes for each sink.

Invariant: a position is kept only when `write` has returned for everything before it.
"""

import time
from collections.abc import Callable
from pathlib import Path

from gcs.events import Events
from gcs.ports.records.follower import Cursor, RecordFollower, log_end
from gcs.ports.records.page import Page
from gcs.ports.sinks import Sink

#: records read from one log at a time
_READ = 64
#: a batch is closed at this length of its texts
_BATCH_CHARS = 8 << 20
#: seconds before a batch that failed is written again: the first time, and at most
_RETRY_S, _MOST_RETRY_S = 0.5, 60.0
events = Events("sink")


class SinkDelivery:
    """A batch is filled, written and noted, over and over."""

    def __init__(
        self, directory: Path, sink: Sink, keeper: object = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory, self._sink, self._keeper, self._clock = directory, sink, keeper, clock
        self._sources: dict[str, tuple[RecordFollower, Cursor]] = {}
        self._pages: list[Page] = []
        self._chars = 0
        self._first_at = self._retry_at = 0.0
        #: tries in a row that have failed
        self.failures = 0
        #: why the last one failed
        self.problem = ""
        #: pages that the sink has taken
        self.delivered = 0

    def step(self, hurry: bool = False) -> bool:
        """Read and write some; whether it is worth to come again at once. With `hurry`, small batches are written."""
        now = self._clock()
        if now < self._retry_at and not hurry:
            return False
        has_read = self.failures == 0 and self._fill(now)
        is_full = len(self._pages) >= self._sink.batch_pages or self._chars >= _BATCH_CHARS
        is_old = bool(self._pages) and now >= self._first_at + self._sink.wait_s
        if is_full or is_old or self.failures or (hurry and not has_read):
            self._write(now)
        return has_read or is_full

    def close(self) -> None:
        for follower, cursor in self._sources.values():
            follower.close()
            cursor.close()
        self._sink.close()

    def _fill(self, now: float) -> bool:
        has_read = False
        for follower, _ in self._followed():
            room = self._sink.batch_pages - len(self._pages)
            for stored in follower.read(min(room, _READ)) if room > 0 and self._chars < _BATCH_CHARS else ():
                has_read = True
                record = stored.record
                # pages, and what became of pages that were known
                if self._sink.everything or record.is_page or (record.change and not record.source):
                    self._first_at = self._first_at if self._pages else now
                    self._pages.append(Page(record, self._directory, self._keeper))
                    self._chars += len(record.text) + sum(map(len, record.outlinks))
        return has_read

    def _followed(self) -> list[tuple[RecordFollower, Cursor]]:
        for log in self._directory.glob("state/*/log"):
            if (name := log.parent.name) not in self._sources:
                cursor = Cursor(log.parent / "sinks" / self._sink.key)
                begin = min(cursor.position, log_end(self._directory, name, cursor.position))
                self._sources[name] = RecordFollower(self._directory, name, begin), cursor
        return list(self._sources.values())

    def _write(self, now: float) -> None:
        try:
            if self._pages:
                self._sink.write(tuple(self._pages))
        except Exception as error:  # whatever it is: the batch comes again
            self.failures += 1
            self.problem = f"{type(error).__name__}: {error}"
            self._retry_at = now + min(_RETRY_S * 2 ** min(self.failures - 1, 10), _MOST_RETRY_S)
            if self.failures & (self.failures - 1) == 0:  # the first, the second, the fourth …
                events.warning(
                    "failed", sink=self._sink.shown, tries=self.failures, pages=len(self._pages), cause=error
                )
            return
        for follower, cursor in self._sources.values():
            if follower.position != cursor.position:
                cursor.keep(follower.position)
        self.delivered += len(self._pages)
        self._pages, self._chars, self.failures, self._retry_at = [], 0, 0, 0.0
