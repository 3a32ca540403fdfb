"""Blocks of entries on some storage, behind a cache of fixed size.

Blocks have numbers, storage has slots. A block that was saved is never overwritten: its next version goes to another
slot, and the old one is free again after the next save. So storage always holds all that the last save spoke of,
whatever was written since, and a crash at any instruction leaves the queue as it was saved.

    save:  flush, make the storage durable, make `slots` durable elsewhere, then `saved`

Invariant: a slot is in use by at most one block, and a slot of the last save is not written.
"""

import heapq
from collections import OrderedDict
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Protocol

from gcs.core.queues.contract import QueueCounts
from gcs.core.queues.entries import Entries

_NOTHING: Mapping[int, int] = MappingProxyType({})


class Storage(Protocol):
    """Where blocks lie: slots of equal size."""

    def read(self, slot: int) -> Entries:
        """What was written to the slot, in memory of its own."""

    def write(self, slot: int, entries: Entries) -> None: ...


class MemoryStorage:
    """Slots in memory: to count what a queue would read from a disk and write to it."""

    def __init__(self) -> None:
        self._slots: dict[int, Entries] = {}

    def read(self, slot: int) -> Entries:
        return self._slots[slot].copy()

    def write(self, slot: int, entries: Entries) -> None:
        self._slots[slot] = entries.copy()


class Blocks:
    """The blocks of one queue. When the cache is full, `victim` leaves it: here the least recently used one."""

    def __init__(self, storage: Storage, room: int, counts: QueueCounts, slots: Mapping[int, int] = _NOTHING) -> None:
        self._storage, self._room = storage, max(room, 4)
        self._counts = counts
        self._cache: OrderedDict[int, Entries] = OrderedDict()
        self._dirty: set[int] = set()
        self.slots = dict(slots)
        self._kept = set(slots.values())
        self._end = max(self._kept, default=-1) + 1
        self._free = sorted(set(range(self._end)) - self._kept, reverse=True)

    def __contains__(self, number: int) -> bool:
        return number in self._cache or number in self.slots

    def __getitem__(self, number: int) -> Entries:
        block = self._cache.get(number)
        if block is None:
            block = self._storage.read(self.slots[number])
            self._counts.block_reads += 1
            self._admit(number, block)
        else:
            self._cache.move_to_end(number)
        return block

    def __setitem__(self, number: int, block: Entries) -> None:
        if block.base is not None:  # a piece of something larger, which must not stay in memory with it
            block = block.copy()
        self._dirty.add(number)
        if number in self._cache:
            self._cache[number] = block
            self._cache.move_to_end(number)
        else:
            self._admit(number, block)

    def __delitem__(self, number: int) -> None:
        self._cache.pop(number, None)
        self._dirty.discard(number)
        slot = self.slots.pop(number, None)
        if slot is not None and slot not in self._kept:
            self._free.append(slot)

    def flush(self) -> None:
        for number in sorted(self._dirty):
            self._write(number, self._cache[number])
        self._dirty.clear()

    def saved(self) -> None:
        """`slots` is durable: what only the save before it spoke of is free."""
        now = set(self.slots.values())
        self._free += self._kept - now
        self._kept = now

    def victim(self) -> int:
        return next(iter(self._cache))

    def _admit(self, number: int, block: Entries) -> None:
        while len(self._cache) >= self._room:
            leaving = self.victim()
            old = self._cache.pop(leaving)
            if leaving in self._dirty:
                self._write(leaving, old)
                self._dirty.discard(leaving)
        self._cache[number] = block

    def _write(self, number: int, block: Entries) -> None:
        slot = self.slots.get(number)
        if slot is None or slot in self._kept:
            if self._free:
                slot = self._free.pop()
            else:
                slot, self._end = self._end, self._end + 1
            self.slots[number] = slot
        self._storage.write(slot, block)
        self._counts.block_writes += 1


class RankedBlocks(Blocks):
    """Blocks of which those with higher numbers will be needed sooner; those being filled do not leave the cache."""

    def __init__(self, storage: Storage, room: int, counts: QueueCounts, slots: Mapping[int, int] = _NOTHING) -> None:
        super().__init__(storage, room, counts, slots)
        self._lowest: list[int] = []
        self.filling: Collection[int] = ()

    def victim(self) -> int:
        """The block with the lowest number that is not being filled."""
        spared: list[int] = []
        while self._lowest:
            number = heapq.heappop(self._lowest)
            if number in self._cache:
                if number not in self.filling:
                    break
                spared.append(number)
        else:
            number = spared.pop(0)
        for each in spared:
            heapq.heappush(self._lowest, each)
        return number

    def _admit(self, number: int, block: Entries) -> None:
        super()._admit(number, block)
        heapq.heappush(self._lowest, number)
        if len(self._lowest) > 4 * self._room:  # most are numbers of blocks that were dropped
            self._lowest = list(self._cache)
            heapq.heapify(self._lowest)
