"""How good a crawl or a partition is: the measures of Cho (G5) and Cambazoglu (C6), and what a rebalance costs.

All take plain counts or numpy arrays and return numbers; 20 million links take a second. The live report, the dashboard
and the studies use these and no others, so that their figures mean the same.

Invariant: where a measure has nothing to measure (no pages, no work) it is its best value, never an error or a NaN.
"""

from dataclasses import dataclass

import numpy as np

from gcs.core.partition.partition_graph import Floats, Ids, Ints, Numbers, SessionLinks

#: pairs of a sender and a page that are noted in one go
_PAIRS = 1 << 28


def overlap(downloads: int, unique: int) -> float:
    """(N - I) / I: pages fetched more than once, per unique page. 0 is best."""
    return (downloads - unique) / unique if unique else 0.0


def coverage(unique: int, reachable: int) -> float:
    """I / U: the part of the pages that should have been fetched. 1 is best."""
    return unique / reachable if reachable else 1.0


def quality(importance: Numbers, fetched: Ids, wanted: int = 0) -> float:
    """|A_N ∩ P_N| / |P_N|: the part of the N most important pages that is among the pages fetched.

    N is how many were wanted, or else how many were fetched. Among equally important pages at the border of the top N,
    the oracle prefers those that were fetched: a crawl loses nothing by a tie.
    """
    unique = np.unique(fetched)
    n = min(wanted or len(unique), len(importance))
    if not n:
        return 1.0
    border = np.partition(importance, len(importance) - n)[len(importance) - n]
    above = int((importance > border).sum())
    got = importance[unique]
    return (int((got > border).sum()) + min(int((got == border).sum()), n - above)) / n


def communication(exchanged_urls: int, pages: int) -> float:
    """URLs named to another gatherer per page fetched."""
    return exchanged_urls / pages if pages else 0.0


def loads(weights: Numbers, owners: Ints, k: int) -> Floats:
    """(k,) the weight of each part."""
    return np.bincount(owners, weights, k).astype(np.float64)


def imbalance(loads: Numbers) -> float:
    """The largest over the mean, minus 1. 0 is best, k - 1 is one gatherer with everything."""
    mean = float(loads.mean()) if len(loads) else 0.0
    return float(loads.max()) / mean - 1 if mean else 0.0


@dataclass(frozen=True, slots=True)
class ExchangeVolume:
    """What the gatherers would tell one another in a session, by sender and receiver (k × k)."""

    urls: Ints
    url_bytes: Ints

    @property
    def total_urls(self) -> int:
        return int(self.urls.sum())

    @property
    def total_bytes(self) -> int:
        """The volume of communication of Cambazoglu's Table 3."""
        return int(self.url_bytes.sum())


def exchange(session: SessionLinks, owner_of_page: Ints, k: int) -> ExchangeVolume:
    """Count the links of a session that cross between owners."""
    owners = owner_of_page.astype(np.int32)
    urls, volume = np.zeros(k * k, np.int64), np.zeros(k * k, np.int64)
    for sources, targets in session.chunks():
        here, there = owners[sources], owners[targets]
        crossing = np.flatnonzero(here != there)
        pairs = here[crossing] * k + there[crossing]
        urls += np.bincount(pairs, minlength=k * k)
        volume += np.bincount(pairs, session.url_bytes[targets[crossing]], k * k).astype(np.int64)
    return ExchangeVolume(urls.reshape(k, k), volume.reshape(k, k))


def posted(session: SessionLinks, owner_of_page: Ints, k: int) -> ExchangeVolume:
    """What the gatherers post when each names a page to its owner once, however many links lead there (T15)."""
    owners, pages = owner_of_page.astype(np.int32), session.pages
    urls, volume = np.zeros((k, k), np.int64), np.zeros((k, k), np.int64)
    senders = max(_PAIRS // max(pages, 1), 1)
    for first in range(0, k, senders):
        named = np.zeros((min(senders, k - first), pages), np.bool_)
        for sources, targets in session.chunks():
            here = owners[sources]
            crossing = (here != owners[targets]) & (here >= first) & (here < first + senders)
            named[here[crossing] - first, targets[crossing]] = True
        for sender, row in enumerate(named, first):
            told = np.flatnonzero(row)
            urls[sender] = np.bincount(owners[told], minlength=k)
            volume[sender] = np.bincount(owners[told], session.url_bytes[told], k).astype(np.int64)
    return ExchangeVolume(urls, volume)
