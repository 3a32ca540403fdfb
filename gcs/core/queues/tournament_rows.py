"""A tournament tree in memory, where numba is installed: each operation is one compiled call, without the GIL.

It is the tree of `tournament`, with the same two buffers; its nodes are rows of one array. It takes half of that one's
time: numpy does an operation in a dozen calls of some 20 µs, and threads that come back from them meet at the GIL,
where waiting costs more than the call. Trees on threads meet here once an operation, and do not fight for fresh memory.
It does not count, and without numba it is slow.

Cells and their order are those of `kernels`; so is the way the loops are compiled.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcs.core.queues.contract import Ids, Keys
from gcs.core.queues.entries import MAX_ID, OFFSET, Entries, check, pack, unpack
from gcs.core.queues.kernels import Cells, compiled

#: items that there is room for at first
FEW = 16
#: pairs that go in or out in one call: bounds the buffers
MOST_PAIRS = 1 << 17
#: rows of `RowArrays.links`
PLACE, LEAF, SPARE = 0, 1, 2
#: places in `RowArrays.at`: items in the tree, items ever made, spare ones; bounds of the front and of what is pending
ITEMS, MADE, SPARES, FRONT, FRONT_END, PENDING, PENDING_END = range(7)
_MAX_ID = np.uint64(MAX_ID)


class RowArrays(NamedTuple):
    """All of a tree, as the loops see it."""

    nodes: NDArray[np.float64]
    #: three rows of numbers: place → item (place 0 is not used), item → its leaf's place, and items that hold nothing
    links: NDArray[np.int64]
    #: how far each row of `links` is filled, and where what lies in `front` and in `pending` begins and ends
    at: NDArray[np.int64]
    front: Cells
    pending: Cells
    #: room for the entries that leave the winner of a match
    spare: Cells


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
        keys, ids = np.ascontiguousarray(keys, np.float64), np.ascontiguousarray(ids, np.uint64)
        if len(keys) > MOST_PAIRS or keys.shape != ids.shape or keys.ndim != 1:
            check(keys, ids)
        for start in range(0, len(keys), MOST_PAIRS):
            self._insert_some(keys[start : start + MOST_PAIRS], ids[start : start + MOST_PAIRS])

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        assert count >= 0, count
        count = min(count, len(self))
        keys, ids = np.empty(count), np.empty(count, np.uint64)
        for start in range(0, count, MOST_PAIRS):
            self._tell_some(keys[start : start + MOST_PAIRS], ids[start : start + MOST_PAIRS], stays=False)
        return keys, ids

    def best(self, count: int) -> Entries:
        count = min(count, len(self))
        keys, ids = np.empty(count), np.empty(count, np.uint64)
        self._tell_some(keys, ids, stays=True)
        return pack(keys, ids)

    def drop(self, count: int) -> None:
        self.extract_top(count)

    def state(self) -> bytes:
        """All of it: the entries, in no order."""
        items, _, _, *bounds = self._at.tolist()
        leaves = self._links[PLACE, items : 2 * items]
        held = (self._front[slice(*bounds[:2])], self._pending[slice(*bounds[2:])], self._nodes[leaves].reshape(-1, 2))
        return np.concatenate(held).tobytes()

    def restore(self, state: bytes) -> None:
        self._clear()
        self.insert_many(*unpack(np.frombuffer(state, np.complex128)))

    def _clear(self) -> None:
        size = self._node_keys
        self._nodes, self._links = np.empty((FEW, size, 2)), np.zeros((3, 2 * FEW), np.int64)
        self._front, self._pending, self._spare = (np.empty((size, 2)) for _ in range(3))
        self._at = np.zeros(7, np.int64)

    def _arrays(self) -> RowArrays:
        return RowArrays(self._nodes, self._links, self._at, self._front, self._pending, self._spare)

    def _insert_some(self, keys: Keys, ids: Ids) -> None:
        items = int(self._at[ITEMS]) + len(keys) // self._node_keys + 1
        if items > len(self._nodes):  # the nodes grow where they are, as far as the system can
            self._nodes.resize((max(items, len(self._nodes) * 5 // 4), self._node_keys, 2), refcheck=False)
            self._links = np.pad(self._links, ((0, 0), (0, 2 * len(self._nodes) - self._links.shape[1])))
        self._pending = _with_room(self._pending, self._node_keys + len(keys))
        if not self._insert(keys, ids, self._arrays()):
            check(keys, ids)  # which says what is wrong
            raise AssertionError("pairs that are fine were refused")

    def _tell_some(self, keys: Keys, ids: Ids, stays: bool) -> None:
        self._front = _with_room(self._front, self._node_keys + len(keys))
        self._tell(keys, ids, stays, self._arrays())


def _with_room(cells: Cells, size: int) -> Cells:
    """Copy the rows into an array that has room for so many."""
    return cells if len(cells) >= size else np.pad(cells, ((0, size - len(cells)), (0, 0)))


# -- the loops


def pack_rows(keys: Keys, ids: Ids, cells: Cells) -> bool:
    """Write pairs as entries; whether all of them have an order."""
    bits = cells.view(np.uint64)
    fine = True
    for i in range(keys.shape[0]):
        cells[i, 0] = 0.0 - keys[i]
        bits[i, 1] = ids[i] + OFFSET
        fine &= (keys[i] == keys[i]) & (ids[i] < _MAX_ID)
    return fine


def sort_by(rows: Cells, column: int, spare: Cells) -> bool:
    """Sort by one column, byte by byte, and keep the order of what is equal there; whether anything was."""
    size, old, new, swapped = rows.shape[0], rows, spare, False
    sign, byte = np.uint64(1 << 63), np.uint64(255)
    counts = np.zeros((8, 256), np.int64)
    bits = rows.view(np.uint64)
    for i in range(size):
        word = bits[i, column]
        word = ~word if word & sign else word | sign  # as numbers, these are in the order of the floats
        for digit in range(8):
            counts[digit, (word >> np.uint64(8 * digit)) & byte] += 1
    for digit in range(8):
        shift, count, start, are_equal = np.uint64(8 * digit), counts[digit], 0, False
        for value in range(256):
            held = count[value]
            are_equal |= held == size
            count[value] = start
            start += held
        if are_equal:
            continue
        bits = old.view(np.uint64)
        for i in range(size):
            word = bits[i, column]
            word = ~word if word & sign else word | sign
            value = (word >> shift) & byte
            new[count[value], 0], new[count[value], 1] = old[i, 0], old[i, 1]
            count[value] += 1
        old, new, swapped = new, old, not swapped
    tied = False
    for i in range(size):
        if swapped:
            rows[i, 0], rows[i, 1] = spare[i, 0], spare[i, 1]
        tied |= (i > 0) & (rows[i, column] == rows[i - 1, column])
    return tied


def copy(rows: Cells, to: Cells) -> None:
    """Write rows to the beginning of others, which may be some of the same from an earlier place on.

    A loop, because numba takes seconds to compile an assignment of arrays.
    """
    for i in range(rows.shape[0]):
        to[i, 0], to[i, 1] = rows[i, 0], rows[i, 1]


def play(winner: Cells, loser: Cells, spare: Cells) -> None:
    """A match, in place: the winner gets the best of both, the loser the others; both are sorted, and stay so.

    The winner's last k leave and the loser's first k come; k is found by bisection. Then the winner's are merged from
    behind and the loser's from the front, so that nothing is written over before it was read.
    """
    most, size = winner.shape[0], loser.shape[0]
    low, high = 0, min(most, size)
    while low < high:
        mid = (low + high) >> 1
        key, other = loser[mid, 0], winner[most - 1 - mid, 0]
        if key < other or (key == other and loser[mid, 1] < winner[most - 1 - mid, 1]):
            low = mid + 1
        else:
            high = mid
    k = low
    copy(winner[most - k :], spare)
    i, j, to = most - k - 1, k - 1, most - 1
    while i >= 0 and j >= 0:
        key, other = loser[j, 0], winner[i, 0]
        if key < other or (key == other and loser[j, 1] < winner[i, 1]):
            winner[to, 0], winner[to, 1] = winner[i, 0], winner[i, 1]
            i -= 1
        else:
            winner[to, 0], winner[to, 1] = loser[j, 0], loser[j, 1]
            j -= 1
        to -= 1
    while j >= 0:
        winner[j, 0], winner[j, 1] = loser[j, 0], loser[j, 1]
        j -= 1
    i, j, to = 0, k, 0
    while i < k and j < size:
        key, other = loser[j, 0], spare[i, 0]
        if key < other or (key == other and loser[j, 1] < spare[i, 1]):
            loser[to, 0], loser[to, 1] = loser[j, 0], loser[j, 1]
            j += 1
        else:
            loser[to, 0], loser[to, 1] = spare[i, 0], spare[i, 1]
            i += 1
        to += 1
    while i < k:
        loser[to, 0], loser[to, 1] = spare[i, 0], spare[i, 1]
        i += 1
        to += 1


def put_node(entries: Cells, tree: RowArrays) -> None:
    """A node of sorted entries goes into the tree: see `tournament`."""
    nodes, links, at = tree.nodes, tree.links, tree.at
    places, leaves = links[PLACE], links[LEAF]
    if at[SPARES]:
        at[SPARES] -= 1
        item = links[SPARE, at[SPARES]]
    else:
        item = at[MADE]
        at[MADE] += 1
    copy(entries, nodes[item])
    first = at[ITEMS]
    if first:  # the first leaf becomes the match between its item and the new one
        places[2 * first] = places[first]
        leaves[places[first]] = 2 * first
    leaf = 2 * first + 1
    places[leaf], leaves[item] = item, leaf
    at[ITEMS] += 1
    up = 0
    while leaf >> (up + 1):
        up += 1
    winner = -1
    while up > 0:  # from the root down; one may have won several matches
        if places[leaf >> up] != winner:
            winner = places[leaf >> up]
            play(nodes[winner], nodes[item], tree.spare)
        up -= 1


def take_node(tree: RowArrays, out: Cells) -> None:
    """The root's item leaves the tree, and its entries are written."""
    nodes, links, at = tree.nodes, tree.links, tree.at
    places, leaves, last = links[PLACE], links[LEAF], nodes.shape[1] - 1
    best = places[1]
    copy(nodes[best], out)
    links[SPARE, at[SPARES]] = best
    at[SPARES] += 1
    at[ITEMS] -= 1
    place = at[ITEMS]  # the match of the last two, which becomes a leaf again
    if not place:
        return
    left, right = places[2 * place], places[2 * place + 1]
    if best in (left, right):
        item = right if best == left else left
    else:
        winner = places[place]
        item = right if winner == left else left
        leaves[winner] = place
        place = leaves[best]
    places[place], leaves[item] = item, place
    while place > 1:
        rival = places[place ^ 1]
        key, other = nodes[item, last, 0], nodes[rival, last, 0]
        if other < key or (other == key and nodes[rival, last, 1] < nodes[item, last, 1]):
            item, rival = rival, item
        play(nodes[item], nodes[rival], tree.spare)
        place >>= 1
        places[place] = item


