"""The team's side of a gatherer: plans are adopted, foreign links leave, blocks and ranges arrive.

The gatherer calls it at three points of its turn:

    begin     take in what the whiteboard brought: a newer plan, blocks, hand-over parts, seeds, an announcement
    route     divide links into ours and others'
    commit    (before and after the frontier's commit) blocks into the outbox; then ship them and ack what came

Invariants
- A block or part is acked only after the commit that holds its effect; the outbox row of what we send is in the same
  commit as its cause; what we report of ourselves (settled, hot pages) is committed. So a crash at any point repeats
  messages, and loses none.
- A block that was routed under a newer plan than ours waits until we have that plan; one that is not ours is passed on.
- Blocks are kept only for gatherers of our plan: what is on its way to others is taken back and shared out anew.
"""

import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gcs.core import codec, ranges
from gcs.core.page import PageRecord
from gcs.core.plan import Plan
from gcs.core.politeness import Turn
from gcs.core.sortkey import FIRST_KEY, LAST_KEY, host_name, sort_key
from gcs.core.tally import Traffic
from gcs.core.team import TeamSettings
from gcs.core.template import template
from gcs.core.tuples import Announcement, HandOver, HostState, Member, PlanPosted, RobotsNote, Seeds, UrlBlock
from gcs.core.tuples import Statistics as StatisticsPosted
from gcs.events import Events
from gcs.ports.frontier import Entry, Frontier
from gcs.ports.frontier.key import short
from gcs.ports.space.port import Absent, Holds, Space, Taken
from gcs.roles.gatherer.census import Census
from gcs.roles.gatherer.handover import HandOvers
from gcs.roles.gatherer.lookback import LookBack
from gcs.roles.gatherer.observer import Observer
from gcs.roles.gatherer.router import Router

events = Events("team")

