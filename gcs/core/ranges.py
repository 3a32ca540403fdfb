"""Sets of key ranges: who has what of the key space, as sorted, disjoint [low, high) pairs.

Invariant: every function takes and returns ranges that ascend, do not overlap and are not empty.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from gcs.core.sortkey import FIRST_KEY, LAST_KEY

Range = tuple[bytes, bytes]
Ranges = tuple[Range, ...]
#: the whole key space
EVERYTHING: Ranges = ((FIRST_KEY, LAST_KEY),)


def subtract(ranges: Sequence[Range], taken: Sequence[Range]) -> Ranges:
    """What is left of the ranges without the taken ones."""
    left: list[Range] = []
    for low, high in ranges:
        for cut_low, cut_high in _meeting(taken, low, high):
            if low < cut_low:
                left.append((low, cut_low))
            low = max(low, cut_high)
        if low < high:
            left.append((low, high))
    return tuple(left)


def intersect(ranges: Sequence[Range], others: Sequence[Range]) -> Ranges:
    """What both have."""
    return tuple(
        (max(low, other_low), min(high, other_high))
        for low, high in ranges
        for other_low, other_high in _meeting(others, low, high)
    )


def _meeting(ranges: Sequence[Range], low: bytes, high: bytes) -> Iterator[Range]:
    """Those of the ranges that have something in common with [low, high); there may be tens of thousands."""
    for at in range(max(bisect_right(ranges, (low, high)) - 1, 0), len(ranges)):
        if ranges[at][0] >= high:
            return
        if ranges[at][1] > low:
            yield ranges[at]


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
