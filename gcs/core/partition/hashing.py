"""Owners by a hash of the name: no statistics, no message, no state, and no regard for size or links.

URL-hash and site-hash are Cho's (§3.2); the consistent hash is UbiCrawler's: each gatherer has many places on a ring, a
host belongs to the next place after its own, so that when a gatherer joins or leaves, only its share changes owners.

Invariant: the owner of a superpage depends on its key, on the gatherers and on the seed, never on other superpages.
A superpage above a host (a whole domain) is hashed by its own key, and so are the hosts below it that stand alone.
"""

from collections.abc import Callable, Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from gcs.core.partition.problem import Owners, PartitionProblem
from gcs.errors import UsageError

#: places on the ring of a gatherer of mean rate: the spread of the shares is about 1 / √200 = 7 %
PLACES = 200


def url_hash(problem: PartitionProblem) -> Owners:
    """Each superpage by its whole key."""
    return (_hashes(problem, lambda key: key) % np.uint64(problem.k)).astype(np.int64)


def site_hash(problem: PartitionProblem) -> Owners:
    """Each superpage by its host, so that a host has one owner."""
    return (_hashes(problem, host) % np.uint64(problem.k)).astype(np.int64)


def consistent_hash(problem: PartitionProblem) -> Owners:
    """Each superpage by its host on a ring, where a gatherer has places in proportion to its rate."""
    names = problem.names or [str(number) for number in range(problem.k)]
    counts = np.maximum(np.rint(problem.shares() * problem.k * PLACES).astype(int), 1)
    places = [f"{name}#{place}".encode() for name, count in zip(names, counts) for place in range(count)]
    points = _digests(places, problem.seed)
    order = np.argsort(points, kind="stable")
    next_place = np.searchsorted(points[order], _hashes(problem, host)) % len(points)
    return np.repeat(np.arange(problem.k), counts)[order][next_place]


def host(key: bytes) -> bytes:
    """The part of a sort key that names the host; the whole key where it ends above the path."""
    return key.partition(b"\x00/")[0]


def _hashes(problem: PartitionProblem, part: Callable[[bytes], bytes]) -> NDArray[np.uint64]:
    if not problem.keys and problem.m:
        raise UsageError("owners by hash need the sort keys of the superpages")
    return _digests([part(key) for key in problem.keys], problem.seed)


def _digests(names: Sequence[bytes], seed: int) -> NDArray[np.uint64]:
    digest = xxhash.xxh3_64_intdigest
    return np.fromiter((digest(name, seed) for name in names), np.uint64, len(names))
