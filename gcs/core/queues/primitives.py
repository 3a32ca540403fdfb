"""The few steps that the queues are made of, and numpy's form of them.

Numpy was measured as fast as loops compiled by numba, or faster, and releases the GIL while it runs. What it cannot do
is count comparisons: `gcs.sim.engine.counting_loops` has the same steps as loops that count.

Invariant: no primitive changes what it is given, and what it returns shares no memory with it.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gcs.core.queues.contract import QueueCounts
from gcs.core.queues.entries import Entries


class Primitives(Protocol):
    """Sorting, merging, splitting, selecting and classifying of entries."""

    @property
    def counts(self) -> QueueCounts:
        """What the queue that works with them did; comparisons inside a primitive count only where it counts them."""

    def sort(self, entries: Entries) -> Entries:
        """The entries, best first."""

    def merge(self, one: Entries, two: Entries) -> Entries:
        """Two sorted runs as one."""

    def split(self, entries: Entries, pivot: np.complex128) -> tuple[Entries, Entries]:
        """The entries that are better than the pivot, and the others."""

    def select(self, entries: Entries, count: int) -> Entries:
        """The entries, the best `count` of them in front; 0 < count < len(entries)."""

    def classify(self, pivots: Entries, entries: Entries) -> NDArray[np.uint16]:
        """For each entry, how many of the sorted pivots are not worse than it."""


class Vectors:
    """The primitives as numpy has them."""

    def __init__(self) -> None:
        self.counts = QueueCounts()

    def sort(self, entries: Entries) -> Entries:
        """By key alone, three times faster; then by all, if keys are tied."""
        ordered = entries.take(np.argsort(entries.real))
        keys = ordered.real
        if (keys[1:] == keys[:-1]).any():
            ordered.sort(kind="stable")
        return ordered

    def merge(self, one: Entries, two: Entries) -> Entries:
        """Numpy's stable sort finds the two runs and merges them."""
        both = np.concatenate((one, two))
        both.sort(kind="stable")
        return both

    def split(self, entries: Entries, pivot: np.complex128) -> tuple[Entries, Entries]:
        """By key alone, three times faster; then by all, where keys are tied."""
        keys = entries.real
        better, tied = keys < pivot.real, keys == pivot.real
        if tied.any():
            better |= tied & (entries.imag < pivot.imag)
        # places, not masks: what is random misleads the processor's guesses
        return entries.take(np.flatnonzero(better)), entries.take(np.flatnonzero(~better))

    def select(self, entries: Entries, count: int) -> Entries:
        """By key alone; then by all, if keys are tied where the best end."""
        chosen = entries.take(np.argpartition(entries.real, count - 1))
        keys = chosen.real
        if (keys[count:] == keys[count - 1]).any():
            return np.partition(entries, count - 1)
        return chosen

    def classify(self, pivots: Entries, entries: Entries) -> NDArray[np.uint16]:
        return np.searchsorted(pivots, entries, side="right").astype(np.uint16)


def grouped(entries: Entries, chunks: NDArray[np.uint16], count: int) -> list[Entries]:
    """The entries of each of so many chunks, as `classify` has told them."""
    ends = np.cumsum(np.bincount(chunks, minlength=count)).tolist()
    entries = entries[np.argsort(chunks, kind="stable")]
    return [entries[start:end] for start, end in zip([0, *ends], ends)]
