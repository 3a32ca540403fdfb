"""The quickheap's chunks on blocks: each chunk is a list of blocks that grows at its end.

New blocks take the slots of those that were dropped, so the queue wanders over a storage which is never larger than
the queue was (twice that between saves). A chunk's depth in the stack never changes, so a block's number says how soon
it will be needed: the cache keeps those of the first chunks, and the last block of each chunk, which is being filled.
"""

import msgspec
import numpy as np

from gcs.core.queues.blocks import RankedBlocks
from gcs.core.queues.entries import Entries
from gcs.core.queues.primitives import Primitives, grouped

#: blocks that are split at once
STRIDE = 2
#: a block's number is its chunk's depth times this, and a serial number
_DEPTH = 1 << 44


class _Chunk(msgspec.Struct, array_like=True):
    """A chunk: all its blocks but the last are full."""

    size: int = 0
    blocks: list[int] = msgspec.field(default_factory=list)


class _State(msgspec.Struct, frozen=True, array_like=True):
    serial: int
    chunks: list[_Chunk]


class PagedChunks:
    """Chunks on blocks."""

    def __init__(self, blocks: RankedBlocks, block_keys: int) -> None:
        self._blocks, self._block_keys = blocks, block_keys
        self._chunks = [_Chunk()]
        self._serial = 0

    def sizes(self) -> list[int]:
        """Of the chunks, the last one's first."""
        return [chunk.size for chunk in self._chunks]

    def add(self, groups: list[Entries]) -> None:
        """Put entries into the chunks, the last one's first."""
        for depth, group in enumerate(groups):
            self._append(depth, group)

    def read(self) -> Entries:
        """The entries of the first chunk; good until the next call."""
        chunk = self._chunks[-1]
        return self._get(chunk.blocks)[: chunk.size]

    def pop(self) -> None:
        """The first chunk goes; if it was the only one, it is empty now."""
        self._drop(self._chunks.pop().blocks)
        if not self._chunks:
            self._chunks.append(_Chunk())
        self._settle()

    def replace(self, entries: Entries) -> None:
        """The first chunk is this now, and smaller."""
        self._drop(self._chunks[-1].blocks)
        self._chunks[-1] = _Chunk()
        self._append(len(self._chunks) - 1, entries)

    def split(self, pivots: Entries, do: Primitives) -> list[int]:
        """New chunks are written while the old one is read; its blocks are dropped when they were."""
        first, old = len(self._chunks) + len(pivots) - 1, self._chunks[-1]
        new = self._chunks[-1:] = [_Chunk() for _ in range(len(pivots) + 1)]
        left = old.size
        for start in range(0, len(old.blocks), STRIDE):
            numbers = old.blocks[start : start + STRIDE]
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
        """Up to `run` entries from somewhere in the first chunk."""
        chunk = self._chunks[-1]
        number = int(chance.integers(len(chunk.blocks)))
        size = min(chunk.size - number * self._block_keys, self._block_keys)
        start = int(chance.integers(max(size - run, 0) + 1))
        return self._blocks[chunk.blocks[number]][start : min(start + run, size)]

    def state(self) -> bytes:
        """All but the entries."""
        return msgspec.msgpack.encode(_State(self._serial, self._chunks))

    def restore(self, state: bytes) -> None:
        """Be what `state` was taken of; the entries are where they were."""
        was = msgspec.msgpack.decode(state, type=_State)
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
