"""Two small summaries of a stream of visits: the hot items with their counts, and a fair sample of all.

Several gatherers may each keep their own and join them later, in any order. Joining is exact in its counters.

Invariants
    HotTokens: for every item, true − error ≤ count ≤ true, where an item that is not in the table counts 0 and
               error ≤ added / (capacity // 2 + 1); so every item seen more often than that is in the table, which
               never holds more than `capacity` items (a joined one may, until it is added to).
               What the table no longer accounts for was handed out by `add`: nothing is lost from the sum.
    Sample:    each visit of the population is in the sample with the same chance `rate`, independently of what it
               is of; at most `capacity` of them are kept, and all of them as long as they are no more than that.

They do not know what an item means: the URL tree counts tokens and keys with them, hot pages are URLs.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from random import Random

#: a joined sample may be larger than those it is made of: it lives only until the leader has decided
_JOINED = 8


class HotTokens:
    """The most frequent items of a stream: Misra and Gries' counters, lowered in batches.

    An item for which there is no room takes a count that is in the middle off every count, and items left with nothing
    go: half of them stay. Each such step takes away more than capacity // 2 times as many visits as it adds to
    `error`, hence the bound; it costs a sort for at least capacity / 2 new items, so that an add is one look-up in a
    dictionary on average.
    """

    __slots__ = ("capacity", "counts", "error")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        #: item → visits that the table accounts for
        self.counts: dict[bytes, int] = {}
        #: no item was seen more often than its count says by more than this
        self.error = 0

    def add(self, item: bytes, visits: int = 1) -> list[tuple[bytes, int]]:
        """Count visits of an item. Returns what was taken off the counts to make room: (item, visits)."""
        counts = self.counts
        if item in counts:
            counts[item] += visits
            return []
        counts[item] = visits
        return self._lower() if len(counts) > self.capacity else []

    def total(self) -> int:
        """Visits that the table accounts for."""
        return sum(self.counts.values())

    def join(self, others: Iterable["HotTokens"]) -> "HotTokens":
        """The table of all the streams together; it may hold more items than its capacity."""
        joined = HotTokens(self.capacity)
        counts = joined.counts = self.counts.copy()
        joined.error = self.error
        for table in others:
            joined.capacity = min(joined.capacity, table.capacity)
            joined.error += table.error
            for item, visits in table.counts.items():
                counts[item] = counts.get(item, 0) + visits
        return joined

    def _lower(self) -> list[tuple[bytes, int]]:
        counts = self.counts
        taken = sorted(counts.values(), reverse=True)[self.capacity // 2]
        off = [(item, min(visits, taken)) for item, visits in counts.items()]
        self.counts = {item: visits - taken for item, visits in counts.items() if visits > taken}
        self.error += taken
        return off


class KeySample:
    """A uniform sample of a stream of visits: those with the smallest of independent random priorities.

    A visit whose priority is above `rate` is passed over, so between two that are taken there are a geometric
    number of others: they are skipped without drawing a number for each (`_skip`).
    """

    __slots__ = ("_heap", "_is_heap", "_random", "_skip", "capacity", "population", "rate")

    def __init__(self, capacity: int, random: Random) -> None:
        self.capacity = capacity
        self._random = random
        #: chance of every visit to be in the sample: the largest priority in it, as soon as it is full. (Not the
        #: smallest that is not in it: with that, a joined sample would have less of the part that sets the rate.)
        self.rate = 1.0
        #: visits that the sample speaks for
        self.population = 0
        #: (−priority, item): the largest priority on top
        self._heap: list[tuple[float, bytes]] = []
        #: a joined sample is mostly read, so it is put in order only when it is added to
        self._is_heap = True
        self._skip = 0

    def __len__(self) -> int:
        return len(self._heap)

    def items(self) -> list[bytes]:
        """The sampled items, in no order that means anything; one that was sampled twice stands there twice."""
        return [item for _, item in self._heap]

    def add(self, item: bytes, visits: int = 1) -> None:
        self.population += visits
        while self._skip < visits:
            visits -= self._skip + 1
            self._take(item)
        self._skip -= visits

    def add_all(self, items: Sequence[bytes]) -> None:
        """Offer one visit of each item."""
        self.population += len(items)
        at = self._skip
        while at < len(items):
            self._take(items[at])
            at += 1 + self._skip
        self._skip = at - len(items)

    def join(self, others: Sequence["KeySample"]) -> "KeySample":
        """A uniform sample of all the populations together (disjoint ones): all that is fair to keep.

        It may pass the capacity, but not by much more than `_JOINED` times.
        """
        samples = (self, *others)
        joined = KeySample(min([sample.capacity for sample in samples]), self._random)
        joined.population = sum([sample.population for sample in samples])
        rate = min([sample.rate for sample in samples])
        expected = sum([len(sample) * rate / sample.rate for sample in samples])
        joined.rate = rate = rate * min(1.0, _JOINED * joined.capacity / max(expected, 1.0))
        joined._heap = [pair for sample in samples for pair in sample._heap if -pair[0] <= rate]
        joined._is_heap = False
        joined._draw_skip()
        return joined

    def drawn(self) -> list[tuple[float, bytes]]:
        """The sampled items with their priorities, none above the rate."""
        return [(-negative, item) for negative, item in self._heap]

    @classmethod
    def of(
        cls, drawn: Iterable[tuple[float, bytes]], capacity: int, rate: float, population: int, random: Random
    ) -> "KeySample":
        """The sample that had these drawn."""
        sample = cls(capacity, random)
        sample.rate, sample.population = rate, population
        sample._heap = [(-priority, item) for priority, item in drawn]
        sample._is_heap = False
        sample._draw_skip()
        return sample

    def _take(self, item: bytes) -> None:
        if not self._is_heap:
            heapq.heapify(self._heap)
            self._is_heap = True
        heapq.heappush(self._heap, ((self._random.random() - 1.0) * self.rate, item))
        while len(self._heap) > self.capacity:
            heapq.heappop(self._heap)
        if len(self._heap) == self.capacity:
            self.rate = -self._heap[0][0]
        self._draw_skip()

    def _draw_skip(self) -> None:
        """Choose how many visits are passed over before the next one is taken."""
        if self.rate < 1.0:
            self._skip = int(math.log(1.0 - self._random.random()) / math.log1p(-self.rate))
