"""The key space of a plan: how keys are laid out before they are cut into superpages; and sets of key ranges.

    tree        as it is: the URL tree. A superpage is a subtree or an interval; neighbours share hosts and links
    site-hash   by a hash of the host: a host is one point, and hosts lie evenly spread (Cho's site-hash)
    domain-hash by a hash of the top-level domain: all of a domain lies together (Cho's hierarchical partition, DSets)
    url-hash    by a hash of the URL: pages lie evenly spread, and every host is everybody's (Cho's URL-hash)

A plan cuts whatever key space it has into ranges, so that owners, hand-over, lost ranges and recovery are the same
for all of them. The frontier is always in key order: of a hashed key space, a range is a scattered part of it.

A set of ranges is a sorted tuple of disjoint [low, high) pairs.

Invariant: the place of a key depends on the key alone; in a hashed key space, on as much of it as the frontier keeps.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import xxhash

from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, SEPARATOR, host_of_key

Range = tuple[bytes, bytes]
Ranges = tuple[Range, ...]
#: the whole key space
EVERYTHING: Ranges = ((FIRST_KEY, LAST_KEY),)
#: bytes of a key that are hashed: the frontier keeps longer ones cut, but no shorter than this
HASHED_BYTES = 400
_SPACE = 1 << 32


class Keyspace(StrEnum):
    """How keys are laid out."""

    TREE = "tree"
    SITE_HASH = "site-hash"
    DOMAIN_HASH = "domain-hash"
    URL_HASH = "url-hash"

    def place(self, key: bytes) -> bytes:
        """Where a key lies: what the cuts of a plan are compared with."""
        if self is Keyspace.TREE:
            return key
        match self:
            case Keyspace.SITE_HASH:
                name = host_of_key(key)
            case Keyspace.DOMAIN_HASH:
                name = key.partition(SEPARATOR)[0]
            case _:
                name = key[:HASHED_BYTES]
        return b"%08x" % xxhash.xxh32_intdigest(name)


def even_cuts(pieces: int) -> tuple[bytes, ...]:
    """Cuts that divide a hashed key space into pieces of equal size."""
    return (FIRST_KEY, *(b"%08x" % (at * _SPACE // pieces) for at in range(1, pieces)))


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
