"""Range recovery: when a range was lost with its owner's disk, the records stored here tell a part of what it held.

First the pages of the range that are stored here, from a time when this gatherer owned it: they are not fetched again.
Then the links into the range, and the seeds in it, since no page may link to them. Each gatherer of the plan reads its
own records; records of gatherers that have left are read by every gatherer that can. A recovery begins anew after a
restart; finding a URL twice does no harm.

Invariant: until the recovery is done, the lost ranges are in the frontier's notes.
"""

from collections.abc import Callable, Iterator

import msgspec

from gcs.core.page.values import PageRecord, requisite_depth
from gcs.core.plan import keyspace
from gcs.core.plan.keyspace import Keyspace, Range, Ranges
from gcs.core.plan.plan import Plan
from gcs.core.url.admission import Admission
from gcs.core.url.queued_url import QueuedUrl, needed, priority_of
from gcs.core.url.sortkey import sort_key
from gcs.ports.frontier import Frontier, Mark
from gcs.ports.frontier.url_rows import short

#: records that are read per turn
SLICE_RECORDS = 200
NOTE = "look-back"


class RangeRecovery:
    """One gatherer's search of its records for what lost ranges held."""

    def __init__(
        self, me: str, frontier: Frontier, records: Callable[[], Iterator[PageRecord]], admission: Admission
    ) -> None:
        self._me, self._frontier, self._records, self._admission = me, frontier, records, admission
        packed = frontier.note(NOTE)
        self._lost: Ranges = msgspec.msgpack.decode(packed, type=tuple[Range, ...]) if packed else ()
        self._records_left: Iterator[tuple[PageRecord, bool]] | None = None
        self._keyspace = Keyspace.TREE  # of the plan

    @property
    def is_done(self) -> bool:
        return not self._lost

    def begin(self, lost: Ranges) -> None:
        """Search for these ranges too, from the first record on."""
        self._search(keyspace.unite((*self._lost, *lost)))

    def end(self) -> None:
        self._search(())

    def step(self, plan: Plan) -> tuple[list[QueuedUrl], list[tuple[bytes, Mark]]]:
        """Read some records; returns the links and the marks found."""
        links: list[QueuedUrl] = []
        marks: list[tuple[bytes, Mark]] = []
        if not self._lost:
            return links, marks
        self._keyspace = plan.keyspace
        if self._records_left is None:
            self._records_left = ((record, second) for second in (False, True) for record in self._records())
        for _ in range(SLICE_RECORDS):
            record, second = next(self._records_left, (None, True))
            if record is None:
                links += [QueuedUrl(url) for url in self._admission.seeds if self._is_lost(sort_key(url))]
                self.end()
                break
            if record.gatherer != self._me and record.gatherer in plan.gatherers:
                continue
            earlier = record.session < plan.session
            if second:
                links += self._links(record)
                if earlier and self._is_lost(sort_key(record.url)):
                    depth = needed(record.depth, record.requisite)
                    links.append(QueuedUrl(record.url, record.parent, depth, priority_of(depth)))
            elif not earlier and self._is_lost(key := short(sort_key(record.url))):
                marks.append((key, Mark.FAILED if record.failure else Mark.DONE))
        return links, marks

    def _links(self, record: PageRecord) -> Iterator[QueuedUrl]:
        into = [url for url in record.outlinks if self._is_lost(sort_key(url))]
        if into:
            depth = record.depth if 300 <= record.status < 400 else record.depth + 1
            for url in self._admission.wanted(into, depth):
                yield QueuedUrl(url, record.url, depth, depth)
        depth = requisite_depth(record)
        for url in self._admission.wanted_requisites(url for url in record.requisites if self._is_lost(sort_key(url))):
            yield QueuedUrl(url, record.url, depth, priority_of(depth))

    def _is_lost(self, key: bytes) -> bool:
        return keyspace.contains(self._lost, self._keyspace.place(key))

    def _search(self, lost: Ranges) -> None:
        self._lost, self._records_left = lost, None
        self._frontier.set_note(NOTE, msgspec.msgpack.encode(lost))
