"""Quality of a crawl by its order: how much of the truly best a crawl has fetched when it has fetched a part (G5, M6).

The web is what can be reached from the seeds. N pages are fetched in some order; P_N are the N best of the web by
PageRank or by back-links; quality is |A_N ∩ P_N| / N (Cho & Garcia-Molina, section 4). A crawl that draws at random has
quality N / pages.

The crawl runs in supersteps, as a gatherer does (M1): extract_top(R), fetch, insert_many. A URL whose rank has changed
is inserted again, and what comes out under an old rank is dropped. Orders and queues are those of the live crawl.

Invariant: every page is fetched at most once, and only after a page that links to it (or as a seed).
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gcs.core.ordering import ORDERS, Found, Ordering
from gcs.core.ordering.pagerank import pagerank
from gcs.core.queues.contract import Ids, Keys
from gcs.core.queues.queue_maker import make_queue
from gcs.sim.engine.reach import NEVER, reach
from gcs.sim.engine.supersteps import ranks
from gcs.sim.graph.owners import sites_of
from gcs.sim.graph.web_graph import WebGraph

Ints = NDArray[np.int64]

#: pages fetched at once: the connections of a gatherer
SUPERSTEP_PAGES = 64
SHARES = (0.05, 0.1, 0.2)
SEEDS = 50


@dataclass(frozen=True, slots=True)
class OrderQualityRow:
    """One order after one share of the pages."""

    order: str
    #: part of the web that was fetched
    share: float
    pages: int
    #: part of the truly best so many pages among them, by each measure
    by_pagerank: float
    by_backlinks: float
    #: part of all PageRank that the fetched pages hold
    pagerank_mass: float


class TurnsWaiting:
    """A queue in which sites take turns, each in its own order, as in the live crawl with `frontier.queue = hosts`."""

    def __init__(self, site_of: Callable[[int], int]) -> None:
        self._site_of = site_of
        self._heaps: dict[int, list[tuple[float, int]]] = {}
        self._next = deque[int]()  # sites with something waiting, whose turn it is in front
        self._key: dict[int, float] = {}  # of each id that waits

    def __len__(self) -> int:
        return len(self._key)

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        for key, each in zip(keys.tolist(), ids.tolist()):
            self._key[each] = key
            site = self._site_of(each)
            if site not in self._heaps:
                self._heaps[site] = []
                self._next.append(site)
            heapq.heappush(self._heaps[site], (-key, each))

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        top = list[tuple[float, int]]()
        while len(top) < count and self._next:
            site = self._next.popleft()
            heap = self._heaps[site]
            while heap and self._key.get(heap[0][1]) != -heap[0][0]:
                heapq.heappop(heap)  # stale
            if not heap:
                del self._heaps[site]
                continue
            key, each = heapq.heappop(heap)
            del self._key[each]
            top.append((-key, each))
            self._next.append(site)
        return np.array([key for key, _ in top], np.float64), np.array([each for _, each in top], np.uint64)


def crawl(
    graph: WebGraph,
    order: Ordering,
    seeds: Sequence[int],
    most: int,
    superstep: int = SUPERSTEP_PAGES,
    in_turns: bool = False,
) -> Ints:
    """The first `most` pages in the order in which they are fetched; with sites that take turns, or in one order."""
    known, queued = np.zeros(graph.pages, np.bool_), np.zeros(graph.pages, np.bool_)
    worth, depth = np.zeros(graph.pages), np.zeros(graph.pages, np.int64)
    number, page_of = np.zeros(graph.pages, np.int64), np.zeros(graph.pages, np.int64)  # in order of discovery
    rank = np.full(graph.pages, -1, np.int64)
    found = 0
    sites = sites_of(graph)
    waiting = TurnsWaiting(lambda each: int(sites[page_of[each]])) if in_turns else make_queue("heap")

    def insert(pages: Ints) -> None:
        """Pages that wait, and whose rank may have changed."""
        now = _ranks(graph, order, pages, depth, worth)
        moved = now != rank[pages]
        pages, now = pages[moved], now[moved]
        rank[pages] = now
        waiting.insert_many(-now.astype(np.float64), number[pages].astype(np.uint64))

    def meet(pages: Ints, at_depth: Ints) -> None:
        """Pages seen for the first time."""
        nonlocal found
        known[pages] = queued[pages] = True
        depth[pages] = at_depth
        number[pages] = np.arange(found, found + len(pages))
        page_of[number[pages]] = pages
        found += len(pages)

    start = np.unique(np.asarray(seeds, np.int64))
    meet(start, np.zeros(len(start), np.int64))
    worth[start] = order.seed
    insert(start)
    fetched: list[Ints] = []
    count = 0
    while count < most and len(waiting):
        keys, ids = waiting.extract_top(min(superstep, most - count))
        pages = page_of[ids.astype(np.int64)]
        pages = pages[queued[pages] & (rank[pages] == -keys.astype(np.int64))]  # the others are stale
        queued[pages] = False
        fetched.append(pages)
        count += len(pages)
        rows = [graph.outlinks(page) for page in pages.tolist()]
        sizes = np.array([len(row) for row in rows], np.int64)
        links = np.concatenate(rows).astype(np.int64) if rows else np.empty(0, np.int64)
        _, first = np.unique(links, return_index=True)
        first.sort()  # the first link to each page, in the order in which they were met
        fresh = first[~known[links[first]]]
        meet(links[fresh], np.repeat(depth[pages] + 1, sizes)[fresh])
        if order.weighs:
            gifts = [order.gift(has, size) if size else 0.0 for has, size in zip(worth[pages].tolist(), sizes.tolist())]
            np.add.at(worth, links, np.repeat(gifts, sizes))
            insert(links[first][queued[links[first]]])
        else:
            insert(links[fresh])
    return np.concatenate(fetched) if fetched else np.empty(0, np.int64)


def quality(
    graph: WebGraph,
    seeds: Sequence[int],
    orders: Sequence[Ordering] = tuple(ORDERS.values()),
    shares: Sequence[float] = SHARES,
    in_turns: bool = False,
) -> Iterator[OrderQualityRow]:
    """Every order at every share of what can be reached from the seeds."""
    reached = reach(graph, np.asarray(seeds, np.int64)) != NEVER
    web = graph.induced(reached)
    begin = (np.cumsum(reached) - 1)[np.asarray(seeds, np.int64)].tolist()
    importance = pagerank(web.offsets, web.targets)
    best = [np.argsort(-figures, kind="stable") for figures in (importance, web.in_degrees())]
    for order in orders:
        fetched = crawl(web, order, begin, int(max(shares) * web.pages), in_turns=in_turns)
        for share in shares:
            pages = fetched[: int(share * web.pages)]
            pagerank_hits, backlink_hits = (len(np.intersect1d(pages, ranking[: len(pages)])) for ranking in best)
            count = max(len(pages), 1)
            mass = float(importance[pages].sum())
            yield OrderQualityRow(order.name, share, len(pages), pagerank_hits / count, backlink_hits / count, mass)


def averaged(graph: WebGraph, draws: int = 4, in_turns: bool = False) -> list[OrderQualityRow]:
    """The quality of every order from `SEEDS` random seeds, averaged over several draws of them."""
    tables = []
    for draw in range(draws):
        seeds = np.random.default_rng(draw).choice(graph.pages, min(SEEDS, graph.pages), replace=False)
        tables.append(list(quality(graph, seeds.tolist(), in_turns=in_turns)))
    means = []
    for rows in zip(*tables):
        figures = [(row.by_pagerank, row.by_backlinks, row.pagerank_mass) for row in rows]
        pages = round(np.mean([row.pages for row in rows]))
        means.append(OrderQualityRow(rows[0].order, rows[0].share, pages, *map(float, np.mean(figures, axis=0))))
    return means


def _ranks(graph: WebGraph, order: Ordering, pages: Ints, depth: Ints, worth: NDArray[np.float64]) -> Ints:
    if order.by_worth:
        return ranks(worth[pages])
    if not order.weighs:
        return depth[pages]
    names = graph.urls or [f"{page}" for page in range(graph.pages)]
    found = [Found(names[page], "", int(depth[page])) for page in pages.tolist()]
    return np.array([order.rank(each, float(value)) for each, value in zip(found, worth[pages])], np.int64)
