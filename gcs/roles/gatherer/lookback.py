"""Looking back: when a range was lost with its owner's disk, the links into it are found again in what we have stored.

Seeds are links, too: nobody else may point to them. Records of gatherers that are in the plan are theirs to look
through; those of others, which have left, are everybody's who can read them. It begins anew after a restart, and
finding a link twice does no harm.

Invariant: until it is done, the ranges to look for stand in the frontier's notes.
"""

from collections.abc import Callable, Container, Iterable, Iterator

import msgspec

from gcs.core import ranges
from gcs.core.page import PageRecord
from gcs.core.ranges import Range, Ranges
from gcs.core.sortkey import sort_key
from gcs.ports.frontier import Entry, Frontier

#: records that are looked through per turn
SLICE_RECORDS = 200
NOTE = "look-back"


class LookBack:
    """The search of one gatherer for links into lost ranges."""

    def __init__(self, me: str, frontier: Frontier, records: Callable[[], Iterator[PageRecord]]) -> None:
        self._me, self._frontier, self._records = me, frontier, records
        packed = frontier.note(NOTE)
        self._lost: Ranges = msgspec.msgpack.decode(packed, type=tuple[Range, ...]) if packed else ()
        self._rest: Iterator[PageRecord] | None = None
        #: all seeds ever given, and which links of a page at that depth belong to the crawl; set by the gatherer
        self.seeds: Callable[[], Iterable[str]] = tuple
        self.admit: Callable[[list[str], int], list[str]] = lambda urls, _: urls

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to look for."""
        return not self._lost

    def begin(self, lost: Ranges) -> None:
        """Look for links into these ranges too."""
        self._set(ranges.unite((*self._lost, *lost)))
        self._rest = None

    def step(self, team: Container[str]) -> list[Entry]:
        """Look through some records; returns the links found."""
        if not self._lost:
            return []
        found: list[Entry] = []
        if self._rest is None:
            self._rest = self._records()
            found += [Entry(url) for url in self.seeds() if ranges.contains(self._lost, sort_key(url))]
        for _ in range(SLICE_RECORDS):
            record = next(self._rest, None)
            if record is None:
                self._set(())
                self._rest = None
                break
            if record.gatherer == self._me or record.gatherer not in team:
                found += self._links(record)
        return found

    def _links(self, record: PageRecord) -> Iterator[Entry]:
        into = [url for url in record.outlinks if ranges.contains(self._lost, sort_key(url))]
        if into:
            depth = record.depth if 300 <= record.status < 400 else record.depth + 1
            for url in self.admit(into, depth):
                yield Entry(url, record.url, depth, depth)

    def _set(self, lost: Ranges) -> None:
        self._lost = lost
        self._frontier.set_note(NOTE, msgspec.msgpack.encode(lost))
