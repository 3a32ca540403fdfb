"""The router: which links a gatherer owns, and how foreign links leave: hot pages, c-hit table, c-queue, blocks.

    link ─► own ────────────────► frontier (or held, while its range is on its way to this gatherer)
        └─► foreign ─► hot page? ─► posted before? ─► c-queue ─► block per owner (when the superstep is over)

A foreign URL is posted once (the c-hit table is on disk). If the order of the crawl weighs links, the URL is posted
again with every superstep that has found more worth for it. Hot pages of the plan are never posted, since the gatherer
that reported one as hot has posted it. The router counts how often each foreign URL was seen: the leader chooses the
hot pages by that. In cross-over mode a foreign URL is set aside until nothing else is left to fetch.

The c-queue collects foreign URLs for a superstep; then they are sent in blocks (G3, M1).

Invariant: every link given to `route` is returned, held, set aside, in the c-queue, or suppressed because its owner
knows the URL.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import msgspec

from gcs.core.messages.tuples import Link, UrlBlock
from gcs.core.ordering import GIFT
from gcs.core.plan.keyspace import Keyspace, contains
from gcs.core.plan.plan import ExchangeMode, Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.counters import Traffic
from gcs.core.url.admission import Recent
from gcs.core.url.queued_url import QueuedUrl, priority_of
from gcs.core.url.sortkey import sort_key
from gcs.ports.frontier import Frontier
from gcs.roles.gatherer.team.hand_over import HandOvers

#: URLs whose in-links are counted
COUNTED_URLS = 10_000
#: hot-page candidates that are reported
CANDIDATES = 1_000
#: foreign URLs seen lately that are kept in memory
RECENT_URLS = 60_000

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, list[Link]]).decode


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How long a superstep may be."""

    #: R: pages; with 0, every checkpoint ends the superstep
    pages: int = 0
    #: β: URLs for one owner, which are also the most in one block
    urls: int = 1_000
    seconds: float = 2.0

    @classmethod
    def of(cls, settings: TeamSettings) -> Self:
        return cls(settings.superstep_pages, settings.urls_per_block, settings.block_s)


class CQueue:
    """The foreign URLs of one gatherer. Filled by Router; emptied by blocks (end of a superstep) and drain."""

    def __init__(self, tolerance: Tolerance) -> None:
        self.tolerance = tolerance
        self._links: dict[str, dict[str, Link]] = {}  # by owner and URL
        self._pages = 0
        self._begun_at: float | None = None

    def __bool__(self) -> bool:
        return bool(self._links)

    def has(self, owner: str, url: str) -> bool:
        """Whether a URL waits to be sent to that owner."""
        return url in self._links.get(owner, ())

    def add(self, owner: str, link: Link) -> None:
        """Add a link for its owner; links to the same URL become one, with their weights added up."""
        queued = self._links.setdefault(owner, {})
        before = queued.get(link.url)
        if before is not None:
            first, other = (link, before) if before.depth == GIFT else (before, link)
            depth = first.depth if other.depth == GIFT else min(first.depth, other.depth)
            link = Link(link.url, before.weight + link.weight, depth, first.parent or other.parent)
        queued[link.url] = link

    def drain(self) -> list[Link]:
        """Empty the queue; returns its links."""
        links = [link for queued in self._links.values() for link in queued.values()]
        self._links = {}
        return links

    def fetched(self) -> None:
        """Count another page of the superstep."""
        self._pages += 1

    @property
    def is_full(self) -> bool:
        """Whether as many URLs wait for one owner as may."""
        return any(len(queued) >= self.tolerance.urls for queued in self._links.values())

    def tick(self, now: float, busy: bool) -> bool:
        """Begin a superstep with the first link; returns whether it is over."""
        if not self._links:
            return False
        if self._begun_at is None:
            self._begun_at = now
        limit = self.tolerance
        return not busy or self._pages >= limit.pages or now >= self._begun_at + limit.seconds or self.is_full

    def blocks(self, epoch: int) -> list[tuple[str, UrlBlock]]:
        """End the superstep: everything as blocks, each with its destination."""
        most = max(self.tolerance.urls, 1)
        blocks: list[tuple[str, UrlBlock]] = []
        for owner, queued in self._links.items():
            links = list(queued.values())
            blocks += [(owner, UrlBlock(epoch, links[at : at + most])) for at in range(0, len(links), most)]
        self._links, self._pages, self._begun_at = {}, 0, None
        return blocks

    def encode(self) -> bytes:
        return _encode({owner: list(queued.values()) for owner, queued in self._links.items()})

    def restore(self, packed: bytes | None) -> None:
        for owner, links in (_decode(packed) if packed else {}).items():
            for link in links:
                self.add(owner, link)


