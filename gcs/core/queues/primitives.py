"""The few steps that the queues are made of, each in two forms that give the same: numpy's, and loops that count.

Numpy's do the work: they were measured as fast as the loops compiled by numba, or faster, and release the GIL while
they run. The loops count comparisons, as numpy cannot; compiled where numba is installed, slow where it is not.

Invariant: no primitive changes what it is given, and what it returns shares no memory with it.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import gcs.core.queues.kernels as kernels
from gcs.core.queues.contract import QueueCounts
from gcs.core.queues.entries import Entries
from gcs.core.queues.kernels import cells, compiled


class Primitives(Protocol):
    """Sorting, merging, splitting, selecting and classifying of entries."""

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


class Loops:
    """The primitives as loops that count."""

    def __init__(self, counts: QueueCounts) -> None:
        self._counts = counts

    def sort(self, entries: Entries) -> Entries:
        ordered = entries.copy()
        self._counts.comparisons += compiled(kernels.sort_rows)(cells(ordered), cells(np.empty_like(ordered)))
        return ordered

    def merge(self, one: Entries, two: Entries) -> Entries:
        both = np.empty(len(one) + len(two), np.complex128)
        if len(one) and len(two):
            self._counts.comparisons += compiled(kernels.merge_rows)(cells(one), cells(two), cells(both))
        else:
            both[:] = one if len(one) else two
        return both

    def split(self, entries: Entries, pivot: np.complex128) -> tuple[Entries, Entries]:
        both = np.empty_like(entries)
        better = compiled(kernels.split_rows)(cells(entries), pivot.real, pivot.imag, cells(both))
        self._counts.comparisons += len(entries)
        return both[:better], both[better:]

    def select(self, entries: Entries, count: int) -> Entries:
        ordered = entries.copy()
        self._counts.comparisons += compiled(kernels.select_rows)(cells(ordered), count)
        return ordered

    def classify(self, pivots: Entries, entries: Entries) -> NDArray[np.uint16]:
        chunks = np.empty(len(entries), np.uint16)
        self._counts.comparisons += compiled(kernels.classify_rows)(cells(pivots), cells(entries), chunks)
        return chunks


def grouped(entries: Entries, chunks: NDArray[np.uint16], count: int) -> list[Entries]:
    """The entries of each of so many chunks, as `classify` has told them."""
    ends = np.cumsum(np.bincount(chunks, minlength=count)).tolist()
    entries = entries[np.argsort(chunks, kind="stable")]
    return [entries[start:end] for start, end in zip([0, *ends], ends)]


def primitives(counts: QueueCounts | None) -> Primitives:
    """The fast form, or the one that counts."""
    return Vectors() if counts is None else Loops(counts)
