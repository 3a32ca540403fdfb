"""The router: which links are ours, and how the others leave: hot pages, c-hit table, c-queue, blocks.

    link ─► mine ───────────────► frontier (or held, while its range is on its way to us)
        └─► foreign ─► hot page? ─► posted before? ─► c-queue ─► block per owner (at the next checkpoint)

A foreign URL is posted once (the c-hit table is on disk), and again with every superstep only where the order of the
crawl weighs links: then what was found of it since is sent. Hot pages of the plan are never posted, since whoever
reported one as hot has posted it. How often each was seen is counted: the leader chooses the hot pages by that.
In cross-over mode a foreign URL goes behind all of our own.

Invariant: every link given to `route` is returned, held, in the c-queue, or suppressed because its owner has been told.
"""

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from gcs.core.ground import Ground
from gcs.core.ordering import BEHIND, GIFT
from gcs.core.plan import ExchangeMode, Plan
from gcs.core.ranges import Range, contains
from gcs.core.recent import Recent
from gcs.core.sortkey import sort_key
from gcs.core.tally import Traffic
from gcs.core.tuples import Link, UrlBlock
from gcs.ports.frontier import Entry, Frontier
from gcs.roles.gatherer.cqueue import CQueue

#: URLs whose in-links are counted
COUNTED_URLS = 10_000
#: hot-page candidates that are reported
CANDIDATES = 1_000


class Router:
    """Routes the links of one gatherer by the plan."""

    def __init__(self, me: str, frontier: Frontier, c_queue: CQueue, recent_urls: int) -> None:
        self._me = me
        self._exchange, self._order, self._ledger = frontier.exchange, frontier.order, frontier.ledger
        self._c_queue = c_queue
        self._posted = Recent(recent_urls)  # foreign URLs met lately: the part of the c-hit table in memory
        self._counts: dict[str, int] = {}
        self._hot: frozenset[str] = frozenset()
        self.traffic = Traffic()
        self.plan: Plan | None = None
        #: ranges of ours whose hand-over is not complete
        self.awaited: tuple[Range, ...] = ()

    def adopt(self, plan: Plan) -> list[Entry]:
        """Route by this plan from now on; returns what was in the c-queue and is ours now."""
        self.plan = plan
        self._hot = frozenset(url for url in plan.hot_pages if plan.owner_of(sort_key(url)) != self._me)
        self._posted.clear()
        return self.redirect(self._c_queue.drain())

    def redirect(self, links: Iterable[Link]) -> list[Entry]:
        """Links that were on their way under an older plan, posted already: to their new owners; returns ours."""
        assert self.plan is not None
        ours = []
        for link in links:
            owner = self.plan.owner_of(sort_key(link.url))
            if owner == self._me:
                ours.append(self.received(link))
            else:
                self._c_queue.add(owner, link)
        return ours

    def received(self, link: Link) -> Entry:
        """What somebody sent us, as an entry."""
        worth = float(link.weight) if self._order.weighs else 0.0
        self._ledger.received += worth
        return Entry(link.url, link.parent, link.depth, link.depth, worth=worth)

    def route(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that are ours to queue now; the others are on their way. Without a plan, all are ours."""
        plan = self.plan
        if plan is None:
            return list(entries)
        mine: list[Entry] = []
        cuts, owners, names, me = plan.cuts, plan.owners, plan.gatherers, self._me
        place_of = None if plan.ground is Ground.TREE else plan.ground.place
        for entry in entries:
            key = sort_key(entry.url)
            place = place_of(key) if place_of else key
            owner = names[owners[bisect_right(cuts, place) - 1]]
            if owner != me:
                mine += self._foreign(entry, key, owner, plan)
            elif self.awaited and contains(self.awaited, place):
                self._exchange.hold([entry])
            else:
                mine.append(entry)
        return mine

    def forward(self, entries: Iterable[Entry]) -> list[Entry]:
        """Those of the entries that others sent us which are ours to queue now; the rest goes to its owners.

        Whatever we send on is news to its owner, hot or not: it is us who was told of it. Seeds are no links that we
        found: they are passed on whether or not we have posted, or will post, the same URL.
        """
        assert self.plan is not None
        mine: list[Entry] = []
        for entry in entries:
            key = sort_key(entry.url)
            if (owner := self.plan.owner_of(key)) == self._me:
                mine.append(entry)
            elif entry.is_seed or self._exchange.post(key) or entry.worth:
                self._send(owner, entry)
        return self.route(mine)

    def meet(self, outlinks: list[str]) -> None:
        """A page was fetched: count its links that need not be posted (again), before the fresh ones are routed."""
        self._c_queue.fetched()
        hot = self._hot.intersection(outlinks)
        known = [url for url in self._posted.known(outlinks) if url not in hot]
        self.traffic.suppressed_hot += len(hot)
        if not self._order.weighs:
            self.traffic.suppressed_c_queue += len(known)
        counts = self._counts
        for url in (*hot, *known):
            counts[url] = counts.get(url, 0) + 1
        if len(counts) > COUNTED_URLS:  # the rarer half goes: what was met once or twice will not be hot
            ranked = sorted(counts.items(), key=lambda item: -item[1])
            self._counts = dict(ranked[: COUNTED_URLS // 2])

    def hot_candidates(self) -> list[tuple[str, int]]:
        """Foreign URLs that were met most, and how often."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))[:CANDIDATES]

    def close_blocks(self) -> list[tuple[str, UrlBlock]]:
        """Everything in the c-queue as blocks, each with its destination."""
        assert self.plan is not None
        blocks = self._c_queue.blocks(self.plan.epoch)
        found = [link.url for _, block in blocks for link in block.links if not link.is_seed]
        self.traffic.exchanged_urls += len(found)
        self.traffic.named_bytes += sum(map(len, found))
        self.traffic.blocks += len(blocks)
        return blocks

    @property
    def has_waiting(self) -> bool:
        """Whether anything is in the c-queue."""
        return bool(self._c_queue)

    def _foreign(self, entry: Entry, key: bytes, owner: str, plan: Plan) -> list[Entry]:
        """Send an entry to its owner, if it is worth it; returns it where it is for us to fetch all the same."""
        url = entry.url
        if plan.is_finders(key):
            return [entry]
        if plan.mode is ExchangeMode.CROSS_OVER:
            return [msgspec.structs.replace(entry, priority=BEHIND)]
        was_met = not self._posted.fresh((url,))  # and counted then
        if plan.mode is ExchangeMode.FIREWALL or url in self._hot:
            self._ledger.idle += entry.worth
        elif self._c_queue.has(owner, url):
            self._send(owner, entry)
        elif entry.depth == GIFT:  # its owner knows the URL if we have posted it; else it is none of the crawl's
            if self._exchange.was_posted(key):
                self._send(owner, entry)
            else:
                self._ledger.idle += entry.worth
        elif self._exchange.post(key) or entry.worth:
            self._send(owner, entry)
        else:
            self.traffic.suppressed_c_queue += not was_met
        return []

    def _send(self, owner: str, entry: Entry) -> None:
        self._ledger.sent += entry.worth
        weight = entry.worth if self._order.weighs else 1
        self._c_queue.add(owner, Link(entry.url, weight, entry.depth, entry.parent))
