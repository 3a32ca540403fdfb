"""The team's side of a gatherer: plans are adopted, foreign links leave, blocks and ranges arrive.

The gatherer calls it at three points of its turn:

    begin     take in what the whiteboard brought: a newer plan, blocks, hand-over parts, seeds, an announcement
    route     divide links into ours and others'
    commit    (before and after the frontier's commit) blocks into the outbox; then ship them and ack what came

Invariants
- A block or part is acked only after the commit that holds its effect; the outbox row of what we send is in the same
  commit as its cause. So a crash at any point repeats messages, and loses none.
- A block that was routed under a newer plan than ours waits until we have that plan; one that is not ours is passed on.
"""

import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from gcs.core import codec, treecopy
from gcs.core.page import PageRecord
from gcs.core.plan import Plan
from gcs.core.politeness import Turn
from gcs.core.sortkey import host_name, sort_key
from gcs.core.statistics import Figures, Statistics
from gcs.core.superpages import recut
from gcs.core.tally import Traffic
from gcs.core.team import TeamSettings
from gcs.core.template import template
from gcs.core.tree import WHOLE, Tree
from gcs.core.tuples import HandOver, HostState, Member, PlanPosted, RobotsNote, Seeds, UrlBlock
from gcs.core.tuples import Statistics as StatisticsPosted
from gcs.events import Events
from gcs.ports.frontier import Entry, Frontier, Mark
from gcs.ports.space.port import Absent, Holds, Space, Taken
from gcs.roles.gatherer.handover import HandOvers
from gcs.roles.gatherer.observer import Observer
from gcs.roles.gatherer.router import Router

events = Events("team")

#: foreign URLs met lately that are kept in memory
RECENT_URLS = 60_000
#: every so many pages, the links between superpages are counted
LINKS_EVERY = 8
#: seconds that a posted robots.txt and posted statistics stay on the board
ROBOTS_TTL_S, STATISTICS_TTL_S = 3_600.0, 600.0
#: records of our own log that are looked through per turn, when a range is lost
RESCAN_RECORDS = 200


