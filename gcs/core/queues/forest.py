"""T tournament trees on T threads (Marin et al. 3.1): each id has its tree, and all trees work at once.

Ids are spread as if at random, so the top R of all are about R/T of each tree. Each tells a few more than that; if one
turns out to hold more of the top, all tell twice as many. So what comes out is exactly the top, as from one tree.

The threads run at once as far as numpy releases the GIL: in sorts and merges, where the time is spent. Do not expect
more from it than two or three cores' worth; gatherers on one machine are processes.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import msgspec
import numpy as np

from gcs.core.queues.contract import Ids, Keys
from gcs.core.queues.entries import pack, unpack
from gcs.core.queues.tournament import TournamentTree

#: 2⁶⁴ divided by the golden ratio: multiples of it are spread evenly
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Forest:
    """Trees that share the ids among them."""

    def __init__(self, trees: list[TournamentTree]) -> None:
        self.trees = trees
        self._pool = ThreadPoolExecutor(len(trees), "tree")

    def __len__(self) -> int:
        return sum(map(len, self.trees))

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in: each into its id's tree."""
        entries = pack(keys, ids)
        owner = (np.asarray(ids, np.uint64) * _GOLDEN >> np.uint64(32)) % np.uint64(len(self.trees))

        def add(tree: TournamentTree, number: int) -> None:
            tree.add(entries.take(np.flatnonzero(owner == np.uint64(number))))

        for _ in self._pool.map(add, self.trees, range(len(self.trees))):
            pass

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """Give out the best pairs, best first."""
        assert count >= 0, count
        count = min(count, len(self))
        share = count / len(self.trees)
        ask = int(share + 4 * share**0.5) + 1
        while True:
            told = list(self._pool.map(TournamentTree.best, self.trees, repeat(ask)))
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
        """All but the nodes."""
        return msgspec.msgpack.encode([tree.state() for tree in self.trees])

    def restore(self, state: bytes) -> None:
        """Be what `state` was taken of; the nodes are as they were then."""
        for tree, was in zip(self.trees, msgspec.msgpack.decode(state, type=list[bytes])):
            tree.restore(was)
