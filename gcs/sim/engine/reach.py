"""The pages that a team reaches, and the URLs that its gatherers tell one another, when it follows every link it may.

`reach` goes breadth first, round by round, all gatherers at once. With `owners` there is a wall between them (firewall
mode: a link into another's pages is thrown away); without, every link is followed by somebody (exchange mode, or a
crawl by one). `told` counts the links that cross in exchange mode.

Invariant: a page is fetched in the round after the first one in which a page of the last round links to it.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gcs.sim.graph.owners import Owners
from gcs.sim.graph.web_graph import Ids, Pages, WebGraph

#: the round of a page that is never fetched
NEVER = -1


@dataclass(frozen=True, slots=True)
class Told:
    """By page: how often its URL is told to its owner, over all links, and counting each teller once."""

    links: Ids = field(repr=False)
    tellers: Ids = field(repr=False)


def told(graph: WebGraph, owners: Owners, k: int) -> Told:
    """Count the links that cross between the k owners."""
    links, tellers = np.zeros(graph.pages, np.int64), np.zeros(graph.pages, np.int64)
    by_owner = np.argsort(owners, kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(owners, minlength=k)).tolist()
    for me, (start, end) in enumerate(zip([0, *ends], ends)):
        seen = np.zeros(graph.pages, np.bool_)
        for pages in graph.batches(by_owner[start:end]):
            _, targets = graph.links_of(pages)
            foreign = targets[owners[targets] != me]
            links += np.bincount(foreign, minlength=graph.pages)
            seen[foreign] = True
        tellers += seen
    return Told(links, tellers)


def most_linked(graph: WebGraph) -> NDArray[np.int64]:
    """The pages by their number of in-links, the most linked first."""
    return np.argsort(-graph.in_degrees(), kind="stable")


def reach(graph: WebGraph, seeds: Pages, owners: Owners | None = None) -> NDArray[np.int32]:
    """The round in which each page is fetched, the seeds in round 0; NEVER where no way leads."""
    rounds = np.full(graph.pages, NEVER, np.int32)
    frontier = np.unique(seeds).astype(np.int32)
    rounds[frontier] = 0
    first = FirstOf(graph.pages)
    number = 0
    while len(frontier):
        number += 1
        found = []
        for pages in graph.batches(frontier):
            counts, targets = graph.links_of(pages)
            new = rounds[targets] == NEVER
            if owners is not None:
                new &= owners[targets] == np.repeat(owners[pages], counts)
            fresh = first.of(targets[new])
            rounds[fresh] = number
            found.append(fresh)
        frontier = np.concatenate(found) if len(found) > 1 else found[0]
    return rounds


class FirstOf:
    """Takes repetitions out of arrays of page numbers, in the time of a look at each, and keeps their order."""

    def __init__(self, pages: int) -> None:
        self._place = np.empty(pages, np.int32)

    def of(self, pages: NDArray[np.int32]) -> NDArray[np.int32]:
        """Each page once, where it comes first."""
        return pages[self.where(pages)] if len(pages) > 1 else pages

    def where(self, pages: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of them come for the first time."""
        places = np.arange(len(pages), dtype=np.int32)
        self._place[pages[::-1]] = places[::-1]  # the last write stands: that of the first place
        first: NDArray[np.bool_] = self._place[pages] == places
        return first


def fetched(rounds: NDArray[np.int32]) -> int:
    """How many pages are fetched at all."""
    return int((rounds != NEVER).sum())
