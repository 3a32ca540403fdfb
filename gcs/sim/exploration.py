"""A crawl replayed over a graph, asked on the way how far it is: the test of `core.estimate` (papers.md T20)."""

from collections.abc import Iterator, Sequence

import numpy as np

from gcs.core.estimate import Estimate, Explored
from gcs.sim.graph import WebGraph


def explore(graph: WebGraph, seeds: Sequence[int], ask_at: Sequence[float]) -> Iterator[tuple[float, Estimate]]:
    """Crawl breadth-first; at each of the shares (ascending) of what can be reached, the share and the estimate."""
    order = list(graph.breadth_first(seeds))
    known = np.zeros(graph.pages, np.bool_)
    known[list(seeds)] = True
    explored = Explored()
    explored.known(int(known.sum()))
    names = [str(page) for page in range(graph.pages)]
    asked = iter(ask_at)
    share = next(asked, None)
    for fetched, page in enumerate(order):
        while share is not None and fetched >= share * len(order):
            yield fetched / len(order), explored.estimate()
            share = next(asked, None)
        if share is None:
            return
        links = graph.outlinks(page)
        links = links[links != page]
        fresh = links[~known[links]]
        known[fresh] = True
        explored.known(len(fresh))
        explored.page([names[link] for link in links.tolist()])
