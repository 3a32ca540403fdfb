"""A tournament tree in memory, where numba is installed: each operation is one compiled call, without the GIL.

It is the tree of `tournament`, with the same two buffers; its nodes are rows of one array, and the loops are those of
`rows`. It takes half of that one's time. Trees on threads meet at the GIL once an operation, and do not fight for fresh
memory. It does not count, and without numba it is slow.
"""

import numpy as np

from gcs.core.queues.contract import Ids, Keys
from gcs.core.queues.entries import MAX_ID, OFFSET, Entries, check, pack, unpack
from gcs.core.queues.kernels import Cells, compiled
from gcs.core.queues.row_loops import ITEMS, PLACE, Nodes, Numbers, insert_pairs, tell_pairs

#: items that there is room for at first
FEW = 16
#: pairs that go in or out in one call: bounds the buffers
MOST_PAIRS = 1 << 17


class RowTree:
    """A tournament tree whose nodes hold `node_keys` entries each."""

    def __init__(self, node_keys: int) -> None:
        self._insert, self._tell = compiled(insert_pairs), compiled(tell_pairs)
        self._node_keys = node_keys
        self._clear()

    def __len__(self) -> int:
        items, _, _, front, front_end, pending, pending_end = self._at.tolist()
        return int(items * self._node_keys + front_end - front + pending_end - pending)

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in."""
        keys, ids = np.ascontiguousarray(keys, np.float64), np.ascontiguousarray(ids, np.uint64)
        if len(keys) > MOST_PAIRS or keys.shape != ids.shape or keys.ndim != 1:
            check(keys, ids)
        for start in range(0, len(keys), MOST_PAIRS):
            self._insert_some(keys[start : start + MOST_PAIRS], ids[start : start + MOST_PAIRS])

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """Give out the best pairs, best first."""
        assert count >= 0, count
        count = min(count, len(self))
        keys, ids = np.empty(count), np.empty(count, np.uint64)
        for start in range(0, count, MOST_PAIRS):
            self._tell_some(keys[start : start + MOST_PAIRS], ids[start : start + MOST_PAIRS], stays=False)
        return keys, ids

    def best(self, count: int) -> Entries:
        """The best `count` entries, sorted, which stay; all if there are fewer."""
        count = min(count, len(self))
        keys, ids = np.empty(count), np.empty(count, np.uint64)
        self._tell_some(keys, ids, stays=True)
        return pack(keys, ids)

    def drop(self, count: int) -> None:
        """The best `count` entries go."""
        self.extract_top(count)

    def state(self) -> bytes:
        """All of it: the entries, in no order."""
        items, _, _, *bounds = self._at.tolist()
        leaves = self._links[PLACE, items : 2 * items]
        held = (self._front[slice(*bounds[:2])], self._pending[slice(*bounds[2:])], self._nodes[leaves].reshape(-1, 2))
        return np.concatenate(held).tobytes()

    def restore(self, state: bytes) -> None:
        """Be what `state` was taken of."""
        self._clear()
        self.insert_many(*unpack(np.frombuffer(state, np.complex128)))

    def _clear(self) -> None:
        size = self._node_keys
        self._nodes, self._links = np.empty((FEW, size, 2)), np.zeros((3, 2 * FEW), np.int64)
        self._front, self._pending, self._spare = (np.empty((size, 2)) for _ in range(3))
        self._at = np.zeros(7, np.int64)

    def _parts(self) -> tuple[Nodes, Numbers, Numbers, Cells, Cells, Cells]:
        return self._nodes, self._links, self._at, self._front, self._pending, self._spare

    def _insert_some(self, keys: Keys, ids: Ids) -> None:
        items = int(self._at[ITEMS]) + len(keys) // self._node_keys + 1
        if items > len(self._nodes):  # the nodes grow where they are, as far as the system can
            self._nodes.resize((max(items, len(self._nodes) * 5 // 4), self._node_keys, 2), refcheck=False)
            self._links = np.pad(self._links, ((0, 0), (0, 2 * len(self._nodes) - self._links.shape[1])))
        self._pending = _with_room(self._pending, self._node_keys + len(keys))
        if not self._insert(keys, ids, OFFSET, np.uint64(MAX_ID), *self._parts()):
            check(keys, ids)  # which says what is wrong
            raise AssertionError("pairs that are fine were refused")

    def _tell_some(self, keys: Keys, ids: Ids, stays: bool) -> None:
        self._front = _with_room(self._front, self._node_keys + len(keys))
        self._tell(keys, ids, OFFSET, stays, *self._parts())


def _with_room(cells: Cells, size: int) -> Cells:
    """The same rows in an array that has room for so many."""
    return cells if len(cells) >= size else np.pad(cells, ((0, size - len(cells)), (0, 0)))
