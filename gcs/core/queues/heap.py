"""The plain binary heap, one key after the other: the yardstick for the queues that work in batches.

Compiled where numba is installed (see `kernels`), slow without it. All in memory, saved as a whole: from blocks, a heap
would read one for almost every level of almost every key.
"""

import numpy as np

from gcs.core.queues.contract import Counts, Ids, Keys
from gcs.core.queues.entries import pack, unpack
from gcs.core.queues.kernels import cells, compiled, heap_pop, heap_push


class BinaryHeap:
    """A heap in an array that doubles when it is full."""

    def __init__(self, counts: Counts | None = None) -> None:
        self._counts = counts or Counts()
        self._heap = np.empty(1024, np.complex128)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def state(self) -> bytes:
        """All of it."""
        return self._heap[: self._size].tobytes()

    def restore(self, state: bytes) -> None:
        """Be what `state` was taken of."""
        self._heap = np.frombuffer(state, np.complex128).copy()
        self._size = len(self._heap)

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in."""
        new = pack(keys, ids)
        if self._size + len(new) > len(self._heap):
            grown = np.empty(max(2 * len(self._heap), self._size + len(new)), np.complex128)
            grown[: self._size] = self._heap[: self._size]
            self._heap = grown
        self._counts.comparisons += compiled(heap_push)(cells(self._heap), self._size, cells(new))
        self._size += len(new)

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """Give out the best pairs, best first."""
        assert count >= 0, count
        top = np.empty(min(count, self._size), np.complex128)
        self._counts.comparisons += compiled(heap_pop)(cells(self._heap), self._size, cells(top))
        self._size -= len(top)
        return unpack(top)
