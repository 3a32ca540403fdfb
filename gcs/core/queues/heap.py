"""The plain binary heap, one key after the other: the yardstick for the queues that work in batches.

Compiled where numba is installed (see `kernels`), slow without it. All in memory, saved as a whole: from blocks, a heap
would read one for almost every level of almost every key.
"""

import numpy as np

from gcs.core.queues.contract import Ids, Keys, QueueCounts
from gcs.core.queues.entries import pack, unpack
from gcs.core.queues.kernels import Cells, cells, compiled


class BinaryHeap:
    """A heap in an array that doubles when it is full."""

    def __init__(self, counts: QueueCounts) -> None:
        self._counts = counts
        self._heap = np.empty(1024, np.complex128)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def state(self) -> bytes:
        return self._heap[: self._size].tobytes()

    def restore(self, state: bytes) -> None:
        self._heap = np.frombuffer(state, np.complex128).copy()
        self._size = len(self._heap)

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        new = pack(keys, ids)
        if self._size + len(new) > len(self._heap):
            grown = np.empty(max(2 * len(self._heap), self._size + len(new)), np.complex128)
            grown[: self._size] = self._heap[: self._size]
            self._heap = grown
        self._counts.comparisons += compiled(heap_push)(cells(self._heap), self._size, cells(new))
        self._size += len(new)

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        assert count >= 0, count
        top = np.empty(min(count, self._size), np.complex128)
        self._counts.comparisons += compiled(heap_pop)(cells(self._heap), self._size, cells(top))
        self._size -= len(top)
        return unpack(top)


def heap_push(heap: Cells, size: int, new: Cells) -> int:
    """Add rows to a binary heap of `size` rows, whose array has room; each climbs until its parent is better."""
    comparisons = 0
    for i in range(new.shape[0]):
        key, tail = new[i, 0], new[i, 1]
        at = size + i
        while at > 0:
            parent = (at - 1) >> 1
            comparisons += 1
            if heap[parent, 0] < key or (heap[parent, 0] == key and heap[parent, 1] <= tail):
                break
            heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
            at = parent
        heap[at, 0], heap[at, 1] = key, tail
    return comparisons


def heap_pop(heap: Cells, size: int, out: Cells) -> int:
    """Move the best rows of a binary heap to `out`: the last row takes the root's place and sinks, as in textbooks."""
    comparisons = 0
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = heap[0, 0], heap[0, 1]
        size -= 1
        key, tail = heap[size, 0], heap[size, 1]
        at = 0
        child = 1
        while child < size:
            if child + 1 < size:
                comparisons += 1
                left, right = heap[child, 0], heap[child + 1, 0]
                if right < left or (right == left and heap[child + 1, 1] < heap[child, 1]):
                    child += 1
            comparisons += 1
            if key < heap[child, 0] or (key == heap[child, 0] and tail <= heap[child, 1]):
                break
            heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
            at = child
            child = 2 * at + 1
        heap[at, 0], heap[at, 1] = key, tail
    return comparisons