#: foreign URLs met lately that are kept in memory
RECENT_URLS = 60_000
#: seconds that a posted robots.txt and posted statistics stay on the board
ROBOTS_TTL_S, STATISTICS_TTL_S = 3_600.0, 600.0
#: parts of ranges that we lose which may be on their way at once: they are in memory
MOST_PARTS = 50


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
        self._frontier = frontier
        self._ghost = ghost
        self.observer = Observer(space, me, self.run, settings, time.monotonic, lambda: self.wake())
        self.wake: Callable[[], None] = lambda: None
        self._router = Router(me, frontier.exchange, settings.block_urls, RECENT_URLS)
        self._hand_overs = HandOvers(me, frontier)
        self._census = Census(me, frontier, random.Random(me))
        self.look_back = LookBack(me, frontier, records)
        self._plan_posted = b""
        #: effects in the frontier, not committed; filled by begin, emptied by commit
        self._in_hand: list[Taken[Any]] = []
        self._early: deque[Taken[Any]] = deque()  # routed under a plan that we do not have yet
        self._returned: list[Any] = []  # blocks of ours whose destination is gone; filled by startup, emptied by begin
        self._new_blocks: list[tuple[int, str, Any]] = []  # in the outbox, not committed
        self._answered: Announcement | None = None
        self._beats = 0
        self._settled_epoch = 0  # as of the last commit
        self._blocks_received = 0
        self._has_left = False
        self._is_blank = False
        self.turns: dict[str, Turn] = {}
        self.received_hosts: list[HostState] = []  # filled by begin; emptied by the gatherer
        self.leaving = ghost
        self.figures: Callable[[], dict[str, float]] = dict
        self.is_quiet: Callable[[], bool] = lambda: False

    # -- life ------------------------------------------------------------------------------------------

    async def startup(self, traffic: Traffic) -> None:
        """Go on under the plan that we had (the board may have lost it), with the outbox as it was."""
        self._router.traffic = traffic
        packed = self._frontier.note("plan")
        plan = Plan.decode(packed) if packed else None
        if not packed:
            self._is_blank = self._misses(await self.observer.space.read(template(PlanPosted)))
            if self._is_blank:
                events.warning("blank", gatherer=self.me)
        if packed and plan:
            await self._restore_plan(PlanPosted(plan.epoch, 0, packed))
            self._plan_posted = packed
            self._router.adopt(plan)
            self._census.resume(plan)
            self._begin_turns(plan)
        self._hand_overs.restore(self._frontier.note("hand-overs"))
        self._router.awaited = self._hand_overs.awaited
        self._note_settled()
        for number, to, block in list(self._frontier.exchange.blocks()):
            if plan is None or to in plan.gatherers:
                self.observer.send(number, to, codec.decode(block))  # type: ignore[arg-type]
            else:
                self._frontier.exchange.drop_block(number)
                self._returned.append(codec.decode(block))
        self.observer.start(self._member)

    async def _restore_plan(self, mine: PlanPosted) -> None:
        from_board = await self.observer.space.read(template(PlanPosted))
        if from_board is None:
            await self.observer.space.out(mine, given=Absent())
        elif from_board.epoch < mine.epoch:
            await self.observer.space.out(mine, given=Holds(from_board))

    async def shutdown(self) -> None:
        """Stop listening, and let the others see that we are not there; or that we have left for good."""
        await self.observer.close()
        gone = Member(self.me, self.run, "", self.epoch, self.epoch, "gone", True)
        await self.observer.leave(gone if self._has_left else None)
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

    @property
    def known_plan(self) -> PlanPosted | None:
        """The newest plan that we know of, from the board or from our disk."""
        posted = self.observer.plan
        if posted is not None and posted.epoch >= self.epoch:
            return posted
        return PlanPosted(self.epoch, 0, self._plan_posted) if self._plan_posted else None

    def may_fetch(self) -> bool:
        """Whether we may start requests: we are a member, what the frontier holds is ours, and we are to stay."""
        return (
            not self.leaving
            and self._router.plan is not None
            and not self._hand_overs.is_leaving
            and self.observer.may_fetch()
        )

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
        if posted is not None and self._is_news(posted):
            put_back()
            new += self._adopt(posted)
        plan = self._router.plan
        if plan is None:
            return new
        self.observer.take_seeds(self.me in plan.gatherers and not self.leaving)
        returned, self._returned = self._returned, []
        for block in returned:
            if isinstance(block, UrlBlock):
                new += self._router.route(self._router.redirect(block.links))
            else:
                new += self._accept(block, plan, open_urls, put_back)
        arrivals, self._early = self._early, deque()
        while arrivals or self.observer.arrived:
            taken = arrivals.popleft() if arrivals else self.observer.took()
            if isinstance(taken.item, UrlBlock | HandOver) and taken.item.epoch > plan.epoch:
                self._early.append(taken)
            else:
                self._in_hand.append(taken)
                new += self._accept(taken.item, plan, open_urls, put_back)
        self._hand_over(plan, open_urls, put_back, host_states)
        released = self._hand_overs.released()
        new += self._router.forward(released)
        links, marks = self.look_back.step(plan.gatherers)
        if marks:
            seen = [(key, mark.value.decode()) for key, mark in marks]
            found = HandOver(plan.epoch, FIRST_KEY, LAST_KEY, False, [], seen)
            new += self._accept(found, plan, open_urls, put_back)
        new += self._router.route(links)
        if self._census.step() or released or not self.look_back.is_done:
            self.wake()
        return new

    def route(self, entries: list[Entry]) -> list[Entry]:
        """Those of the entries that are ours."""
        return self._router.route(entries)

    def queued(self, entries: list[Entry]) -> None:
        """These are new in our frontier."""
        self._census.queued(entries)

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        """A page of ours is done; its links are about to be admitted."""
        self._census.recorded(record, elapsed_s)
        if record.outlinks:
            self._router.meet(record.outlinks)

    def before_commit(self) -> None:
        """Put what leaves into the outbox, so that the commit holds it."""
        if self._router.has_waiting:
            self._send(self._router.close_blocks())
        self._frontier.set_note("hand-overs", self._hand_overs.encode())

    def after_commit(self) -> None:
        """The commit is durable: ship what it holds, ack what it was made of, say how far we are."""
        for number, to, item in self._new_blocks:
            self.observer.send(number, to, item)
        self._new_blocks.clear()
        self._blocks_received += len(self._in_hand)
        self.observer.committed(self._in_hand)
        self._in_hand = []
        self._note_settled()
        if self._owes_answer:
            self._answer()

    @property
    def has_uncommitted(self) -> bool:
        """Whether a commit would let something go out, be acked or be said."""
        return bool(
            self._in_hand
            or self._new_blocks
            or self._router.has_waiting
            or self._owes_answer
            or (self._is_settled and self._settled_epoch != self.epoch)
        )

    @property
    def is_passive(self) -> bool:
        """Nothing here will act unless a tuple arrives."""
        return (
            self._router.plan is not None
            and not self.has_uncommitted
            and not self._early
            and not self._returned
            and self._is_settled
            and self.observer.is_idle
            and not self._frontier.exchange.kept()
            and not self._frontier.exchange.held()
            and self.is_quiet()
        )

    # -- leaving ---------------------------------------------------------------------------------------

    async def may_end(self) -> bool:
        """Whether a leaver may end: everything is handed over, or there is nobody to hand over to."""
        self._has_left = self._is_relieved and await self._is_forgotten()
        return self._has_left or await self._is_alone()

    @property
    def _is_relieved(self) -> bool:
        """Everything that was ours is with others, and they know."""
        plan = self._router.plan
        return self.leaving and self.is_passive and plan is not None and self.me not in plan.gatherers

    async def _is_forgotten(self) -> bool:
        """Whether all others route by a plan without us, and nothing is left in our inbox."""
        space = self.observer.space
        others = [member for member in await space.scan(template(Member)) if member.gatherer != self.me]
        if any(member.epoch < self.epoch and member.state != "gone" for member in others):
            return False
        for kind in (UrlBlock, HandOver):
            if any(flow.sent != flow.committed for flow in (await space.flows(kind, at=self.me)).values()):
                return False
        return True

    async def _is_alone(self) -> bool:
        members = await self.observer.space.scan(template(Member))
        return not any(member.gatherer != self.me and member.state == "running" for member in members)

    def tell_robots(self, host: str, origin: str, status: int, body: bytes, now: float) -> None:
        """The robots.txt of a host that others ask too."""
        if host in self.turns:
            self.observer.post(RobotsNote(origin, status, body, now), ROBOTS_TTL_S)

    # -- parts of the turn -----------------------------------------------------------------------------

    def _is_news(self, posted: PlanPosted) -> bool:
        """Whether to go over to this plan. Two of one epoch: the whiteboard forgot ours before another saw it."""
        if self._is_blank and self._misses(posted):
            return False  # the leader has to see first that we do not have what is ours
        return posted.epoch > self.epoch or (posted.epoch == self.epoch and posted.plan != self._plan_posted)

    def _misses(self, posted: PlanPosted | None) -> bool:
        """Whether a plan counts on what was on our disk, of which we know nothing."""
        if posted is None:
            return False
        plan = Plan.decode(posted.plan)
        due = [] if posted.committed else [(move.low, move.high) for move in plan.moves if move.winner == self.me]
        begun = () if posted.committed else plan.lost
        return bool(ranges.subtract(plan.ranges_of(self.me), ranges.unite((*due, *begun))))

    def _adopt(self, posted: PlanPosted) -> list[Entry]:
        old, plan = self._router.plan, Plan.decode(posted.plan)
        ours = self._router.adopt(plan)
        self._hand_overs.adopt(old, plan)
        self._router.awaited = self._hand_overs.awaited
        for number, block in self.observer.recall(set(plan.gatherers)):
            self._frontier.exchange.drop_block(number)
            self._returned.append(block)
        if old is not None:
            self._note_losses(old, plan)
        self._census.adopt(plan)
        self._begin_turns(plan)
        self._plan_posted, self._is_blank = posted.plan, False
        self._frontier.set_note("plan", posted.plan)
        events.info("adopted", gatherer=self.me, epoch=plan.epoch, superpages=self.superpages)
        return self.route(ours)

    def _note_losses(self, old: Plan, plan: Plan) -> None:
        """What owners were told that are gone with their disks is to be told again."""
        lost = plan.lost
        if self.me in old.gatherers and self.me not in (*plan.gatherers, *plan.leavers):
            lost = ((FIRST_KEY, LAST_KEY),)  # we were given up: who knows what else was, meanwhile
        for low, high in lost if self.me in old.gatherers else ((FIRST_KEY, LAST_KEY),):
            self._frontier.exchange.forget_posts(low, high)
        if lost:
            self.look_back.begin(lost)

    def _accept(self, item: Any, plan: Plan, open_urls: Iterable[str], put_back: Callable[[], None]) -> list[Entry]:
        """What a tuple brings for our frontier; the rest of it is sent on."""
        if isinstance(item, Seeds):
            return self._router.forward([Entry(url) for url in item.urls])
        if isinstance(item, UrlBlock):
            self._router.traffic.received_urls += len(item.links)
            return self._router.forward([Entry(link.url, link.parent, link.depth, link.depth) for link in item.links])
        assert isinstance(item, HandOver)
        got = self._hand_overs.receive(item, plan)
        self._router.awaited = self._hand_overs.awaited
        self._router.traffic.moved_urls += got.moved
        self.received_hosts += item.hosts
        self._census.received([key for key, _ in item.seen])
        self._send(got.onward)
        if got.dealt_with:
            put_back()
            flying = {short(sort_key(url)) for url in open_urls}
            for key, mark in got.dealt_with.items():
                if key not in flying:
                    self._frontier.moving.give_up(key, mark)
        return got.entries

    def _hand_over(
        self,
        plan: Plan,
        open_urls: Iterable[str],
        put_back: Callable[[], None],
        host_states: Callable[[], list[HostState]],
    ) -> None:
        was_leaving = self._hand_overs.is_leaving
        waiting = self.observer.kept(HandOver) + sum(type(item) is HandOver for _, _, item in self._new_blocks)
        self._send(self._hand_overs.progress(plan.epoch, MOST_PARTS - waiting, open_urls, host_states))
        if self._hand_overs.is_leaving and waiting < MOST_PARTS:
            self.wake()
        elif was_leaving and not self._hand_overs.is_leaving:
            put_back()  # the window was filled while some of the frontier was no longer ours

    @property
    def _is_settled(self) -> bool:
        return self._hand_overs.is_settled and self.look_back.is_done

    def _note_settled(self) -> None:
        self._settled_epoch = self.epoch if self._is_settled else 0

    @property
    def _owes_answer(self) -> bool:
        """Whether the leader asks for figures, and we have them; if we have none, it goes by our heartbeats."""
        asked = self.observer.announcement
        return asked is not None and asked != self._answered and self._census.is_complete and self.epoch > 0

    def _answer(self) -> None:
        asked = self._answered = self.observer.announcement
        assert asked is not None
        queued, hot = self._frontier.queued(), self._router.hot_candidates()
        reply = StatisticsPosted(self.me, asked.round, self.epoch, *self._census.encode(), queued, hot)
        self.observer.post(reply, STATISTICS_TTL_S)

    def _send(self, items: Iterable[tuple[str, Any]]) -> None:
        for to, item in items:
            packed = codec.encode(item)
            self._router.traffic.exchanged_bytes += len(packed)
            self._new_blocks.append((self._frontier.exchange.add_block(to, packed), to, item))

    def _begin_turns(self, plan: Plan) -> None:
        self.turns = {}
        for host in plan.shared_hosts():
            low, high = host + b"\x00/http", host + b"\x000"
            owners = sorted({plan.gatherers[plan.owners[at]] for at in range(plan.locate(low), plan.locate(high) + 1)})
            if self.me in owners:
                self.turns[host_name(host)] = Turn(owners.index(self.me), len(owners))

    @property
    def _state(self) -> str:
        if self._is_blank:
            return "blank"
        return "ghost" if self._ghost else "leaving" if self.leaving else "running"

    def _member(self) -> Member:
        self._beats += 1
        return Member(
            gatherer=self.me,
            run=self.run,
            epoch=self.epoch,
            settled_epoch=self._settled_epoch if self._is_settled else 0,
            state=self._state,
            passive=self.is_passive,
            blocks_sent=self.observer.blocks_sent,
            blocks_received=self._blocks_received,
            figures=self.figures() | {"superpages": self.superpages, "outbox": self._frontier.exchange.kept()},
            beat=self._beats,
        )
