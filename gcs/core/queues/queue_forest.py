"""T tournament trees on T threads (Marin et al. 3.1): each id has its tree, and all trees work at once.

Ids are spread as if at random, so the top R of all are about R/T of each tree. Each tells a few more than that; if one
turns out to hold more of the top, all tell twice as many. So what comes out is exactly the top, as from one tree.

The threads run at once while they have no need of the GIL: all of an operation where numba is installed
(`core.queues.tournament_rows`), else only while numpy sorts and merges. Do not expect more from it than two or three
cores' worth; gatherers on one machine are processes.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import msgspec
import numpy as np

from gcs.core.queues.contract import Ids, Keys, Queue
from gcs.core.queues.entries import Entries, check, unpack
from gcs.core.queues.queue_maker import NODE_KEYS, make_tree

#: 2⁶⁴ divided by the golden ratio: multiples of it are spread evenly
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class PeekableQueue(Queue, Protocol):
    """A queue that tells its best before they go."""

    def best(self, count: int) -> Entries:
        """The best `count` entries, sorted, which stay; all if there are fewer."""

    def drop(self, count: int) -> None:
        """The best `count` entries go; `best` has just told them."""


class Forest:
    """Trees that share the ids among them."""

    def __init__(self, trees: Sequence[PeekableQueue]) -> None:
        self.trees = trees
        #: threads end when the forest is dropped
        self._pool = ThreadPoolExecutor(len(trees), "tree")

    def __len__(self) -> int:
        return sum(map(len, self.trees))

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in: each into its id's tree."""
        keys, ids = np.asarray(keys, np.float64), np.asarray(ids, np.uint64)
        check(keys, ids)  # before any tree has some of them
        owner = (ids * _GOLDEN >> np.uint64(32)) % np.uint64(len(self.trees))

        def add(tree: PeekableQueue, number: int) -> None:
            mine = np.flatnonzero(owner == np.uint64(number))
            tree.insert_many(keys.take(mine), ids.take(mine))

        for _ in self._pool.map(add, self.trees, range(len(self.trees))):
            pass

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """Give out the best pairs, best first."""
        assert count >= 0, count
        count = min(count, len(self))
        share = count / len(self.trees)
        ask = int(share + 4 * share**0.5) + 1
        while True:
            told = [each.result() for each in [self._pool.submit(tree.best, ask) for tree in self.trees]]
            ends = np.cumsum([len(entries) for entries in told])
            both = np.concatenate(told)
            order = np.argsort(both, kind="stable")[:count]
            taken = np.bincount(np.searchsorted(ends, order, side="right"), minlength=len(told)).tolist()
            # a tree that told all it was asked for, and all of that is in the top, may hold more of it
            if ask >= count or all(used < ask for used in taken):
                break
            ask *= 2
        for tree, used in zip(self.trees, taken):
            tree.drop(used)
        return unpack(both.take(order))

    def state(self) -> bytes:
        return msgspec.msgpack.encode([tree.state() for tree in self.trees])

    def restore(self, state: bytes) -> None:
        for tree, was in zip(self.trees, msgspec.msgpack.decode(state, type=list[bytes])):
            tree.restore(was)


def make_forest(threads: int, node_keys: int = NODE_KEYS) -> Forest:
    """So many tournament trees in memory, which work at once."""
    return Forest([make_tree(node_keys) for _ in range(threads)])
