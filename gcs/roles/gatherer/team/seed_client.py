"""A crawl-client of a seed-server (WEB-SAILOR): it fetches what it is handed, and sends every link it finds.

It stands where a team's side stands (`company.py`), and is much simpler: nothing is ours but what the server gave us,
and everything that we find is the server's.

    UrlBlock ─► frontier ─► fetch ─► record ─┬─► done  ─┐
                                             └─► links ─┴─► Finds (one block, in the commit that holds the pages)

Invariants
- A page is reported in the commit that holds its mark, or, when the server asks again, because of its mark.
- How many connections we open is the server's word.
- A session begins with telling the server what we know of the last one; it gives us nothing before it has that.
"""

import asyncio
import random
from collections.abc import Iterator

import msgspec

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Account, ClientPace, Finds, Link, Member, MemberState, PlanPosted, Queued, UrlBlock
from gcs.core.ordering import GIFT
from gcs.core.page.values import PageRecord
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.report import Share
from gcs.core.url.sortkey import host_name, host_of, sort_key
from gcs.events import Events
from gcs.ports.frontier import Entry, Frontier, Mark
from gcs.ports.space.clock import lease_time
from gcs.ports.space.port import Space
from gcs.ports.tasks import end
from gcs.roles.gatherer.membership import GathererPort
from gcs.roles.gatherer.team.block_exchange import BlockExchange
from gcs.roles.gatherer.team.whiteboard import Whiteboard

events = Events("client")