def insert_rows(batch: Cells, tree: RowArrays) -> None:
    """Take in sorted entries: they join those pending, of which the best go into the tree by the node."""
    at, front, pending = tree.at, tree.front, tree.pending
    size, begin, end = tree.nodes.shape[1], at[PENDING], at[PENDING_END]
    if end + batch.shape[0] > pending.shape[0]:
        copy(pending[begin:end], pending)
        begin, end = 0, end - begin
    i, j, to = end - 1, batch.shape[0] - 1, end + batch.shape[0] - 1
    at[PENDING_END] = to + 1
    while j >= 0:
        key, tail = batch[j, 0], batch[j, 1]
        if i >= begin and (key < pending[i, 0] or (key == pending[i, 0] and tail < pending[i, 1])):
            pending[to, 0], pending[to, 1] = pending[i, 0], pending[i, 1]
            i -= 1
        else:
            pending[to, 0], pending[to, 1] = key, tail
            j -= 1
        to -= 1
    while at[PENDING_END] - begin >= size:
        entries = pending[begin : begin + size]
        begin += size
        if at[FRONT] < at[FRONT_END]:
            play(front[at[FRONT] : at[FRONT_END]], entries, tree.spare)
        put_node(entries, tree)
    at[PENDING] = begin


def insert_pairs(keys: Keys, ids: Ids, tree: RowArrays) -> bool:
    """Take pairs in; False, and nothing has changed, if one of them has no order."""
    batch, other = np.empty((keys.shape[0], 2)), np.empty((keys.shape[0], 2))
    if not pack_rows(keys, ids, batch):
        return False
    for column in (0, 1, 0):  # by key; where keys are tied, by id and then again by key
        if not sort_by(batch, column, other) and not column:
            break
    insert_rows(batch, tree)
    return True


