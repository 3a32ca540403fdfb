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
from dataclasses import dataclass
from typing import Self

import msgspec

from gcs.core.messages.tuples import Link, UrlBlock
from gcs.core.ordering import BEHIND, GIFT
from gcs.core.plan.keyspace import Keyspace, contains
from gcs.core.plan.plan import ExchangeMode, Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.counters import Traffic
from gcs.core.url.admission import Recent
from gcs.core.url.sortkey import sort_key
from gcs.ports.frontier import Entry, Frontier
from gcs.roles.gatherer.team.hand_over import HandOvers

# -- The c-queue: foreign URLs on their way to their owners, collected for a superstep and then sent in blocks (G3, M1).


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, list[Link]]).decode


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How long a superstep may be."""

    #: R: pages; 0 ends it with every checkpoint
    pages: int = 0
    #: β: URLs for one owner, which are also the most in one block
    urls: int = 1_000
    seconds: float = 2.0

    @classmethod
    def of(cls, settings: TeamSettings) -> Self:
        """As the settings say."""
        return cls(settings.superstep_pages, settings.urls_per_block, settings.block_s)


class CQueue:
    """The foreign URLs of one gatherer that have not left."""

    def __init__(self, tolerance: Tolerance) -> None:
        self.tolerance = tolerance
        self._links: dict[str, dict[str, Link]] = {}
        self._pages = 0
        self._begun_at: float | None = None

    def __bool__(self) -> bool:
        return bool(self._links)

    def has(self, owner: str, url: str) -> bool:
        """Whether a URL is on its way to that owner."""
        return url in self._links.get(owner, ())

    def add(self, owner: str, link: Link) -> None:
        """Send a link to its owner, together with what else there is for that URL."""
        queued = self._links.setdefault(owner, {})
        before = queued.get(link.url)
        if before is not None:
            first, other = (link, before) if before.depth == GIFT else (before, link)
            depth = first.depth if other.depth == GIFT else min(first.depth, other.depth)
            link = Link(link.url, before.weight + link.weight, depth, first.parent or other.parent)
        queued[link.url] = link

    def drain(self) -> list[Link]:
        """Take everything back."""
        links = [link for queued in self._links.values() for link in queued.values()]
        self._links = {}
        return links

    def fetched(self) -> None:
        """Another page of the superstep."""
        self._pages += 1

    def is_due(self, now: float, busy: bool) -> bool:
        """Whether the superstep is over."""
        if not self._links:
            return False
        if self._begun_at is None:
            self._begun_at = now
        limit = self.tolerance
        return (
            not busy
            or self._pages >= limit.pages
            or now >= self._begun_at + limit.seconds
            or any(len(queued) >= limit.urls for queued in self._links.values())
        )

    def blocks(self, epoch: int) -> list[tuple[str, UrlBlock]]:
        """Everything as blocks, each with its destination: a superstep ends."""
        most = max(self.tolerance.urls, 1)
        blocks: list[tuple[str, UrlBlock]] = []
        for owner, queued in self._links.items():
            links = list(queued.values())
            blocks += [(owner, UrlBlock(epoch, links[at : at + most])) for at in range(0, len(links), most)]
        self._links, self._pages, self._begun_at = {}, 0, None
        return blocks

    def encode(self) -> bytes:
        """As bytes, for the checkpoint."""
        return _encode({owner: list(queued.values()) for owner, queued in self._links.items()})

    def restore(self, packed: bytes | None) -> None:
        """Go on from a checkpoint."""
        for owner, links in (_decode(packed) if packed else {}).items():
            self.extend((owner, link) for link in links)

    def extend(self, links: Iterable[tuple[str, Link]]) -> None:
        """Send several links."""
        for owner, link in links:
            self.add(owner, link)


#: URLs whose in-links are counted
COUNTED_URLS = 10_000
#: hot-page candidates that are reported
CANDIDATES = 1_000
#: foreign URLs met lately that are kept in memory
RECENT_URLS = 60_000


class Router:
    """Routes the links of one gatherer by the plan."""

    def __init__(self, me: str, frontier: Frontier, c_queue: CQueue, hand_overs: HandOvers, traffic: Traffic) -> None:
        self._me, self._c_queue, self._hand_overs, self._traffic = me, c_queue, hand_overs, traffic
        self._tables, self._order, self._ledger = frontier.exchange, frontier.order, frontier.ledger
        self._posted = Recent(RECENT_URLS)  # foreign URLs met lately: the part of the c-hit table in memory
        self._counts: dict[str, int] = {}
        self._hot: frozenset[str] = frozenset()
        self.plan: Plan | None = None

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
        awaited = self._hand_overs.awaited
        place_of = None if plan.ground is Keyspace.TREE else plan.ground.place
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
            elif entry.is_seed or self._tables.post(key) or entry.worth:
                self._send(owner, entry)
        return self.route(mine)

    def meet(self, outlinks: list[str]) -> None:
        """A page was fetched: count its links that need not be posted (again), before the fresh ones are routed."""
        self._c_queue.fetched()
        hot = self._hot.intersection(outlinks)
        known = [url for url in self._posted.known(outlinks) if url not in hot]
        self._traffic.suppressed_hot += len(hot)
        if not self._order.weighs:
            self._traffic.suppressed_c_queue += len(known)
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
        self._traffic.exchanged_urls += len(found)
        self._traffic.named_bytes += sum(map(len, found))
        self._traffic.blocks += len(blocks)
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
            if self._tables.was_posted(key):
                self._send(owner, entry)
            else:
                self._ledger.idle += entry.worth
        elif self._tables.post(key) or entry.worth:
            self._send(owner, entry)
        else:
            self._traffic.suppressed_c_queue += not was_met
        return []

    def _send(self, owner: str, entry: Entry) -> None:
        self._ledger.sent += entry.worth
        weight = entry.worth if self._order.weighs else 1
        self._c_queue.add(owner, Link(entry.url, weight, entry.depth, entry.parent))
