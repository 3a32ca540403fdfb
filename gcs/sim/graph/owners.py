"""The owner of each page of a web graph, under any partitioner of `core.partition`, and the seeds of its crawl.

A page is hashed by itself (url-hash); every other partitioner is given the sites of the graph.

Invariant: owners are 0 … k - 1, one for each page, the same for the same seed.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gcs.core.partition import LOOK_AT_LINKS, PartitionProblem, partition
from gcs.core.partition.hashing import host
from gcs.core.partition.partition_graph import LinkArrays
from gcs.core.url.canonical import canonical
from gcs.core.url.sortkey import sort_key
from gcs.errors import UsageError
from gcs.sim.graph.web_graph import Ids, WebGraph

#: owner of each page
Owners = NDArray[np.int16]
#: gatherers that an int16 has room for
MOST = 32_767


def page_owners(graph: WebGraph, partitioner: str, k: int, seed: int = 0) -> Owners:
    if k > MOST:
        raise UsageError(f"{k:,} gatherers: a study has room for {MOST:,}")
    if k == 1:
        return np.zeros(graph.pages, np.int16)
    if partitioner == "url-hash":
        keys = [url.encode() for url in graph.urls] if graph.urls else _numbered(graph.pages)
        problem = PartitionProblem(np.ones(graph.pages, np.int64), k, keys=keys, seed=seed)
        return partition(partitioner, problem).astype(np.int16)
    sites = sites_of(graph)
    names = site_keys(graph)
    links = None
    if partitioner in LOOK_AT_LINKS:
        links = LinkArrays.between(len(names), sites[graph.sources()], sites[graph.targets])
    weights = np.bincount(sites, minlength=len(names))
    owners = partition(partitioner, PartitionProblem(weights, k, links=links, keys=names, seed=seed))
    return owners.astype(np.int16)[sites]


def sites_of(graph: WebGraph) -> NDArray[np.int32]:
    """The site of each page; each page is its own site where the graph has no sites."""
    return np.arange(graph.pages, dtype=np.int32) if graph.sites is None else graph.sites


def leaving_share(graph: WebGraph) -> float:
    """The part of the links that lead to another site."""
    sites, leaving = sites_of(graph), 0
    for pages in graph.batches(np.arange(graph.pages)):
        counts, targets = graph.links_of(pages)
        leaving += int((sites[targets] != np.repeat(sites[pages], counts)).sum())
    return leaving / max(graph.links, 1)


def site_keys(graph: WebGraph) -> Sequence[bytes]:
    """A key for each site: that of its host, or its number where there are no URLs."""
    sites = sites_of(graph)
    if not graph.urls:
        return _numbered(int(sites.max(initial=-1)) + 1)
    first = np.full(int(sites.max(initial=-1)) + 1, -1)
    first[sites[::-1]] = np.arange(len(sites))[::-1]
    return [host(page_key(graph.urls[page])) if page >= 0 else b"" for page in first.tolist()]


def page_key(url: str) -> bytes:
    """The sort key of a URL as a data set spells it; a text that is no URL counts as a host of its own."""
    known = canonical(url)
    return sort_key(known) if known else b"?%s\x00/" % url.encode()


def page_keys(graph: WebGraph) -> list[bytes]:
    """The sort key of each page; where there are no URLs, a page is named by the numbers of its site and its own."""
    if graph.urls:
        return [page_key(url) for url in graph.urls]
    return [b"%010d\x00/\x00%010d" % pair for pair in zip(sites_of(graph).tolist(), range(graph.pages))]


def random_seeds(owners: Owners, counts: Sequence[int], chance: np.random.Generator) -> Ids:
    """The seeds: so many random pages of each owner, or all of them where it has fewer."""
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(counts))).tolist()
    chosen = [
        order[start + chance.choice(end - start, min(count, end - start), replace=False)]
        for start, end, count in zip([0, *ends], ends, counts)
        if end > start
    ]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)


def _numbered(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]