class SeedClient:
    """A gatherer's place at a seed-server."""

    def __init__(
        self, me: str, space: Space, server: str, settings: TeamSettings, frontier: Frontier, session: int = 1
    ) -> None:
        self.me, self._server, self._settings, self._frontier = me, server, settings, frontier
        self._session = session
        self._run = f"{random.SystemRandom().getrandbits(48):012x}"
        self.observer = Whiteboard(space, me, self._run, settings, lease_time, lambda: self._home.wake())
        self._mail = BlockExchange(frontier.exchange, self.observer)
        self._home: GathererPort
        self._links: dict[str, Link] = {}  # filled by route; emptied by before_commit
        self._copies: list[Queued] = []  # filled by _renew; emptied by before_commit
        self._done: list[str] = []  # filled by recorded and queued; emptied by before_commit
        self._handed: set[str] = set()  # filled by begin; emptied by queued
        self._beats = 0
        self._has_left = False
        self._tasks: list[asyncio.Task[None]] = []
        self.leaving = False
        #: how many connections the server allows us; 0 before its first word
        self.connections = 0

    # -- life ------------------------------------------------------------------------------------------

    async def startup(self, home: GathererPort) -> None:
        """Go on with what we were handed, and with the outbox as it was."""
        self._home = home
        self._mail.traffic = home.traffic
        self._mail.restore(None)
        self.observer.start(self._member)
        self._tasks = [asyncio.create_task(self._follow_pace())]

    async def shutdown(self, share: Share | None) -> None:
        """Stop listening, account for what we did, and go."""
        await end(self._tasks)
        await self.observer.close()
        gone = Member(self.me, self._run, state=MemberState.GONE, passive=True, server=self._server)
        account = Account(self.me, msgspec.msgpack.encode(share)) if share else None
        await self.observer.leave(account, gone if self._has_left else None)
        await self.observer.space.close()

    async def relieved(self) -> None:
        """Returns when we want to leave and may: what was in flight is stored and reported."""
        while True:
            await asyncio.sleep(self._settings.beat_s)
            if self.leaving and not self._home.dispatcher.open and self._has_reported:
                self._has_left = True
                return

    async def _follow_pace(self) -> None:
        async for pace in self.observer.space.watch(template(ClientPace, client=self.me)):
            self.connections = pace.connections
            self._home.wake()

    # -- what we are -----------------------------------------------------------------------------------

    epoch = 0
    superpages = 0
    known_plan: PlanPosted | None = None

    def may_fetch(self) -> bool:
        """Whether we may start requests."""
        return not self.leaving and self.observer.may_fetch()

    @property
    def has_uncommitted(self) -> bool:
        """Whether a commit would let something go out or be acked."""
        return bool(self._links or self._copies or self._done or self._mail.has_uncommitted)

    @property
    def is_changing(self) -> bool:
        """Never: the server gives domains away, not we."""
        return False

    @property
    def _has_reported(self) -> bool:
        return not self.has_uncommitted and self._mail.is_empty

    @property
    def is_passive(self) -> bool:
        """Nothing here will act unless a tuple arrives."""
        return self._has_reported and self._home.is_quiet()

    # -- the turn --------------------------------------------------------------------------------------

    def begin(self, now: float) -> list[Entry]:  # noqa: ARG002
        """Take in what the server handed us."""
        if self.observer.failed is not None:
            raise self.observer.failed
        self._mail.drop_settled()
        self._renew()
        new: list[Entry] = []
        for item in self._mail.arrivals(0):
            assert isinstance(item, UrlBlock)
            known = {copy.url: Entry(*msgspec.structs.astuple(copy)) for copy in item.copies}
            for link in item.links:
                past = known.get(link.url, Entry(link.url, priority=link.depth))
                new.append(msgspec.structs.replace(past, parent=link.parent, depth=link.depth, worth=link.weight))
        self._handed = {entry.url for entry in new}
        return new

    def _renew(self) -> None:
        """Begin the session, if it has not begun here, and take up some of what the last one left."""
        renewal = self._home.renewal
        if self._session > renewal.session:
            self._home.begin_session(self._session, 0)  # what was refused is the server's to ask for again
        if not renewal.is_done:
            self._copies += [Queued(*msgspec.structs.astuple(entry)) for entry in renewal.step()]
            self._home.wake()

    def route(self, entries: list[Entry]) -> list[Entry]:
        """All links are the server's: none is ours. What is out of the scope is nobody's."""
        gifts = set(self._home.admission.in_scope([entry.url for entry in entries if entry.depth == GIFT]))
        for entry in entries:
            if entry.depth == GIFT and entry.url not in gifts:
                continue
            known = self._links.get(entry.url)
            weight = (known.weight if known else 0.0) + entry.worth
            found = known if known and entry.depth == GIFT else entry
            self._links[entry.url] = Link(entry.url, weight, found.depth, found.parent)
        return []

    def queued(self, entries: list[Entry]) -> None:
        """These are new in our frontier. What else was handed to us is dealt with already, or will never be."""
        for url in self._handed.difference(entry.url for entry in entries):
            if self._frontier.mark(url) is not Mark.QUEUED:
                self._done.append(url)
        self._handed = set()

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:  # noqa: ARG002
        """A URL is dealt with; its links are about to be admitted."""
        self._done.append(record.url)

    def tell_robots(self, host: str, origin: str, status: int, body: bytes, now: float) -> None:
        """Nobody else asks our hosts."""

    def tell_busy(self, host: str, until: float, now: float) -> None:
        """The same."""

    def before_commit(self) -> None:
        """Put what leaves into the outbox, so that the commit holds it."""
        blocks = list(self._blocks())
        traffic = self._home.traffic
        traffic.exchanged_urls += len(self._links)
        traffic.named_bytes += sum(map(len, self._links))
        traffic.blocks += len(blocks)
        self._mail.send((self._server, block) for block in blocks)
        self._links.clear()
        self._copies.clear()
        self._done.clear()

    def after_commit(self) -> None:
        """The commit is durable: let the mail go."""
        self._mail.committed()

    def _blocks(self) -> Iterator[Finds]:
        size, links = self._settings.urls_per_block, list(self._links.values())
        for at in range(0, max(len(links), len(self._done)), size):
            done = self._done[at : at + size]
            hosts = {host_name(host_of(sort_key(url))) for url in done}
            free_at = {host: free for host in hosts if (free := self._home.dispatcher.free_at(host))}
            yield Finds(self.me, done, links[at : at + size], free_at, self._session)
        for at in range(0, len(self._copies), size):
            copies = self._copies[at : at + size]
            again = [Link(copy.url, 0, copy.depth, copy.parent) for copy in copies]
            yield Finds(self.me, [], again, session=self._session, copies=copies)

    def _member(self) -> Member:
        self._beats += 1
        renewal = self._home.renewal  # it may still be in the last session: we beat before our first turn
        return Member(
            gatherer=self.me,
            run=self._run,
            state=MemberState.LEAVING if self.leaving else MemberState.RUNNING,
            settled_epoch=renewal.session if renewal.is_done and self._has_reported else 0,
            passive=self.is_passive,
            blocks_sent=self.observer.blocks_sent,
            blocks_received=self._mail.received,
            figures=self._home.figures() | {"outbox": self._frontier.exchange.kept()},
            beat=self._beats,
            server=self._server,
        )
