"""The outbox of one sender for one inbox: blocks are kept until their receiver has committed them.

A whiteboard may forget its last second (a crash with appendfsync everysec, a fail-over). So the sender numbers
its blocks 1, 2, 3… and keeps each one until the receiver's commit is known. Every receipt says how far the
space has the blocks (`sent`) and up to which one the receiver has committed them (`committed`). If `sent`
falls back, what lay between is simply due again; the space ignores numbers that it has.

    numbers   1 ……… base-1 │ base ……… sent │ sent+1 ……… last
              committed,   │ in the space, │ due: the next
              dropped here │ kept here     │ shipment

filled by: the caller that closes a block (`add`)
emptied by: `settle`, with each receipt

The numbers belong to the sender's name. A process that starts again takes a new name and adds what it kept on
its disk as new blocks: a double block is harmless (receivers are idempotent), a reused number would lose one.

Invariant: every block added is in `kept` until a receipt has said that its number is committed.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Shipment(Generic[B]):
    """Blocks to put now, numbered from `first`; all numbers below `base` are known to be committed."""

    base: int
    first: int
    blocks: tuple[B, ...]


class Outbox(Generic[B]):
    """Blocks on their way to one inbox, in memory; the caller keeps its own copy on disk."""

    def __init__(self, blocks: Iterable[B] = ()) -> None:
        self._kept: deque[B] = deque(blocks)
        self._base = 1
        self._sent = 0
        #: blocks that had to be sent again because the space had forgotten them
        self.resent = 0

    def __len__(self) -> int:
        """Blocks not yet known to be committed."""
        return len(self._kept)

    @property
    def last(self) -> int:
        """The number of the newest block, 0 if there never was one."""
        return self._base + len(self._kept) - 1

    @property
    def due(self) -> int:
        """Blocks that the space does not have."""
        return self.last - self._sent

    def kept(self) -> list[B]:
        return list(self._kept)

    def add(self, block: B) -> int:
        """Keep a block, and return its number."""
        self._kept.append(block)
        return self.last

    def shipment(self, limit: int) -> Shipment[B]:
        """Up to `limit` due blocks. An empty one is worth sending too while blocks are kept: it brings a receipt."""
        start = self._sent + 1 - self._base
        return Shipment(self._base, self._sent + 1, tuple(islice(self._kept, start, start + limit)))

    def settle(self, sent: int, committed: int) -> list[B]:
        """Take note of a receipt; return the blocks that are committed now and can be dropped from disk too."""
        dropped = [self._kept.popleft() for _ in range(min(committed, self.last) + 1 - self._base)]
        self._base += len(dropped)
        sent = max(min(sent, self.last), self._base - 1)
        self.resent += max(0, self._sent - sent)
        self._sent = sent
        return dropped
