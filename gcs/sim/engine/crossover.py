"""Gatherers that never talk, and fetch abroad when there is nothing left at home: cross-over and independent mode.

Since nobody tells anybody anything, each gatherer is crawled alone, and a team is the sum of its members. In cross-over
mode a gatherer fetches its own pages first; when it has run dry it fetches a block of those that it has found abroad,
and looks for pages of its own again. In independent mode everything is its own.

The speeds of the gatherers are up to the clock: as fast as their parts are large, so that all run dry at once, or
equal, so that the owner of a small part goes abroad early.

Invariant: a gatherer fetches a page at most once; overlap is between gatherers only.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gcs.core.plan.metrics import coverage, overlap
from gcs.sim.engine.reach import FirstOf
from gcs.sim.graph.web_graph import Pages, WebGraph


@dataclass(frozen=True, slots=True)
class Alone:
    """What one gatherer fetches, in its order, and how many pages of it before it goes abroad for the first time."""

    pages: NDArray[np.int32] = field(repr=False)
    at_home: int


@dataclass(frozen=True, slots=True)
class Moment:
    """How a team stands at some time."""

    time: float
    downloads: int
    unique: int

    @property
    def overlap(self) -> float:
        """(N - I) / I."""
        return overlap(self.downloads, self.unique)

    def coverage(self, reachable: int) -> float:
        """I / U."""
        return coverage(self.unique, reachable)


def alone(
    graph: WebGraph, mine: NDArray[np.bool_], seeds: Pages, block: int = 1, first: FirstOf | None = None
) -> Alone:
    """Crawl by one gatherer from its seeds: `mine` are the pages that it prefers."""
    first = first or FirstOf(graph.pages)
    known = np.zeros(graph.pages, np.bool_)
    order: list[NDArray[np.int32]] = []
    abroad: deque[NDArray[np.int32]] = deque()
    home: NDArray[np.int32] = seeds.astype(np.int32)
    known[home] = True
    at_home = -1
    while True:
        while len(home):
            order.append(home)
            home = _follow(graph, home, known, mine, abroad, first)
        if at_home < 0:
            at_home = sum(map(len, order))
        if not abroad:
            break
        trip = _take(abroad, block)
        order.append(trip)
        home = _follow(graph, trip, known, mine, abroad, first)
    return Alone(np.concatenate(order), at_home)


def _follow(
    graph: WebGraph,
    pages: NDArray[np.int32],
    known: NDArray[np.bool_],
    mine: NDArray[np.bool_],
    abroad: deque[NDArray[np.int32]],
    first: FirstOf,
) -> NDArray[np.int32]:
    """The links of the pages: new ones at home are returned, those abroad are queued, in the order of discovery."""
    home = []
    for batch in graph.batches(pages):
        _, targets = graph.links_of(batch)
        found = first.of(targets[~known[targets]])
        known[found] = True
        near = mine[found]
        home.append(found[near])
        if len(home[-1]) < len(found):
            abroad.append(found[~near])
    return home[0] if len(home) == 1 else np.concatenate(home)


def _take(queue: deque[NDArray[np.int32]], count: int) -> NDArray[np.int32]:
    """The first so many pages of the queue; fewer where there are fewer."""
    parts = []
    while queue and count:
        part = queue.popleft()
        if len(part) > count:
            queue.appendleft(part[count:])
            part = part[:count]
        parts.append(part)
        count -= len(part)
    return np.concatenate(parts)


class SimClock:
    """Adds up gatherers into a team, and tells how it stands at some moments that are fixed before."""

    def __init__(self, pages: int, times: Sequence[float]) -> None:
        self._times = times
        self._downloads = np.zeros(len(times), np.int64)
        #: the moment by which each page was fetched by anybody; the one after the last for those that never were
        self._fetched_by = np.full(pages, len(times), np.int16)

    def add(self, one: Alone, speed: float) -> None:
        """A gatherer that fetches `speed` pages per unit of time."""
        total = len(one.pages)
        upto = np.array([min(int(time * speed), total) for time in self._times])
        self._downloads += upto
        moment = np.repeat(np.arange(len(upto), dtype=np.int16), np.diff(upto, prepend=0))
        pages = one.pages[: len(moment)]
        self._fetched_by[pages] = np.minimum(self._fetched_by[pages], moment)

    def moments(self) -> list[Moment]:
        """The team at each moment, as long as anything happens."""
        unique = np.cumsum(np.bincount(self._fetched_by, minlength=len(self._times))[: len(self._times)])
        stands = zip(self._times, self._downloads.tolist(), unique.tolist())
        found = [Moment(time, downloads, pages) for time, downloads, pages in stands if pages]
        return [now for before, now in zip([None, *found], found) if not before or before.downloads < now.downloads]
