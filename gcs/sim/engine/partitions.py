"""A graph as a session that is over, and what Partition II saves against Partition I on Teng's superpages of it.

Invariant: the partitions are those of `core.partition`, the figures those of `plan.metrics`; nothing is decided here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.partition import PartitionProblem, partition
from gcs.core.partition.partition_graph import LinkArrays
from gcs.core.plan.metrics import imbalance, loads
from gcs.core.plan.session_graph import SessionGraph, Visits, superpages
from gcs.core.plan.session_graph import crawled as in_key_order
from gcs.sim.graph.owners import page_keys
from gcs.sim.graph.web_graph import WebGraph

#: length of a URL where there are none (Cho's estimate)
URL_BYTES = 40
#: imbalance that a partition may have
TOLERANCE = 0.05


def crawled(graph: WebGraph) -> SessionGraph:
    """Put the pages of a graph in key order. A page of unknown size counts one byte, so that both weights agree."""
    keys = page_keys(graph)
    lengths = [len(url) for url in graph.urls] if graph.urls else [URL_BYTES] * graph.pages
    url_bytes = np.array(lengths, np.int64)
    page_bytes = np.ones(len(keys), np.int64) if graph.sizes_bytes is None else np.asarray(graph.sizes_bytes)
    return in_key_order(Visits(keys, page_bytes, url_bytes), graph.sources(), graph.targets)


@dataclass(frozen=True, slots=True)
class CrossingRow:
    """One partitioner on the superpages of one K."""

    k: int
    partitioner: str
    superpages: int
    #: links between superpages of different owners, and their part of all links
    crossing_links: int
    crossing_share: float
    #: max / mean - 1 of the pages
    imbalance: float


def crossing(
    data: SessionGraph, k: int, partitioners: Sequence[str] = ("partition-i", "partition-ii", "metis", "site-hash")
) -> Iterator[CrossingRow]:
    """Teng's superpages (δ = 20), partitioned within one tolerance with and without regard for links."""
    units = superpages(data.keys, k)
    session, count = data.session, int(units.max(initial=-1)) + 1
    work = np.bincount(units, minlength=count)
    links = LinkArrays.between(count, units[session.sources], units[session.targets])
    first = np.flatnonzero(np.diff(units, prepend=-1)).tolist()
    problem = PartitionProblem(work, k, links=links, keys=[data.keys[page] for page in first], tolerance=TOLERANCE)
    for name in partitioners:
        owners = partition(name, problem)
        cut = links.crossing(owners)
        share = cut / max(len(session.sources), 1)
        yield CrossingRow(k, name, count, cut, share, imbalance(loads(work, owners, k)))
