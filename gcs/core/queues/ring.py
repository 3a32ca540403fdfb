"""The quickheap's chunks in memory: one after the other in a circular array, which they wander around.

    head ─► first chunk │ chunk │ … │ last chunk ─► tail

Positions only grow; a position's cell is its place modulo the capacity. Extraction moves the head, insertion the tail.
To make room in a chunk, each chunk behind it moves some entries from its front to its end, which changes nothing
for a chunk, as it has no order.
"""

import msgspec
import numpy as np

from gcs.core.queues.entries import ENTRY_BYTES, Entries
from gcs.core.queues.primitives import Primitives

#: entries that are split at once: they and their halves stay in the processor's cache
STRIDE = 1 << 14


class RingChunks:
    """Chunks in a circular array that doubles when it is full."""

    def __init__(self, capacity: int = 1024) -> None:
        self._cells = np.empty(capacity, np.complex128)
        self._head = self._tail = 0
        #: where the chunks begin, the last one's first; the head is the first one's
        self._starts: list[int] = []

    def sizes(self) -> list[int]:
        """Of the chunks, the last one's first."""
        return [end - start for start, end in zip([*self._starts, self._head], [self._tail, *self._starts])]

    def add(self, groups: list[Entries]) -> None:
        """Put entries into the chunks, the last one's first."""
        left = sum(map(len, groups))
        end, self._tail = self._tail, self._tail + left
        if self._tail - self._head > len(self._cells):
            self._grow(end)
        for i, (start, group) in enumerate(zip([*self._starts, self._head], groups)):
            left -= len(group)  # entries for the chunks before this one, which it makes room for
            moved = self._get(start, min(start + left, end))
            self._put(max(end, start + left), np.concatenate((moved, group)))
            if i < len(self._starts):
                self._starts[i] += left
            end = start

    def read(self) -> Entries:
        """The entries of the first chunk; good until the next call."""
        return self._get(self._head, self._end)

    def pop(self) -> None:
        """The first chunk goes; if it was the only one, it is empty now."""
        self._head = self._end
        if self._starts:
            self._starts.pop()

    def replace(self, entries: Entries) -> None:
        """The first chunk is this now, and smaller."""
        self._head = self._end - len(entries)
        self._put(self._head, entries)

    def split(self, pivots: Entries, do: Primitives) -> list[int]:
        """Better entries to the front: strides are read from both ends in turns, and written back to both ends."""
        (pivot,) = pivots
        low = low_read = self._head  # before `low`: better ones; from `low_read` on: not read yet
        high = high_read = self._end
        better = others = np.empty(0, np.complex128)
        while low_read < high_read:
            if low_read - low <= high - high_read:
                start, low_read = low_read, min(low_read + STRIDE, high_read)
                stride = self._get(start, low_read)
            else:
                stop, high_read = high_read, max(high_read - STRIDE, low_read)
                stride = self._get(high_read, stop)
            new_better, new_others = do.split(stride, pivot)
            better = np.concatenate((better, new_better)) if len(better) else new_better
            others = np.concatenate((others, new_others)) if len(others) else new_others
            if low_read < high_read:
                low, better = self._fill(low, low_read, better)
                fits = min(len(others), high - high_read)
                high -= fits
                self._put(high, others[:fits])
                others = others[fits:]
        self._put(low, better)
        self._put(low + len(better), others)
        sizes = [low + len(better) - self._head, self._end - low - len(better)]
        if all(sizes):
            self._starts.append(low + len(better))
        return sizes

    def sample(self, chance: np.random.Generator, run: int) -> Entries:
        """Up to `run` entries from somewhere in the first chunk."""
        start = int(chance.integers(self._head, max(self._end - run, self._head) + 1))
        return self._get(start, min(start + run, self._end))

    def state(self) -> bytes:
        """All of it."""
        starts = [start - self._head for start in self._starts]
        return msgspec.msgpack.encode((starts, self._get(self._head, self._tail).tobytes()))

    def restore(self, state: bytes) -> None:
        """Be what `state` was taken of."""
        self._starts, entries = msgspec.msgpack.decode(state, type=tuple[list[int], bytes])
        self._cells = np.resize(np.frombuffer(entries, np.complex128), max(len(entries) // ENTRY_BYTES, 1024))
        self._head, self._tail = 0, len(entries) // ENTRY_BYTES

    @property
    def _end(self) -> int:
        return self._starts[-1] if self._starts else self._tail

    def _fill(self, start: int, stop: int, entries: Entries) -> tuple[int, Entries]:
        """Put as many entries as there is room for; returns where the room is then, and what is left."""
        fits = min(len(entries), stop - start)
        self._put(start, entries[:fits])
        return start + fits, entries[fits:]

    def _get(self, start: int, stop: int) -> Entries:
        size = len(self._cells)
        begin, end = start % size, start % size + stop - start
        if end <= size:
            return self._cells[begin:end]
        return np.concatenate((self._cells[begin:], self._cells[: end - size]))

    def _put(self, start: int, entries: Entries) -> None:
        size = len(self._cells)
        begin, end = start % size, start % size + len(entries)
        if end <= size:
            self._cells[begin:end] = entries
        else:
            self._cells[begin:] = entries[: size - begin]
            self._cells[: end - size] = entries[size - begin :]

    def _grow(self, end: int) -> None:
        """Move what lies between head and end to an array that the tail fits in."""
        kept, size = self._get(self._head, end), len(self._cells)
        while self._tail - self._head > size:
            size *= 2
        self._cells = np.empty(size, np.complex128)
        self._put(self._head, kept)
