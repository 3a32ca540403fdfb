"""Sets of key ranges: who has what of the key space, as sorted, disjoint [low, high) pairs.

Invariant: every function takes and returns ranges that ascend, do not overlap and are not empty.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

Range = tuple[bytes, bytes]
Ranges = tuple[Range, ...]


def subtract(ranges: Sequence[Range], taken: Sequence[Range]) -> Ranges:
    """What is left of the ranges without the taken ones."""
    left: list[Range] = []
    for low, high in ranges:
        for cut_low, cut_high in taken:
            if cut_high <= low or cut_low >= high:
                continue
            if low < cut_low:
                left.append((low, cut_low))
            low = max(low, cut_high)
            if low >= high:
                break
        if low < high:
            left.append((low, high))
    return tuple(left)


def intersect(ranges: Sequence[Range], others: Sequence[Range]) -> Ranges:
    """What both have."""
    return subtract(ranges, subtract(ranges, others))


def unite(ranges: Iterable[Range]) -> Ranges:
    """Any ranges, in any order, as a set of ranges."""
    joined: list[Range] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        elif low < high:
            joined.append((low, high))
    return tuple(joined)


def contains(ranges: Sequence[Range], key: bytes) -> bool:
    """Whether a key lies in one of the ranges."""
    at = bisect_right(ranges, (key, b"\xff\xff")) - 1
    return at >= 0 and ranges[at][0] <= key < ranges[at][1]
