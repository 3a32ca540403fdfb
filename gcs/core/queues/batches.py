"""The loops of trees that work at once on several threads: each does all of a step, and so the GIL is seldom needed.

Numpy does a step in several calls of some 20 µs, and threads that come back from them meet at the GIL: to wait there
costs more than the call. Cells and their order are those of `kernels`; so is the way they are compiled.
"""

import numpy as np
from numpy.typing import NDArray

from gcs.core.queues.contract import Ids, Keys
from gcs.core.queues.kernels import Cells

Bits = NDArray[np.uint64]


def pack_rows(keys: Keys, ids: Ids, offset: int, most: int, cells: Cells, bits: Bits) -> bool:
    """Write pairs as entries, `bits` being the same memory as `cells`; whether all of them have an order."""
    fine = True
    for i in range(keys.shape[0]):
        cells[i, 0] = 0.0 - keys[i]
        bits[i, 1] = ids[i] + offset
        fine &= (keys[i] == keys[i]) & (ids[i] < most)
    return fine


def unpack_rows(cells: Cells, bits: Bits, offset: int, keys: Keys, ids: Ids) -> None:
    """Write entries as pairs."""
    for i in range(keys.shape[0]):
        keys[i] = 0.0 - cells[i, 0]
        ids[i] = bits[i, 1] - offset


def gather_rows(rows: Cells, order: NDArray[np.int64], out: Cells) -> bool:
    """Write the rows in that order; whether two that follow each other have the same key."""
    tied = False
    for i in range(order.shape[0]):
        at = order[i]
        out[i, 0], out[i, 1] = rows[at, 0], rows[at, 1]
        tied |= (i > 0) & (out[i, 0] == out[i - 1, 0])
    return tied


def play_rows(nodes: NDArray[np.float64], item: int, way: NDArray[np.int64], climbs: bool, spare: Cells) -> int:
    """Matches of an item against those on its way, in place: see `matches`. If it climbs, the better one wins, is
    written into the way and plays on; else those on the way win.

    The winner's last k leave and the loser's first k come; k is found by bisection. Then the winner's are merged from
    behind and the loser's from the front, so that nothing is written over before it was read.
    """
    comparisons = 0
    size = nodes.shape[1]
    last = size - 1
    for n in range(way.shape[0]):
        winner, loser = way[n], item
        if climbs:
            comparisons += 1
            key, other = nodes[item, last, 0], nodes[winner, last, 0]
            if key < other or (key == other and nodes[item, last, 1] < nodes[winner, last, 1]):
                winner, loser = item, winner
            way[n] = item = winner
        a, b = nodes[winner], nodes[loser]
        low, high = 0, size
        while low < high:
            mid = (low + high) >> 1
            comparisons += 1
            if b[mid, 0] < a[last - mid, 0] or (b[mid, 0] == a[last - mid, 0] and b[mid, 1] < a[last - mid, 1]):
                low = mid + 1
            else:
                high = mid
        k = low
        for i in range(k):
            spare[i, 0], spare[i, 1] = a[size - k + i, 0], a[size - k + i, 1]
        i, j, to = size - k - 1, k - 1, last
        while i >= 0 and j >= 0:
            comparisons += 1
            if b[j, 0] < a[i, 0] or (b[j, 0] == a[i, 0] and b[j, 1] < a[i, 1]):
                a[to, 0], a[to, 1] = a[i, 0], a[i, 1]
                i -= 1
            else:
                a[to, 0], a[to, 1] = b[j, 0], b[j, 1]
                j -= 1
            to -= 1
        while j >= 0:
            a[j, 0], a[j, 1] = b[j, 0], b[j, 1]
            j -= 1
        i, j, to = 0, k, 0
        while i < k and j < size:
            comparisons += 1
            if b[j, 0] < spare[i, 0] or (b[j, 0] == spare[i, 0] and b[j, 1] < spare[i, 1]):
                b[to, 0], b[to, 1] = b[j, 0], b[j, 1]
                j += 1
            else:
                b[to, 0], b[to, 1] = spare[i, 0], spare[i, 1]
                i += 1
            to += 1
        while i < k:
            b[to, 0], b[to, 1] = spare[i, 0], spare[i, 1]
            i += 1
            to += 1
    return comparisons
