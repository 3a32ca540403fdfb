"""A circular array of entries in memory: positions only grow, and a position's cell is its place modulo the capacity.

Invariant: from the first position that is kept to the last that was written, cells hold what was written.
"""

import numpy as np

from gcs.core.queues.entries import Entries


class Ring:
    """An array that slides: filled by write at its tail, emptied by keep at its head. It doubles when it is full."""

    def __init__(self, capacity: int = 1024) -> None:
        self._cells = np.empty(capacity, np.complex128)
        self._first = 0

    def read(self, start: int, stop: int) -> Entries:
        """The entries at these positions; good until the next write."""
        size = len(self._cells)
        begin, end = start % size, start % size + stop - start
        if end <= size:
            return self._cells[begin:end]
        return np.concatenate((self._cells[begin:], self._cells[: end - size]))

    def write(self, start: int, entries: Entries) -> None:
        """Put entries at the positions from `start` on."""
        if start + len(entries) - self._first > len(self._cells):
            self._grow(start + len(entries))
        size = len(self._cells)
        begin, end = start % size, start % size + len(entries)
        if end <= size:
            self._cells[begin:end] = entries
        else:
            self._cells[begin:] = entries[: size - begin]
            self._cells[: end - size] = entries[size - begin :]

    def keep(self, first: int) -> None:
        """The positions before `first` will not be read again."""
        self._first = first

    def _grow(self, tail: int) -> None:
        size = len(self._cells)
        kept = self.read(self._first, self._first + size)
        while tail - self._first > size:
            size *= 2
        self._cells = np.empty(size, np.complex128)
        self.write(self._first, kept)