class Team:
    """A gatherer's membership in a crawl."""

    def __init__(
        self,
        me: str,
        space: Space,
        settings: TeamSettings,
        frontier: Frontier,
        records: Callable[[], Iterator[PageRecord]],
        ghost: bool = False,
    ) -> None:
        self.me = me
        self.run = f"{random.SystemRandom().getrandbits(48):012x}"
        self._settings = settings
        self._frontier = frontier
        self._records = records
        self._ghost = ghost
        self.observer = Observer(space, me, self.run, settings, time.monotonic, lambda: self.wake())
        self.wake: Callable[[], None] = lambda: None
        self._router = Router(me, frontier.exchange, settings.block_urls, RECENT_URLS)
        self._hand_overs = HandOvers(me, frontier)
        self._random = random.Random(me)
        self._tree = Tree(WHOLE, self._random)
        self._statistics = Statistics()
        self._in_hand: list[
            Taken[Any]
        ] = []  # effects in the frontier, not committed; filled by begin, emptied by commit
        self._early: deque[Taken[Any]] = deque()  # routed under a plan that we do not have yet
        self._new_blocks: list[tuple[int, str, Any]] = []  # in the outbox, not committed
        self._rescan: Iterator[PageRecord] | None = None
        self._rounds_answered = 0
        self._pages = 0
        self._beats = 0
        self._settled_epoch = 0
        self._blocks_received = 0
        self.turns: dict[str, Turn] = {}
        self.received_hosts: list[HostState] = []  # filled by begin; emptied by the gatherer
        self.leaving = ghost
        self.busy = 1.0
        self.figures: Callable[[], dict[str, float]] = dict
        self.is_quiet: Callable[[], bool] = lambda: False

    # -- life ------------------------------------------------------------------------------------------

    async def startup(self, traffic: Traffic) -> None:
        """Go on under the plan that we had (the board may have lost it), with the outbox as it was."""
        self._router.traffic = traffic
        packed = self._frontier.note("plan")
        if packed:
            plan = Plan.decode(packed)
            await self._restore_plan(plan)
            self._router.adopt(plan)
            self._tree = Tree(plan.cuts, self._random)
            self._recount(plan, visit=True)
            self._begin_turns(plan)
        self._hand_overs.restore(self._frontier.note("hand-overs"))
        self._router.awaited = self._hand_overs.awaited
        for number, to, block in self._frontier.exchange.blocks():
            self.observer.send(number, to, codec.decode(block))  # type: ignore[arg-type]
        self.observer.start(self._member)

    async def _restore_plan(self, mine: Plan) -> None:
        from_board = await self.observer.space.read(template(PlanPosted))
        if from_board is None:
            await self.observer.space.out(_posted(mine), given=Absent())
        elif from_board.epoch < mine.epoch:
            await self.observer.space.out(_posted(mine), given=Holds(from_board))

    async def shutdown(self, leaves: bool) -> None:
        """Stop listening; with `leaves`, tell the others that we are gone."""
        await self.observer.close()
        if leaves:
            await self.observer.leave()
        await self.observer.space.close()

    # -- the turn --------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Of the plan that we route by; 0 before the first."""
        return self._router.plan.epoch if self._router.plan else 0

    @property
    def superpages(self) -> int:
        """How many we own."""
        plan = self._router.plan
        if plan is None or self.me not in plan.gatherers:
            return 0
        mine = plan.gatherers.index(self.me)
        return sum(owner == mine for owner in plan.owners)

    def may_fetch(self) -> bool:
        """Whether we may start requests: we are a member, have a plan, and are not on our way out."""
        return not self.leaving and self._router.plan is not None and self.observer.may_fetch()

    def begin(
        self, open_urls: set[str], put_back: Callable[[], None], host_states: Callable[[], list[HostState]]
    ) -> list[Entry]:
        """Take in what the whiteboard brought; returns entries for our frontier."""
        if self.observer.failed is not None:
            raise self.observer.failed
        while self.observer.settled:
            self._frontier.exchange.drop_block(self.observer.settled.popleft())
        new: list[Entry] = []
        posted = self.observer.plan
        if posted is not None and posted.epoch > self.epoch:
            put_back()
            new += self._adopt(Plan.decode(posted.plan), open_urls)
        if self._router.plan is None:
            return new
        arrivals = self._early
        self._early = deque()
        while arrivals or self.observer.arrived:
            taken = arrivals.popleft() if arrivals else self.observer.took()
            new += self._receive(taken)
        self._send(self._hand_overs.progress(self.epoch, open_urls, host_states))
        new += self._look_back()
        if self._hand_overs.is_settled and self._rescan is None:
            self._settled_epoch = self.epoch
        self._answer()
        return new

    def route(self, entries: list[Entry]) -> list[Entry]:
        """Those of the entries that are ours."""
        return self._router.route(entries)

    def queued(self, entries: list[Entry]) -> None:
        """These are new in our frontier."""
        for entry in entries:
            key = sort_key(entry.url)
            self._tree.visit(key)
            self._statistics.found(self._tree.locate(key))

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        """A page of ours is done; its links are about to be admitted."""
        self._pages += 1
        at = self._tree.locate(sort_key(record.url))
        self._statistics.fetched(self.me, at, record.bytes, elapsed_s)
        if record.outlinks:
            self._router.meet(record.outlinks)
            if self._pages % LINKS_EVERY == 0:
                cuts = self._tree.locate
                self._statistics.linked(at, [cuts(sort_key(url)) for url in record.outlinks])

    def before_commit(self) -> None:
        """Put what leaves into the outbox, so that the commit holds it."""
        if self._router.has_waiting:
            self._send(iter(self._router.close_blocks()))
        self._frontier.set_note("hand-overs", self._hand_overs.encode())

    def after_commit(self) -> None:
        """The commit is durable: ship what it holds, ack what it was made of."""
        for number, to, item in self._new_blocks:
            self.observer.send(number, to, item)
        self._new_blocks.clear()
        self._blocks_received += len(self._in_hand)
        self.observer.committed(self._in_hand)
        self._in_hand = []

    @property
    def has_uncommitted(self) -> bool:
        """Whether a commit would let something go out or be acked."""
        return bool(self._in_hand or self._new_blocks or self._router.has_waiting)

    @property
    def is_passive(self) -> bool:
        """Nothing here will act unless a tuple arrives."""
        return (
            self._router.plan is not None
            and not self.has_uncommitted
            and not self._early
            and self._rescan is None
            and self._hand_overs.is_settled
            and self.observer.is_idle
            and not self._frontier.exchange.kept()
            and not self._frontier.exchange.held()
            and self.is_quiet()
        )

    @property
    def may_leave(self) -> bool:
        """Everything that was ours is with others, and they know."""
        return self.leaving and self.is_passive and self.superpages == 0

    async def can_go(self) -> bool:
        """Whether a leaver may end: all others route by a plan without us, and nothing is left in our inbox."""
        space = self.observer.space
        others = [member for member in await space.scan(template(Member)) if member.gatherer != self.me]
        if any(member.epoch < self.epoch for member in others):
            return False
        for kind in (UrlBlock, HandOver):
            if any(flow.sent != flow.committed for flow in (await space.flows(kind, at=self.me)).values()):
                return False
        return True

    async def is_alone(self) -> bool:
        """Whether there is nobody to hand over to."""
        members = await self.observer.space.scan(template(Member))
        return not any(member.gatherer != self.me and member.state == "running" for member in members)

    def tell_robots(self, host: str, origin: str, status: int, body: bytes, now: float) -> None:
        """The robots.txt of a host that others ask too."""
        if host in self.turns:
            self.observer.post(RobotsNote(origin, status, body, now), ROBOTS_TTL_S)

    # -- parts of the turn -----------------------------------------------------------------------------

    def _adopt(self, plan: Plan, open_urls: set[str]) -> list[Entry]:
        old = self._router.plan
        ours = self._router.adopt(plan)
        self._send(self._hand_overs.adopt(old, plan, open_urls))
        self._router.awaited = self._hand_overs.awaited
        for number, block in self.observer.recall(set(plan.gatherers)):
            self._frontier.exchange.drop_block(number)
            if isinstance(block, UrlBlock):
                ours += self._router.redirect(block.links)
        if plan.lost and old is not None:
            for low, high in plan.lost:
                self._frontier.exchange.forget_posts(low, high)
            self._rescan = self._records()
        self._tree = recut(self._tree, plan.cuts, self._random)
        if self.me in plan.gatherers:
            mine = plan.gatherers.index(self.me)
            self._tree.keep({at for at, owner in enumerate(plan.owners) if owner == mine})
        self._statistics = Statistics()
        self._recount(plan)
        self._begin_turns(plan)
        self._frontier.set_note("plan", plan.encode())
        events.info("adopted", gatherer=self.me, epoch=plan.epoch, superpages=self.superpages)
        return self.route(ours)

    def _receive(self, taken: Taken[Any]) -> list[Entry]:
        item = taken.item
        if isinstance(item, (UrlBlock, HandOver)) and item.epoch > self.epoch:
            self._early.append(taken)
            return []
        self._in_hand.append(taken)
        if isinstance(item, Seeds):
            return self.route([Entry(url) for url in item.urls])
        if isinstance(item, UrlBlock):
            self._router.traffic.received_urls += len(item.links)
            return self.route([Entry(link.url, link.parent, link.depth, link.depth) for link in item.links])
        assert isinstance(item, HandOver)
        entries, released, moved = self._hand_overs.receive(item)
        self._router.awaited = self._hand_overs.awaited
        self._router.traffic.moved_urls += moved
        self.received_hosts += item.hosts
        for url, _ in item.seen:
            self._tree.visit(sort_key(url))
        return self._forward(entries) + self.route(released)

    def _forward(self, entries: list[Entry]) -> list[Entry]:
        """Entries that a range brought; if it is no longer ours, they follow it as links."""
        plan = self._router.plan
        assert plan is not None
        mine = [entry for entry in entries if plan.owner_of(sort_key(entry.url)) == self.me]
        return mine + self.route([entry for entry in entries if plan.owner_of(sort_key(entry.url)) != self.me])

    def _look_back(self) -> list[Entry]:
        """After a range was lost: send its new owner the links into it that our pages have."""
        if self._rescan is None:
            return []
        found: list[Entry] = []
        for _ in range(RESCAN_RECORDS):
            record = next(self._rescan, None)
            if record is None:
                self._rescan = None
                break
            if record.gatherer == self.me:
                depth = record.depth + 1
                found += [Entry(url, record.url, depth, depth) for url in record.outlinks]
        return self.route(found)

    def _answer(self) -> None:
        asked = self.observer.announcement
        if asked is None or asked.round <= self._rounds_answered:
            return
        self._rounds_answered = asked.round
        reply = StatisticsPosted(
            self.me,
            asked.round,
            self.epoch,
            treecopy.encode(self._tree),
            self._statistics.encode(),
            self._frontier.queued(),
            self._router.hot_candidates(),
        )
        self.observer.post(reply, STATISTICS_TTL_S)

    def _send(self, items: Iterator[tuple[str, Any]]) -> None:
        for to, item in items:
            packed = codec.encode(item)
            self._router.traffic.exchanged_bytes += len(packed)
            self._new_blocks.append((self._frontier.exchange.add_block(to, packed), to, item))

    def _recount(self, plan: Plan, visit: bool = False) -> None:
        """What of our superpages is seen and queued, after they have changed."""
        for low, high in plan.ranges_of(self.me) if self.me in plan.gatherers else []:
            for key, mark in self._frontier.scan(low, high):
                at = plan.locate(key)
                figures = self._statistics.superpages.setdefault(at, Figures())
                figures.seen += 1
                figures.queued += mark is Mark.QUEUED
                if visit:
                    self._tree.visit(key)

    def _begin_turns(self, plan: Plan) -> None:
        self.turns = {}
        for host in plan.shared_hosts():
            low, high = host + b"\x00/http", host + b"\x000"
            owners = sorted({plan.gatherers[plan.owners[at]] for at in range(plan.locate(low), plan.locate(high) + 1)})
            if self.me in owners:
                self.turns[host_name(host)] = Turn(owners.index(self.me), len(owners))

    def _member(self) -> Member:
        self._beats += 1
        state = "ghost" if self._ghost else "leaving" if self.leaving else "running"
        return Member(
            gatherer=self.me,
            run=self.run,
            epoch=self.epoch,
            settled_epoch=self._settled_epoch if self._hand_overs.is_settled else 0,
            state=state,
            passive=self.is_passive,
            blocks_sent=self.observer.blocks_sent,
            blocks_received=self._blocks_received,
            figures=self.figures() | {"superpages": self.superpages, "outbox": self._frontier.exchange.kept()},
            beat=self._beats,
        )


def _posted(plan: Plan) -> PlanPosted:
    return PlanPosted(plan.epoch, 0, plan.encode())
