"""A team that crawls a graph in supersteps (Marin's bulk-synchronous cycle, Cho's batch communication).

In a superstep each gatherer takes its best R pages, fetches them and follows their links: those into its own pages
count at once, those into another's are collected and told at the next exchange as [URL, worth] pairs, one for each URL.
Behind a firewall they are thrown away. Orders, ranks and queues are those of the live crawl.

Invariant: a page is fetched at most once, by its owner, after a page that links to it was fetched by the owner, or by
another who has told it (or as a seed, or as a URL that all know).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gcs.core.ordering import MOST, ORDERS, Ordering
from gcs.core.queues.contract import Queue
from gcs.errors import UsageError
from gcs.sim.engine.reach import FirstOf
from gcs.sim.engine.sim_queue import Pages, QueueWaiting, Ranks, ScanWaiting
from gcs.sim.graph.owners import Owners
from gcs.sim.graph.web_graph import Ids, WebGraph

_SIGN, _ALL = 0x80000000, 0xFFFFFFFF
_NO_PAGES: Pages = np.empty(0, np.int32)
#: added to a rank, it is behind all others: ranks have 32 bits
_LATER = 1 << 32


def ranks(importances: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rank of each importance, for whole arrays: `core.ordering` ranks one at a time, without numpy."""
    bits = (np.clip(importances, -MOST, MOST) + 0.0).astype(np.float32).view(np.uint32)
    ascending = bits ^ np.where(bits & _SIGN, np.uint32(_ALL), np.uint32(_SIGN))
    return ((_ALL - ascending) >> 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class SuperstepRules:
    """How a team works."""

    owners: Owners = field(repr=False)
    k: int
    mode: Literal["exchange", "firewall"] = "exchange"
    #: a name of core.ordering
    order: str = "bfs"
    #: R: pages that each gatherer fetches in a superstep, on average over the team
    pages_each: float = 64
    #: (k,) how fast each is beside the others; all alike where nothing is said
    speeds: NDArray[np.float64] | None = field(default=None, repr=False)
    #: supersteps between two exchanges
    exchange_every: int = 1
    #: pages whose URLs everybody knows: seeds of their owners, never told
    replicated: Pages = field(default_factory=lambda: _NO_PAGES, repr=False)
    #: for one gatherer alone: pages that it fetches only in supersteps in which nothing else waits (cross-over mode)
    abroad: NDArray[np.bool_] | None = field(default=None, repr=False)
    #: makes the queue of a gatherer, as those of core.queues; without, waiting pages are scanned
    make_queue: Callable[[], Queue] | None = None

    def room(self, known: Ranks) -> ScanWaiting | QueueWaiting:
        """The waiting pages of a team, none yet."""
        if self.make_queue is None:
            return ScanWaiting(known, self.k)
        return QueueWaiting(known, [self.make_queue() for _ in range(self.k)])

    def quota(self, superstep: int) -> Ids:
        """(k,) the pages that each may fetch in a superstep, counted from 1; halves are saved up for the next one."""
        speeds = np.ones(self.k) if self.speeds is None else self.speeds / self.speeds.mean()
        upto, before = (np.floor(self.pages_each * speeds * number + 1e-9) for number in (superstep, superstep - 1))
        return (upto - before).astype(np.int64)


@dataclass(frozen=True, slots=True)
class SuperstepResult:
    """What happened in one superstep, all gatherers together."""

    pages: Pages = field(repr=False)
    #: the page of each pair told at its end, and how many links are behind them
    told_pages: Pages = field(repr=False)
    told_links: int
    #: links told of pages that were fetched already, and links inside a part to such pages
    late: int
    late_inside: int

    @property
    def told(self) -> int:
        return len(self.told_pages)


class SteppedCrawl:
    """A crawl in progress: what is known of each page by its owner, and what is on its way."""

    def __init__(self, graph: WebGraph, rules: SuperstepRules, seeds: Ids) -> None:
        if rules.order not in ORDERS:
            raise UsageError(f"no order is called {rules.order!r}; there are {', '.join(ORDERS)}")
        self._graph, self._rules = graph, rules
        self._order: Ordering = ORDERS[rules.order]
        pages = graph.pages
        self.owners = rules.owners
        self.worth = np.zeros(pages)
        self.depth = np.zeros(pages, np.int64)
        self.rank = np.zeros(pages, np.int64)
        self.number = np.full(pages, -1, np.int32)
        self.page_of = np.zeros(pages, np.int32)
        self.waits = np.zeros(pages, np.bool_)
        self.fetched = np.zeros(pages, np.bool_)
        self._found = self._own_waiting = 0
        self._first = FirstOf(pages)
        self._known_to_all = np.zeros(pages, np.bool_)
        self._known_to_all[rules.replicated] = True
        self._untold: list[tuple[Ids, NDArray[np.float64], Ids]] = []
        self._waiting = rules.room(self)
        start = np.unique(np.concatenate([seeds, rules.replicated])).astype(np.int32)
        self.worth[start] = self._order.seed
        self._meet(start, np.zeros(len(start), np.int64))

    def steps(self, most: int | None = None) -> Iterator[SuperstepResult]:
        """Superstep after superstep, until nothing waits or is on its way, or so many pages are fetched."""
        left = self._graph.pages if most is None else most
        number = 0
        while left > 0:
            number += 1
            taken = self.take(self._rules.quota(number))
            pages = np.concatenate(taken)
            if not len(pages) and self.is_over:
                return
            if len(pages) > left:  # each gives up the last of its own
                turn = np.concatenate([np.arange(len(part)) for part in taken])
                pages = pages[np.argsort(turn, kind="stable")[:left]]
            left -= len(pages)
            late_inside = self.fetch(pages)
            due = number % self._rules.exchange_every == 0 or not len(pages)
            yield SuperstepResult(pages, *(self.exchange() if due else (_NO_PAGES, 0, 0)), late_inside)

    @property
    def is_over(self) -> bool:
        """Whether nothing waits, and nothing is on its way."""
        return not self._untold and not self.waits.any()

    def waiting(self) -> Ids:
        """(k,) how many pages wait at each gatherer."""
        return np.bincount(self.owners[self.waits], minlength=self._rules.k)

    def take(self, quota: Ids) -> list[Pages]:
        """The best pages of each gatherer, as many as it may have: they wait no more."""
        if self._rules.abroad is not None and self._own_waiting:
            quota = np.minimum(quota, self._own_waiting)
        taken = [self._waiting.take(me, count) if count > 0 else _NO_PAGES for me, count in enumerate(quota.tolist())]
        for pages in taken:
            self.waits[pages] = False
            self._own_waiting -= self._count_own(pages)
        return taken

    def give_back(self, pages: Pages) -> None:
        """Pages that were taken and not fetched wait again."""
        self.waits[pages] = True
        self._waiting.put(pages, _NO_PAGES)

    def hand_over(self, owners: Owners) -> None:
        """Let pages have other owners from now on: those that wait go to their new owners at once."""
        self.owners = owners
        self._waiting = self._rules.room(self)
        waiting = np.flatnonzero(self.waits).astype(np.int32)
        self._waiting.put(waiting[np.argsort(self.number[waiting])], _NO_PAGES)

    def fetch(self, pages: Pages) -> int:
        """Fetch pages that were taken. Links inside a part count at once, the others are kept for the next exchange.

        How many of those inside came too late.
        """
        self.fetched[pages] = True
        counts, targets = self._graph.links_of(pages)
        gifts = np.repeat(self._gifts(self.worth[pages], counts), counts)
        senders = np.repeat(self.owners[pages], counts)
        depths = np.repeat(self.depth[pages] + 1, counts)
        home = self.owners[targets] == senders
        if self._rules.mode == "exchange":
            told = ~home & ~self._known_to_all[targets]
            keys = senders[told].astype(np.int64) * self._graph.pages + targets[told]
            if len(keys):
                self._untold.append((keys, gifts[told], depths[told]))
        return self._arrive(targets[home], gifts[home], depths[home])

    def exchange(self) -> tuple[Pages, int, int]:
        """Tell all that is untold: the page of each pair, how many links, and links to pages that were fetched."""
        if not self._untold:
            return _NO_PAGES, 0, 0
        keys, gifts, depths = (np.concatenate(column) for column in zip(*self._untold))
        self._untold.clear()
        pairs, targets = ((some % self._graph.pages).astype(np.int32) for some in (np.unique(keys), keys))
        return pairs, len(keys), self._arrive(targets, gifts, depths)

    def _arrive(self, targets: Pages, gifts: NDArray[np.float64], depths: Ids) -> int:
        """Owners hear of links to their pages; how many of them come too late to matter."""
        late = self.fetched[targets]
        count = int(late.sum())
        if count:
            targets, gifts, depths = targets[~late], gifts[~late], depths[~late]
        if self._order.weighs:
            np.add.at(self.worth, targets, gifts)
        first = self._first.where(targets)  # the first link to a page decides how deep it is
        once, depths = targets[first], depths[first]
        fresh = self.number[once] < 0
        self._meet(once[fresh], depths[fresh], once[~fresh] if self._order.weighs else _NO_PAGES)
        return count

    def _meet(self, fresh: Pages, depth: Ids, changed: Pages = _NO_PAGES) -> None:
        """Pages that are known from now on, and others that are worth more than before."""
        self.waits[fresh] = True
        self.depth[fresh] = depth
        self.number[fresh] = np.arange(self._found, self._found + len(fresh))
        self.page_of[self._found : self._found + len(fresh)] = fresh
        self._found += len(fresh)
        if self._order.weighs:
            self.rank[fresh], self.rank[changed] = ranks(self.worth[fresh]), ranks(self.worth[changed])
        else:
            self.rank[fresh] = depth
        if self._rules.abroad is not None:
            for pages in (fresh, changed):
                self.rank[pages] += _LATER * self._rules.abroad[pages]
            self._own_waiting += self._count_own(fresh)
        self._waiting.put(fresh, changed)

    def _count_own(self, pages: Pages) -> int:
        return 0 if self._rules.abroad is None else int((~self._rules.abroad[pages]).sum())

    def _gifts(self, worth: NDArray[np.float64], links: Ids) -> NDArray[np.float64]:
        """What each link of a page adds to the worth of its target."""
        if self._order.conserves:
            return worth / np.maximum(links, 1)
        return np.full(len(worth), self._order.gift(0.0, 1))
