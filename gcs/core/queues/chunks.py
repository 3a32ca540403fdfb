"""The chunks of a quickheap: in memory in a circular array, or on disk in blocks.

Chunks are a stack whose top is the first chunk. Only their ends are touched, but for splits, which pass over one.

In memory they lie one after the other in a circular array, which they wander around:

    head ─► first chunk │ chunk │ … │ last chunk ─► tail

Positions only grow; a position's cell is its place modulo the capacity. Extraction moves the head, insertion the tail.
To make room in a chunk, each chunk behind it moves some entries from its front to its end, which changes nothing
for a chunk, as it has no order.

On disk each chunk is a list of blocks that grows at its end. New blocks take the slots of those that were dropped, so
the queue wanders over a storage which is never larger than the queue was (twice that between saves). A chunk's depth in
the stack never changes, so a block's number says how soon it will be needed: the cache keeps the blocks of the first
chunks, and the last block of each chunk, which is being filled.
"""

from typing import Protocol

import msgspec
import numpy as np

from gcs.core.queues.blocks import RankedBlocks
from gcs.core.queues.entries import ENTRY_BYTES, Entries
from gcs.core.queues.primitives import Primitives, grouped

#: entries that are split at once in memory: they and their halves stay in the processor's cache
STRIDE = 1 << 14
#: blocks that are split at once
STRIDE_BLOCKS = 2
#: a block's number is its chunk's depth times this, and a serial number
_DEPTH = 1 << 44


class Chunks(Protocol):
    """A stack of chunks of entries; at least one. Its top is the first chunk."""

    def sizes(self) -> list[int]:
        """Of the chunks, the last one's first."""

    def add(self, groups: list[Entries]) -> None:
        """Put entries into the chunks, the last one's first."""

    def read(self) -> Entries:
        """The entries of the first chunk; good until the next call."""

    def pop(self) -> None:
        """The first chunk goes; if it was the only one, it is empty now."""

    def replace(self, entries: Entries) -> None:
        """The first chunk is this now, and smaller."""

    def split(self, pivots: Entries, do: Primitives) -> list[int]:
        """The first chunk becomes several, with the pivots, best first, between them; those that are empty are dropped.
        Returns how many entries each has, the best one's first. A single pivot is all that memory needs.
        """

    def sample(self, chance: np.random.Generator, run: int) -> Entries:
        """Up to `run` entries from somewhere in the first chunk."""

    def state(self) -> bytes:
        """What has to be kept to restore the chunks; entries on disk are not part of it."""

    def restore(self, state: bytes) -> None:
        """Be what `state` was taken of; entries on disk are where they were."""


class RingChunks:
    """Chunks in a circular array that doubles when it is full."""

    def __init__(self, capacity: int = 1024) -> None:
        self._cells = np.empty(capacity, np.complex128)
        self._head = self._tail = 0
        #: where the chunks begin, the last one's first; the head is the first one's
        self._starts: list[int] = []

    def sizes(self) -> list[int]:
        return [end - start for start, end in zip([*self._starts, self._head], [self._tail, *self._starts])]

    def add(self, groups: list[Entries]) -> None:
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
        return self._get(self._head, self._end)

    def pop(self) -> None:
        self._head = self._end
        if self._starts:
            self._starts.pop()

    def replace(self, entries: Entries) -> None:
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
        start = int(chance.integers(self._head, max(self._end - run, self._head) + 1))
        return self._get(start, min(start + run, self._end))

    def state(self) -> bytes:
        starts = [start - self._head for start in self._starts]
        return msgspec.msgpack.encode((starts, self._get(self._head, self._tail).tobytes()))

    def restore(self, state: bytes) -> None:
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


class _Chunk(msgspec.Struct, array_like=True):
    """A chunk: all its blocks but the last are full."""

    size: int = 0
    blocks: list[int] = msgspec.field(default_factory=list)


