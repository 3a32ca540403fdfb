"""What gatherers tell one another in a crawl in exchange mode that fetches the whole graph.

Every page is fetched once and its links are known to its owner, so the figures do not depend on the order: a link into
another's pages is told (Cho's immediate transfer), or each URL once by each gatherer that finds it (a c-hit table, as
the live crawl has), and URLs that everybody knows are not told at all.

Invariant: told once ≤ told, for every page.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gcs.sim.graph import Ids, WebGraph
from gcs.sim.owners import Owners


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
