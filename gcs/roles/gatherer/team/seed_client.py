"""A crawl-client of a seed-server (WEB-SAILOR): fetches the URLs that the server hands out, and sends it every link.

To the gatherer it is a membership like that in a team (`membership.py`), and much simpler: the client owns only the
URLs that the server handed to it, and sends everything that it finds to the server.

    UrlBlock ─► frontier ─► fetch ─► record ─┬─► done  ─┐
                                             └─► links ─┴─► Finds (one block, in the commit that holds the pages)

Invariants
- A page is reported in the commit that holds its mark; when the server hands the URL out again, by its mark.
- The server says how many connections the client may open.
- A session begins with a report of the URLs of the last one; the server hands nothing out before it has that.
"""

import asyncio
import math
from collections.abc import Iterator

import msgspec

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Account, ClientPace, Finds, Link, Member, MemberState, PlanPosted, UrlBlock
from gcs.core.ordering import GIFT
from gcs.core.page.values import PageRecord
from gcs.core.report.report import Share
from gcs.core.url.queued_url import QueuedUrl, priority_of
from gcs.core.url.sortkey import host_name, host_of_key, sort_key
from gcs.events import Events
from gcs.ports.frontier import Mark
from gcs.ports.system.tasks import BackgroundTasks
from gcs.roles.gatherer.membership import GathererPort, MemberContext
from gcs.roles.gatherer.team.block_exchange import BlockExchange
from gcs.roles.gatherer.team.whiteboard import Whiteboard

events = Events("client")