def tell_pairs(keys: Keys, ids: Ids, stays: bool, tree: RowArrays) -> None:
    """Write the best pairs, as many as there is room for and no more than there are; they go, unless all stays."""
    at, front, pending = tree.at, tree.front, tree.pending
    size, count = tree.nodes.shape[1], keys.shape[0]
    while at[FRONT_END] - at[FRONT] < count and at[ITEMS]:
        if at[FRONT_END] + size > front.shape[0]:
            copy(front[at[FRONT] : at[FRONT_END]], front)
            at[FRONT], at[FRONT_END] = 0, at[FRONT_END] - at[FRONT]
        take_node(tree, front[at[FRONT_END] : at[FRONT_END] + size])
        at[FRONT_END] += size
    first, second = front.view(np.uint64), pending.view(np.uint64)
    i, j = at[FRONT], at[PENDING]
    for to in range(count):
        if j == at[PENDING_END] or (
            i < at[FRONT_END]
            and (front[i, 0] < pending[j, 0] or (front[i, 0] == pending[j, 0] and front[i, 1] < pending[j, 1]))
        ):
            keys[to], ids[to] = 0.0 - front[i, 0], first[i, 1] - OFFSET
            i += 1
        else:
            keys[to], ids[to] = 0.0 - pending[j, 0], second[j, 1] - OFFSET
            j += 1
    if not stays:
        at[FRONT], at[PENDING] = i, j
