"""The quickheap (Marin et al. 3.2): an array sorted only as far as was asked for, by incremental quicksort.

The array slides: extract_top takes from its head, insert_many adds at its tail. Pivots cut it into chunks:

    head                at₂                  at₁                                              tail
     │   first chunk     │      chunk         │            last chunk, about half of all       │
     │        ≤ pivot₂   │ ≥ pivot₂ ≤ pivot₁  │  ≥ pivot₁                                      │

Invariant: what lies before a pivot's position is not worse than the pivot, what lies from it on is not better.
To insert, an entry goes to its chunk, for which each chunk behind it moves some entries from its front to its end. To
extract, the chunk in which the last of the top ends is split, again and again, each time pushing the pivot
behind; the work of splitting is done once and stays useful. So only the ends of chunks are touched but for splits,
which pass over a chunk from both ends: friendly to disks.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gcs.core.queues.contract import Counts, Ids, Keys
from gcs.core.queues.entries import Entries, pack, unpack
from gcs.core.queues.primitives import primitives

#: a chunk of this size is not split further: to select in it is as quick
SMALL = 4096
#: entries that are split at once
STRIDE = 1 << 15
#: entries of which the pivot is the median
SAMPLE = 31


class Array(Protocol):
    """Where the entries lie: cells at positions that only grow."""

    def read(self, start: int, stop: int) -> Entries:
        """The entries at these positions; good until the next write."""

    def write(self, start: int, entries: Entries) -> None:
        """Put entries at the positions from `start` on."""

    def keep(self, first: int) -> None:
        """The positions before `first` will not be read again."""


@dataclass(frozen=True, slots=True)
class Pivot:
    """A cut between two chunks."""

    at: int
    entry: np.complex128


class QuickHeap:
    """A quickheap on an array."""

    def __init__(self, array: Array, counts: Counts | None = None, seed: int = 0) -> None:
        self._array = array
        self._do = primitives(counts)
        self._random = np.random.default_rng(seed)
        self._head = self._tail = 0
        #: the last chunk's first, so that the top of the stack is its end
        self._pivots: list[Pivot] = []

    def __len__(self) -> int:
        return self._tail - self._head

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in: each into its chunk, the last chunk first."""
        entries = pack(keys, ids)
        if not len(entries):
            return
        pivots = self._pivots
        best_first = np.array([pivot.entry for pivot in reversed(pivots)], np.complex128)
        chunks = self._do.classify(best_first, entries)
        sizes = np.bincount(chunks, minlength=len(pivots) + 1)[::-1].tolist()
        entries = entries[np.argsort(chunks, kind="stable")]
        end, left = self._tail, len(entries)
        for i, size in enumerate(sizes):
            start = pivots[i].at if i < len(pivots) else self._head
            left -= size  # entries for the chunks before this one, which it makes room for
            moved = self._array.read(start, min(start + left, end))
            self._array.write(max(end, start + left), np.concatenate((moved, entries[left : left + size])))
            if i < len(pivots):
                pivots[i] = Pivot(start + left, pivots[i].entry)
            end = start
        self._tail += len(entries)

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """Give out the best pairs, best first."""
        final = self._head + min(count, len(self))
        first = self._head
        while self._pivots and self._pivots[-1].at <= final:
            first = self._pivots.pop().at
        last = self._pivots[-1].at if self._pivots else self._tail
        while first < final < last:
            if last - first <= SMALL:
                self._array.write(first, self._do.select(self._array.read(first, last), final - first))
                break
            pivot = self._split(first, last)
            if pivot.at <= final:
                first = pivot.at
            else:
                self._pivots.append(pivot)
                last = pivot.at
        top = self._do.sort(self._array.read(self._head, final))
        self._head = final
        self._array.keep(final)
        return unpack(top)

    def _split(self, first: int, last: int) -> Pivot:
        """Split a chunk of at least two entries near its median: strides are read from both ends in turns and written
        back to both ends, so that whatever its length a few strides of it are in memory.
        """
        pivot = self._median(first, last)
        at = self._pass(first, last, pivot)
        if at == first:  # the pivot is the best: those after it cannot be its equals
            after = np.complex128(complex(pivot.real, np.nextafter(pivot.imag, np.inf)))
            at = self._pass(first, last, after)
            if at == last:  # all are equal: any cut will do
                at = (first + last) // 2
        return Pivot(at, pivot)

    def _pass(self, first: int, last: int, pivot: np.complex128) -> int:
        """Move the entries better than the pivot to the front; returns where the others begin."""
        array, nothing = self._array, np.empty(0, np.complex128)
        low = low_read = first  # before `low`: better ones; from `low_read` on: not read yet
        high = high_read = last
        better, others = nothing, nothing
        while low_read < high_read:
            if low_read - low <= high - high_read:
                start, low_read = low_read, min(low_read + STRIDE, high_read)
                stride = array.read(start, low_read)
            else:
                stop, high_read = high_read, max(high_read - STRIDE, low_read)
                stride = array.read(high_read, stop)
            new_better, new_others = self._do.split(stride, pivot)
            better = np.concatenate((better, new_better)) if len(better) else new_better
            others = np.concatenate((others, new_others)) if len(others) else new_others
            if low_read >= high_read:
                break
            fits = min(len(better), low_read - low)
            array.write(low, better[:fits])
            low, better = low + fits, better[fits:]
            fits = min(len(others), high - high_read)
            array.write(high - fits, others[:fits])
            high, others = high - fits, others[fits:]
        array.write(low, better)
        array.write(low + len(better), others)
        return low + len(better)

    def _median(self, first: int, last: int) -> np.complex128:
        places = self._random.integers(first, last, min(SAMPLE, last - first))
        sample = np.concatenate([self._array.read(place, place + 1) for place in places.tolist()])
        return np.complex128(self._do.sort(sample)[len(sample) // 2])