class SeedClient:
    """A gatherer's membership at a seed-server. `Membership` describes the methods."""

    def __init__(self, context: MemberContext, port: GathererPort, server: str) -> None:
        self.me, self._context, self._port, self._server = context.name, context, port, server
        self._frontier, self._session = context.frontier, context.session
        self._tasks = BackgroundTasks(port.request_turn)
        self.whiteboard = Whiteboard(context, self._next_heartbeat, self._tasks)
        self._exchange = BlockExchange(context, port.traffic, self.whiteboard, self._tasks)
        self._links: dict[str, Link] = {}  # filled by route; emptied by before_commit
        self._copies: list[QueuedUrl] = []  # filled by _recrawl_step; emptied by before_commit
        self._done: list[str] = []  # filled by recorded and queued; emptied by before_commit
        self._handed: set[str] = set()  # filled by begin; emptied by queued
        self._beats = 0
        self._has_left = False
        self._was_passive = False  # as of the last heartbeat
        self._leaving = False
        #: how many connections the server allows; 0 before its first ClientPace
        self.connections = 0

    # -- life ------------------------------------------------------------------------------------------

    async def startup(self) -> None:
        self._exchange.restore(None)
        self.whiteboard.start()
        self._exchange.start()
        self._tasks.start(self._follow_pace())

    async def shutdown(self, share: Share | None) -> None:
        await self._tasks.close()
        await self._exchange.close()
        gone = Member(self.me, self._context.run, state=MemberState.GONE, passive=True, server=self._server)
        account = Account(self.me, msgspec.msgpack.encode(share)) if share else None
        await self.whiteboard.leave(account, gone if self._has_left else None)
        await self._context.space.close()

    def leave(self) -> None:
        self._leaving = True

    async def relieved(self) -> None:
        """Returns when the client wants to leave and may: pages that were in flight are stored and reported."""
        while True:
            await asyncio.sleep(self._context.settings.beat_s)
            if self._leaving and not self._port.dispatcher.open and self._has_reported:
                self._has_left = True
                return

    async def _follow_pace(self) -> None:
        async for pace in self._context.space.watch(template(ClientPace, client=self.me)):
            self.connections = pace.connections
            self._port.request_turn()

    # -- state -----------------------------------------------------------------------------------------

    epoch = 0
    superpages, rebalances, moving = 0, 0, (0, 0)
    known_plan: PlanPosted | None = None

    def may_fetch(self) -> bool:
        return not self._leaving and self.whiteboard.may_fetch()

    def room(self, under_way: int) -> float:  # noqa: ARG002
        """The server hands out no more than may be asked for."""
        return math.inf

    @property
    def has_uncommitted(self) -> bool:
        return bool(self._links or self._copies or self._done or self._exchange.has_uncommitted)

    @property
    def is_changing(self) -> bool:
        """Never: only the server moves domains between clients."""
        return False

    @property
    def _has_reported(self) -> bool:
        return not self.has_uncommitted and self._exchange.is_empty

    @property
    def is_passive(self) -> bool:
        """Whether nothing will happen here before a tuple arrives."""
        return self._has_reported and self._port.is_quiet()

    # -- the turn --------------------------------------------------------------------------------------

    def begin(self, now: float) -> list[QueuedUrl]:  # noqa: ARG002
        self._tasks.check()
        self._exchange.drop_settled()
        self._recrawl_step()
        new: list[QueuedUrl] = []
        for item in self._exchange.arrivals(0):
            assert isinstance(item, UrlBlock)
            known = {copy.url: copy for copy in item.copies}
            for link in item.links:
                past = known.get(link.url, QueuedUrl(link.url, priority=priority_of(link.depth)))
                new.append(msgspec.structs.replace(past, parent=link.parent, depth=link.depth, worth=link.weight))
        self._handed = {entry.url for entry in new}
        return new

    def _recrawl_step(self) -> None:
        """Begin the session, if it has not begun here, and report some of the URLs of the last one."""
        recrawl = self._port.recrawl
        if self._session > recrawl.session:
            self._port.begin_session(self._session, 0)  # the server hands out again the URLs that robots.txt refused
        if not recrawl.is_done:
            self._copies += recrawl.step()
            self._port.request_turn()

    def route(self, entries: list[QueuedUrl]) -> list[QueuedUrl]:
        """Keep all links for the server, unless they are out of scope; returns none."""
        gifts = set(self._port.admission.in_scope([entry.url for entry in entries if entry.depth == GIFT]))
        for entry in entries:
            if entry.depth == GIFT and entry.url not in gifts:
                continue
            known = self._links.get(entry.url)
            weight = (known.weight if known else 0.0) + entry.worth
            found = known if known and entry.depth == GIFT else entry
            self._links[entry.url] = Link(entry.url, weight, found.depth, found.parent)
        return []

    def queued(self, entries: list[QueuedUrl]) -> None:
        """Report the URLs that were handed out and are not queued here: they have a mark, or were not admitted."""
        for url in self._handed.difference(entry.url for entry in entries):
            if self._frontier.mark(url) is not Mark.QUEUED:
                self._done.append(url)
        self._handed = set()

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:  # noqa: ARG002
        self._done.append(record.url)

    def tell_robots(self, host: str, origin: str, status: int, body: bytes) -> None:
        """Nothing to post: no other client asks the same hosts."""

    def tell_busy(self, host: str, wait_s: float) -> None:
        """Nothing to post: no other client asks the same hosts."""

    @property
    def page_cap(self) -> int | None:
        return None

    def turn_ended(self, pages: int, asked: int) -> None:  # noqa: ARG002
        if not self._was_passive and self.is_passive:
            self.whiteboard.beat_soon()

    def before_commit(self) -> None:
        blocks = list(self._blocks())
        traffic = self._port.traffic
        traffic.exchanged_urls += len(self._links)
        traffic.named_bytes += sum(map(len, self._links))
        traffic.blocks += len(blocks)
        self._exchange.send((self._server, block) for block in blocks)
        self._links.clear()
        self._copies.clear()
        self._done.clear()

    def after_commit(self) -> None:
        self._exchange.committed()

    def _blocks(self) -> Iterator[Finds]:
        size, links = self._context.settings.urls_per_block, list(self._links.values())
        for at in range(0, max(len(links), len(self._done)), size):
            done = self._done[at : at + size]
            hosts = {host_name(host_of_key(sort_key(url))) for url in done}
            now, dispatcher = self._port.clock(), self._port.dispatcher
            free_in = {host: free for host in hosts if (free := dispatcher.free_in(host, now))}
            yield Finds(self.me, done, links[at : at + size], session=self._session, free_in=free_in)
        for at in range(0, len(self._copies), size):
            copies = self._copies[at : at + size]
            again = [Link(copy.url, 0, copy.depth, copy.parent) for copy in copies]
            yield Finds(self.me, [], again, session=self._session, copies=copies)

    def _figures(self) -> dict[str, float]:
        waits = self._port.is_quiet() and not self.has_uncommitted
        return {
            "outbox": self._frontier.team_tables.kept(),
            "waits": float(waits),
            "unread": self._exchange.unread,
            "round_trip_s": self.whiteboard.round_trip_s,
            "skew_s": round(self.whiteboard.skew_s, 2),
        }

    def _next_heartbeat(self) -> Member:
        self._beats += 1
        self._was_passive = self.is_passive
        share = self._port.share()
        recrawl = self._port.recrawl  # may still be in the last session: heartbeats begin before the first turn
        return Member(
            gatherer=self.me,
            run=self._context.run,
            state=MemberState.LEAVING if self._leaving else MemberState.RUNNING,
            settled_epoch=recrawl.session if recrawl.is_done and self._has_reported else 0,
            passive=self._was_passive,
            blocks_sent=self._exchange.sent,
            blocks_received=self._exchange.received,
            figures=self._port.figures(share) | self._figures(),
            beat=self._beats,
            server=self._server,
            work=share.work,
        )