class Router:
    """Routes the links of one gatherer by the plan."""

    def __init__(self, me: str, frontier: Frontier, c_queue: CQueue, hand_overs: HandOvers, traffic: Traffic) -> None:
        self._me, self._c_queue, self._hand_overs, self._traffic = me, c_queue, hand_overs, traffic
        self._tables, self._order, self._ledger = frontier.team_tables, frontier.order, frontier.ledger
        self._posted = Recent(RECENT_URLS)  # foreign URLs seen lately: the part of the c-hit table in memory
        self._counts: dict[str, int] = {}  # how often foreign URLs were seen; filled and bounded by count_links
        self._hot: frozenset[str] = frozenset()  # hot pages of other owners
        self.plan: Plan | None = None

    def adopt(self, plan: Plan) -> list[QueuedUrl]:
        """Route by this plan from now on; returns entries of the c-queue that this gatherer owns now."""
        self.plan = plan
        self._hot = frozenset(url for url in plan.hot_pages if plan.owner_of(sort_key(url)) != self._me)
        self._posted.clear()
        return self.redirect(self._c_queue.drain())

    def redirect(self, links: Iterable[Link]) -> list[QueuedUrl]:
        """Send links that were posted under an older plan to their new owners; returns those to keep here."""
        assert self.plan is not None
        own = []
        for link in links:
            owner = self.plan.owner_of(sort_key(link.url))
            if owner == self._me:
                own.append(self.received(link))
            else:
                self._c_queue.add(owner, link)
        return own

    def received(self, link: Link) -> QueuedUrl:
        """The entry for a link that another gatherer sent."""
        worth = float(link.weight) if self._order.weighs else 0.0
        self._ledger.received += worth
        return QueuedUrl(link.url, link.parent, link.depth, priority_of(link.depth), worth=worth)

    def route(self, entries: Iterable[QueuedUrl]) -> list[QueuedUrl]:
        """The entries to queue here now; the others go to their owners. Without a plan, all are queued here."""
        plan = self.plan
        if plan is None:
            return list(entries)
        mine: list[QueuedUrl] = []
        cuts, owners, names, me = plan.cuts, plan.owners, plan.gatherers, self._me
        awaited = self._hand_overs.awaited
        place_of = None if plan.keyspace is Keyspace.TREE else plan.keyspace.place
        for entry in entries:
            key = sort_key(entry.url)
            place = place_of(key) if place_of else key
            owner = names[owners[bisect_right(cuts, place) - 1]]
            if owner != me:
                mine += self._foreign(entry, key, owner, plan)
            elif awaited and contains(awaited, place):
                self._tables.hold([entry])
            else:
                mine.append(entry)
        return mine

    def forward(self, entries: Iterable[QueuedUrl]) -> list[QueuedUrl]:
        """Route entries that were sent to this gatherer; returns those to queue here now, the rest is sent on.

        The owner does not know of them, hot or not: they were sent to this gatherer in the owner's place. Seeds are
        no links that were found: they are sent on even if the same URL was posted before.
        """
        assert self.plan is not None
        mine: list[QueuedUrl] = []
        for entry in entries:
            key = sort_key(entry.url)
            if (owner := self.plan.owner_of(key)) == self._me:
                mine.append(entry)
            elif entry.is_seed or self._tables.post(key) or entry.worth:
                self._send(owner, entry)
        return self.route(mine)

    def count_links(self, outlinks: list[str]) -> None:
        """A page was fetched: count its links that are not posted (again), before the new ones are routed."""
        self._c_queue.fetched()
        hot = self._hot.intersection(outlinks)
        known = [url for url in self._posted.known(outlinks) if url not in hot]
        self._traffic.suppressed_hot += len(hot)
        if not self._order.weighs:
            self._traffic.suppressed_c_queue += len(known)
        counts = self._counts
        for url in (*hot, *known):
            counts[url] = counts.get(url, 0) + 1
        if len(counts) > COUNTED_URLS:  # drop the rarer half: these URLs will not be hot
            ranked = sorted(counts.items(), key=lambda item: -item[1])
            self._counts = dict(ranked[: COUNTED_URLS // 2])

    def hot_candidates(self) -> list[tuple[str, int]]:
        """The foreign URLs that were seen most, and how often."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))[:CANDIDATES]

    def close_blocks(self) -> list[tuple[str, UrlBlock]]:
        """Everything in the c-queue as blocks, each with its destination."""
        assert self.plan is not None
        blocks = self._c_queue.blocks(self.plan.epoch)
        found = [link.url for _, block in blocks for link in block.links if not link.is_seed]
        self._traffic.exchanged_urls += len(found)
        self._traffic.named_bytes += sum(map(len, found))
        self._traffic.blocks += len(blocks)
        return blocks

    @property
    def has_waiting(self) -> bool:
        """Whether the c-queue holds any links."""
        return bool(self._c_queue)

    @property
    def is_full(self) -> bool:
        """Whether the c-queue holds as many links for one owner as may wait."""
        return self._c_queue.is_full

    def _foreign(self, entry: QueuedUrl, key: bytes, owner: str, plan: Plan) -> list[QueuedUrl]:
        """Send an entry to its owner, unless it is suppressed; returns it if this gatherer is to fetch it."""
        url = entry.url
        if plan.is_finders(key):
            return [entry]
        if plan.mode is ExchangeMode.CROSS_OVER:
            self._tables.set_aside(entry)
            return []
        was_seen = not self._posted.fresh((url,))  # and counted by count_links
        if plan.mode is ExchangeMode.FIREWALL or url in self._hot:
            self._ledger.idle += entry.worth
            self._traffic.dropped += url not in self._hot
        elif self._c_queue.has(owner, url):
            self._send(owner, entry)
        elif entry.depth == GIFT:  # the owner knows the URL if it was posted; else the URL is not of the crawl
            if self._tables.was_posted(key):
                self._send(owner, entry)
            else:
                self._ledger.idle += entry.worth
        elif self._tables.post(key) or entry.worth:
            self._send(owner, entry)
        else:
            self._traffic.suppressed_c_queue += not was_seen
        return []

    def _send(self, owner: str, entry: QueuedUrl) -> None:
        self._ledger.sent += entry.worth
        weight = entry.worth if self._order.weighs else 1
        self._c_queue.add(owner, Link(entry.url, weight, entry.depth, entry.parent))
