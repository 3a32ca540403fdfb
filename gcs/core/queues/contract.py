"""What a queue of the frontier can do, and what it can count of what it does."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # a crawl host by host knows of queues, but has none
    import numpy as np
    from numpy.typing import NDArray

#: priorities: higher is better; not NaN
Keys: TypeAlias = "NDArray[np.float64]"
#: the items that have these priorities: below 2**62
Ids: TypeAlias = "NDArray[np.uint64]"


@dataclass(slots=True)
class QueueCounts:
    """What a queue did: comparisons of keys, blocks read from storage and written to it."""

    comparisons: int = 0
    block_reads: int = 0
    block_writes: int = 0


class Queue(Protocol):
    """A priority queue of (key, id) pairs, in batches. filled by: insert_many; emptied by: extract_top.

    Order: key descending, then id ascending. One thread at a time; several queues may work at once on several threads.
    """

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in."""

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """Give out the best `count` pairs, best first; all of them if there are fewer."""

    def __len__(self) -> int:
        """How many pairs wait."""

    def state(self) -> bytes:
        """All of the queue, or, if it lies on blocks, all but these."""

    def restore(self, state: bytes) -> None:
        """Be what `state` was taken of; blocks are as they were then."""