class _PagedState(msgspec.Struct, frozen=True, array_like=True):
    serial: int
    chunks: list[_Chunk]


class PagedChunks:
    """Chunks on blocks."""

    def __init__(self, blocks: RankedBlocks, block_keys: int) -> None:
        self._blocks, self._block_keys = blocks, block_keys
        self._chunks = [_Chunk()]
        self._serial = 0

    def sizes(self) -> list[int]:
        return [chunk.size for chunk in self._chunks]

    def add(self, groups: list[Entries]) -> None:
        for depth, group in enumerate(groups):
            self._append(depth, group)

    def read(self) -> Entries:
        chunk = self._chunks[-1]
        return self._get(chunk.blocks)[: chunk.size]

    def pop(self) -> None:
        self._drop(self._chunks.pop().blocks)
        if not self._chunks:
            self._chunks.append(_Chunk())
        self._settle()

    def replace(self, entries: Entries) -> None:
        self._drop(self._chunks[-1].blocks)
        self._chunks[-1] = _Chunk()
        self._append(len(self._chunks) - 1, entries)

    def split(self, pivots: Entries, do: Primitives) -> list[int]:
        """New chunks are written while the old one is read; its blocks are dropped when they were."""
        first, old = len(self._chunks) + len(pivots) - 1, self._chunks[-1]
        new = self._chunks[-1:] = [_Chunk() for _ in range(len(pivots) + 1)]
        left = old.size
        for start in range(0, len(old.blocks), STRIDE_BLOCKS):
            numbers = old.blocks[start : start + STRIDE_BLOCKS]
            entries = self._get(numbers)[:left]
            left -= len(entries)
            if len(pivots) == 1:
                groups = list(do.split(entries, pivots[0]))
            else:
                groups = grouped(entries, do.classify(pivots, entries), len(new))
            for part, group in enumerate(groups):
                self._append(first - part, group)
            self._drop(numbers)
        self._chunks[-len(new) :] = [chunk for chunk in new if chunk.size]
        self._settle()
        return [chunk.size for chunk in reversed(new)]

    def sample(self, chance: np.random.Generator, run: int) -> Entries:
        chunk = self._chunks[-1]
        number = int(chance.integers(len(chunk.blocks)))
        size = min(chunk.size - number * self._block_keys, self._block_keys)
        start = int(chance.integers(max(size - run, 0) + 1))
        return self._blocks[chunk.blocks[number]][start : min(start + run, size)]

    def state(self) -> bytes:
        return msgspec.msgpack.encode(_PagedState(self._serial, self._chunks))

    def restore(self, state: bytes) -> None:
        was = msgspec.msgpack.decode(state, type=_PagedState)
        self._serial, self._chunks = was.serial, was.chunks
        self._settle()

    def _get(self, numbers: list[int]) -> Entries:
        pieces = [self._blocks[number] for number in numbers]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces) if pieces else np.empty(0, np.complex128)

    def _append(self, depth: int, entries: Entries) -> None:
        """Fill the chunk's last block, and new ones."""
        chunk, size = self._chunks[depth], self._block_keys
        used = chunk.size % size
        if used and len(entries):
            block = self._blocks[chunk.blocks[-1]]
            block[used : used + len(entries)] = entries[: size - used]
            self._blocks[chunk.blocks[-1]] = block
        for start in range((size - used) % size, len(entries), size):
            block = np.zeros(size, np.complex128)
            block[: len(entries) - start] = entries[start : start + size]
            chunk.blocks.append(depth * _DEPTH + self._serial)
            self._serial += 1
            self._settle()
            self._blocks[chunk.blocks[-1]] = block
        chunk.size += len(entries)

    def _drop(self, numbers: list[int]) -> None:
        for number in numbers:
            del self._blocks[number]

    def _settle(self) -> None:
        self._blocks.filling = {chunk.blocks[-1] for chunk in self._chunks if chunk.blocks}
