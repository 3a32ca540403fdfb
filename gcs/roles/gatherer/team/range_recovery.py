"""Range recovery: when a range was lost with its owner's disk, the records stored here tell a part of what it held.

First the pages of the range that are stored here, from when it was ours: they need not be fetched again. Then the links
into it, and the seeds in it, to which nobody may point. Records of gatherers that are in the plan are theirs to look
through; those of others, which have left, are everybody's who can read them. It begins anew after a restart, and
finding something twice does no harm.

Invariant: until it is done, the ranges to look for stand in the frontier's notes.
"""

from collections.abc import Callable, Iterator

import msgspec

from gcs.core.page.values import PageRecord
from gcs.core.plan import keyspace
from gcs.core.plan.keyspace import Keyspace, Range, Ranges
from gcs.core.plan.plan import Plan
from gcs.core.url.admission import Admission
from gcs.core.url.sortkey import sort_key
from gcs.ports.frontier import Entry, Frontier, Mark
from gcs.ports.frontier.entry import short

#: records that are looked through per turn
SLICE_RECORDS = 200
NOTE = "look-back"


class RangeRecovery:
    """The search of one gatherer for links into lost ranges."""

    def __init__(
        self, me: str, frontier: Frontier, records: Callable[[], Iterator[PageRecord]], admission: Admission
    ) -> None:
        self._me, self._frontier, self._records, self._admission = me, frontier, records, admission
        packed = frontier.note(NOTE)
        self._lost: Ranges = msgspec.msgpack.decode(packed, type=tuple[Range, ...]) if packed else ()
        self._rest: Iterator[tuple[PageRecord, bool]] | None = None
        self._keyspace = Keyspace.TREE  # of the plan

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to look for."""
        return not self._lost

    def begin(self, lost: Ranges) -> None:
        """Look for links into these ranges too."""
        self._set(keyspace.unite((*self._lost, *lost)))
        self._rest = None

    def end(self) -> None:
        """Nothing is to be looked for any more."""
        self._set(())
        self._rest = None

    def step(self, plan: Plan) -> tuple[list[Entry], list[tuple[bytes, Mark]]]:
        """Look through some records; returns the links and the marks found."""
        links: list[Entry] = []
        marks: list[tuple[bytes, Mark]] = []
        if not self._lost:
            return links, marks
        self._keyspace = plan.ground
        if self._rest is None:
            self._rest = self._twice()
        for _ in range(SLICE_RECORDS):
            record, second = next(self._rest, (None, True))
            if record is None:
                links += [Entry(url) for url in self._admission.seeds if self._is_lost(sort_key(url))]
                self.end()
                break
            if record.gatherer != self._me and record.gatherer in plan.gatherers:
                continue
            earlier = record.session < plan.session
            if second:
                links += self._links(record)
                if earlier and self._is_lost(sort_key(record.url)):
                    links.append(Entry(record.url, record.parent, record.depth, record.depth))
            elif not earlier and self._is_lost(key := short(sort_key(record.url))):
                marks.append((key, Mark.FAILED if record.failure else Mark.DONE))
        return links, marks

    def _twice(self) -> Iterator[tuple[PageRecord, bool]]:
        for second in (False, True):
            for record in self._records():
                yield record, second

    def _links(self, record: PageRecord) -> Iterator[Entry]:
        into = [url for url in record.outlinks if self._is_lost(sort_key(url))]
        if into:
            depth = record.depth if 300 <= record.status < 400 else record.depth + 1
            for url in self._admission.wanted(into, depth):
                yield Entry(url, record.url, depth, depth)

    def _is_lost(self, key: bytes) -> bool:
        return keyspace.contains(self._lost, self._keyspace.place(key))

    def _set(self, lost: Ranges) -> None:
        self._lost = lost
        self._frontier.set_note(NOTE, msgspec.msgpack.encode(lost))
