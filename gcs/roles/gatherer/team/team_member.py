"""A gatherer as a member of a team: it adopts plans, sends foreign links, takes in blocks and ranges.

The gatherer calls its member at three points of a turn:

    begin     take in new tuples of the whiteboard: a newer plan, blocks, hand-over parts, seeds, an announcement
    route     divide links into own and foreign ones
    commit    (before and after the frontier's commit) blocks into the outbox; then ship them and ack what came

Invariants
- What the member tells of itself (settled, hot pages) is committed; with the invariants of the block exchange, a crash
  at any point repeats messages and loses none.
- A block that was routed under a newer plan waits until this gatherer has that plan; a foreign one is sent on.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping

import msgspec

from gcs.core.messages.barrier import Barrier, Phase, SuperstepState
from gcs.core.messages.tuples import (
    Account,
    Announcement,
    BusyNote,
    Member,
    MemberState,
    PlanPosted,
    RobotsNote,
    StatisticsReply,
)
from gcs.core.page.values import PageRecord
from gcs.core.plan.plan import Plan
from gcs.core.polite.politeness import ROBOTS_NOTE_S, Everywhere, Sharing
from gcs.core.report.report import Share
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import host_name
from gcs.events import Events
from gcs.ports.system.tasks import BackgroundTasks
from gcs.roles.gatherer.membership import GathererPort, MemberContext
from gcs.roles.gatherer.team.baton_keeper import BatonKeeper
from gcs.roles.gatherer.team.block_exchange import BlockExchange
from gcs.roles.gatherer.team.bulletin import BULLETIN_TTL_S, BulletinSource, BulletinWriter
from gcs.roles.gatherer.team.ownership import Ownership
from gcs.roles.gatherer.team.page_share import PageShare
from gcs.roles.gatherer.team.plan_follower import PlanFollower, is_alone, is_forgotten
from gcs.roles.gatherer.team.prober import Prober
from gcs.roles.gatherer.team.whiteboard import Whiteboard

events = Events("team")

#: seconds without anything to fetch after which pages that may be stored are given back
GIVE_BACK_S = 1.0
#: seconds that posted statistics, and how far a gatherer is, stay on the board
STATISTICS_TTL_S = SUPERSTEP_TTL_S = 600.0
#: R, where a team with a barrier is not told
BARRIER_PAGES = 1_000


class TeamMember:
    """A gatherer's membership in a team. `Membership` describes the methods."""

    def __init__(
        self, context: MemberContext, port: GathererPort, records: Callable[[], Iterator[PageRecord]], ghost: bool
    ) -> None:
        """`ghost`: hands over what a dead gatherer of this name left on its disk, and fetches nothing."""
        self.me, self._context, self._port, self._ghost = context.name, context, port, ghost
        self._frontier = context.frontier
        self._tasks = BackgroundTasks(port.request_turn)
        self.whiteboard = Whiteboard(context, self._next_heartbeat, self._tasks)
        self._batons = BatonKeeper(context, port, self._tasks)
        self._exchange = BlockExchange(context, port.traffic, self.whiteboard, self._tasks)
        self._follower = PlanFollower(self.me, self._frontier)
        self._ownership = Ownership(context, port, self._exchange, records)
        self._bulletins = BulletinWriter(self.me)
        self._prober = Prober(context.round_trip, context.settings.probes, time.monotonic)
        team, times = context.settings, port.phases
        pages = team.superstep_pages or BARRIER_PAGES
        self._barrier = Barrier(context.name, pages, team.block_s, times) if team.barrier else None
        self._answered: Announcement | None = None
        self._pages = PageShare(self._frontier, context.max_pages)
        self._quiet_since = port.clock()
        self._hungry_at: int | None = None  # the cap at which the team was told that more pages are wanted
        self._beats = 0
        self._settled_epoch = 0  # as of the last commit
        self._has_left = False
        self._was_passive = False  # as of the last heartbeat
        self._shared: Mapping[str, Sharing] = {}
        self._is_changing = False  # hosts are closed, because their owners change
        self._leaving = ghost
        self.connections = 0

    # -- life ------------------------------------------------------------------------------------------

    async def startup(self) -> None:
        """Continue under the plan on disk (the board may have lost it), with the outbox as it was."""
        if not self._ghost:
            await self._follower.enter(self._context.space, self._context.settings.beat_s)
        await self._follower.restore(self._context.space)
        if self._follower.is_blank:
            events.warning("blank", gatherer=self.me)
        plan = self._follower.plan
        self._ownership.restore(plan)
        if plan:
            self._share_hosts(plan, self._port.clock())
        self._note_settled()
        self._exchange.restore(plan.gatherers if plan else None)
        self.whiteboard.start()
        self._exchange.start()
        if not self._ghost:
            self._tasks.start(self._prober.run(lambda: self.whiteboard.probes))

    async def shutdown(self, share: Share | None) -> None:
        """Stop listening, and post the gatherer's account, and that it has left for good if it has."""
        context = self._context
        await self._tasks.close()
        await self._exchange.close()
        gone = Member(self.me, context.run, context.place, self.epoch, self.epoch, MemberState.GONE, True)
        account = Account(self.me, msgspec.msgpack.encode(share)) if share else None
        await self.whiteboard.leave(account, gone if self._has_left else None)
        await context.space.close()

    def leave(self) -> None:
        self._leaving = True

    async def relieved(self) -> None:
        """Returns when the gatherer wants to leave and everything is handed over, or nobody is there to take it.

        Or if the gatherer waits in vain for others, because it cannot read what they write: a newer one can.
        """
        space, settings, waits_since = self._context.space, self._context.settings, time.monotonic()
        while True:
            await asyncio.sleep(settings.beat_s)
            if not (self._leaving and self._exchange.unread and self._waits):
                waits_since = time.monotonic()
            elif time.monotonic() - waits_since > settings.recover_s:
                events.warning("left-unread", gatherer=self.me, tuples=self._exchange.unread)
                return
            if not self._leaving:
                continue
            plan = self._follower.plan
            if self.is_passive and plan is not None and self.me not in plan.gatherers:
                is_noted = self._pages.is_noted(self.whiteboard.allowance)
                self._has_left = is_noted and await is_forgotten(space, self.me, self.epoch)
            if self._has_left or await is_alone(space, self.me):
                return

    # -- state -----------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self._follower.epoch

    @property
    def rebalances(self) -> int:
        return self._follower.rebalances

    @property
    def superpages(self) -> int:
        return self._follower.superpages

    @property
    def moving(self) -> tuple[int, int]:
        return self._exchange.moving

    @property
    def known_plan(self) -> PlanPosted | None:
        return self._follower.newest(self.whiteboard.plan)

    def may_fetch(self) -> bool:
        """Whether requests may be started: under a plan, with only own URLs in the frontier, and not while leaving."""
        return (
            not self._leaving
            and self._follower.plan is not None
            and self._has_begun
            and not self._ownership.hand_overs.has_foreign_urls
            and self.whiteboard.may_fetch()
        )

    @property
    def _has_begun(self) -> bool:
        """Whether the session to be crawled has begun: all gatherers have queued the URLs of the last one."""
        plan, posted = self._follower.plan, self.whiteboard.plan
        if plan is None or posted is None or plan.session < self._context.session:
            return False
        return plan.session == 1 or plan.epoch > self._port.recrawl.epoch or posted.committed

    @property
    def has_uncommitted(self) -> bool:
        return bool(
            self._exchange.has_uncommitted
            or self._ownership.router.has_waiting
            or self._owes_statistics
            or not self._pages.is_committed
            or (self._ownership.is_settled and self._settled_epoch != self.epoch)
        )

    @property
    def is_changing(self) -> bool:
        """Whether ranges move here, as far as the others know, or will when the leader has this gatherer's figures.

        Or whether the others wait for this gatherer at the end of a superstep.
        """
        is_stopped = self._barrier is not None and self._barrier.phase is not Phase.COMPUTE
        return self._settled_epoch != self.epoch or self._owes_statistics or is_stopped

    def room(self, under_way: int) -> float:
        return self._barrier.room(under_way) if self._barrier else math.inf

    @property
    def is_passive(self) -> bool:
        """Whether nothing will happen here before a tuple arrives."""
        return (
            self._follower.plan is not None
            and not self.has_uncommitted
            and self._ownership.is_settled
            and not self._ownership.is_beginning
            and self._exchange.is_empty
            and not self._frontier.team_tables.held()
            and not self._frontier.team_tables.has_aside
            and self._port.is_quiet()
        )

    @property
    def _waits(self) -> bool:
        """Whether nothing will happen here before others act: take what was sent, send what was promised, or plan."""
        is_quiet = not self._port.dispatcher.open if self._leaving else self._port.is_quiet()
        return is_quiet and not self.has_uncommitted and not self._ownership.is_at_work

    # -- the turn --------------------------------------------------------------------------------------

    def begin(self, now: float) -> list[QueuedUrl]:
        self._tasks.check()
        self._exchange.drop_settled()
        while self.whiteboard.notes:
            self._port.dispatcher.take_note(self.whiteboard.notes.popleft(), now)
        self._batons.begin(now)
        posted, new = self.whiteboard.plan, list[QueuedUrl]()
        if posted is not None and self._follower.is_news(posted):
            new += self._adopt(posted, now)
        plan = self._follower.plan
        if plan is None:
            return new
        self._pages.take(self.whiteboard.allowance, plan.session)
        if self._is_committed:
            new += self._ownership.committed()
            if self._is_changing:
                self._share_hosts(plan, now)
        self._exchange.take_seeds(self.me in plan.gatherers and not self._leaving and self._has_begun)
        for returned in self._exchange.returned():
            new += self._ownership.accept_back(returned, plan, now)
        for item in self._exchange.arrivals(plan.epoch):
            new += self._ownership.accept(item, plan, now)
        new += self._ownership.step(plan, now)
        leaves = self._leaving or self.me not in plan.gatherers
        return new or self._ownership.abroad(plan, leaves=leaves)

    def _step(self, barrier: Barrier, plan: Plan) -> None:
        """Go on with the superstep; what has arrived by now is taken in."""
        before = barrier.phase
        while self.whiteboard.supersteps:
            barrier.heard(self.whiteboard.supersteps.popleft())
        router, exchange = self._ownership.router, self._exchange
        state = SuperstepState(
            gatherers=plan.gatherers,
            is_quiet=self._leaving or self._port.is_quiet(),
            is_full=router.is_full,
            is_sent=not router.has_waiting and exchange.is_sent,
            is_committed=not router.has_waiting and exchange.is_received,
        )
        if note := barrier.turn(time.monotonic(), state):
            self.whiteboard.post(note, SUPERSTEP_TTL_S)
        if barrier.phase is not before:
            self._port.request_turn()

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        if self._barrier:
            self._barrier.fetched()
        self._ownership.stats.recorded(record, elapsed_s)
        self._bulletins.recorded(record, elapsed_s)
        self._ownership.router.count_links(record.outlinks)

    def route(self, entries: list[QueuedUrl]) -> list[QueuedUrl]:
        return self._ownership.router.route(entries)

    def queued(self, entries: list[QueuedUrl]) -> None:
        self._ownership.stats.queued(entries)

    def tell_robots(self, host: str, origin: str, status: int, body: bytes) -> None:
        """Post the robots.txt of a host if other gatherers ask it too."""
        if host in self._shared:
            self.whiteboard.post(RobotsNote(origin, status, body), ROBOTS_NOTE_S)

    def tell_busy(self, host: str, wait_s: float) -> None:
        """Post that a host is overloaded if other gatherers ask it too."""
        if host in self._shared and wait_s > 0:
            self.whiteboard.post(BusyNote(host, wait_s), wait_s)

    @property
    def page_cap(self) -> int | None:
        return self._pages.cap

    def turn_ended(self, pages: int, asked: int) -> None:
        self._use_share(pages, asked)
        self._batons.turn_ended(self._port.clock())
        if self._barrier and (plan := self._follower.plan):
            self._step(self._barrier, plan)
        if not self._was_passive and self.is_passive:
            self.whiteboard.beat_soon()

    def _use_share(self, pages: int, asked: int) -> None:
        """Give back what cannot be used here; tell when more is wanted."""
        now, cap = self._port.clock(), self._pages.cap
        if cap is None:
            return
        waits = self._barrier is not None and self._barrier.phase is not Phase.COMPUTE
        if not (waits or self._port.is_quiet()):
            self._quiet_since = now
        if self._leaving or now - self._quiet_since >= GIVE_BACK_S:
            self._pages.give_back(pages + asked)
        elif pages + asked >= cap != self._hungry_at and self._frontier.queued():
            self._hungry_at = cap
            self.whiteboard.beat_soon()

    def before_commit(self) -> None:
        self._pages.before_commit()
        self._ownership.before_commit(self._barrier.phase is not Phase.COMPUTE if self._barrier else None)

    def after_commit(self) -> None:
        self._pages.after_commit()
        self._exchange.committed()
        settled = self._settled_epoch
        self._note_settled()
        if self._settled_epoch != settled:  # the leader waits for it
            self.whiteboard.beat_soon()
        if self._owes_statistics:
            self._post_statistics()

    def _adopt(self, posted: PlanPosted, now: float) -> list[QueuedUrl]:
        old, plan = self._follower.plan, self._follower.follow(posted)
        new = self._ownership.adopt(old, plan)
        self._share_hosts(plan, now)
        step = self._ownership.superstep
        events.info(
            "adopted",
            gatherer=self.me,
            epoch=plan.epoch,
            superpages=self.superpages,
            superstep_pages=step.pages,
            block_urls=step.urls,
        )
        return new

    @property
    def _is_committed(self) -> bool:
        """Whether all gatherers follow the same plan as this one, and all hand-overs are finished."""
        posted = self.whiteboard.plan
        return posted is not None and posted.epoch == self.epoch and posted.committed

    def _share_hosts(self, plan: Plan, now: float) -> None:
        """Ask shared hosts with their batons; hosts whose owners change are closed until all follow the plan."""
        sharing: Mapping[str, Sharing]
        self._is_changing = not self._is_committed
        if plan.shares_all_hosts and self.me in plan.gatherers:
            is_shared = len(plan.gatherers) > 1
            sharing = Everywhere(
                Sharing.CLOSED if self._is_changing else Sharing.SHARED if is_shared else Sharing.ALONE
            )
        else:
            shared = {host for host, owners in plan.shared_hosts().items() if self.me in owners}
            changing = plan.changing_hosts() if self._is_changing else set()
            sharing = {host_name(host): Sharing.SHARED for host in shared}
            sharing |= {host_name(host): Sharing.CLOSED for host in changing}
            is_shared = bool(sharing)
        if is_shared:
            self._batons.start()
        self._shared = sharing
        self._port.dispatcher.share_hosts(sharing, now)

    # -- reports ---------------------------------------------------------------------------------------

    def _note_settled(self) -> None:
        self._settled_epoch = self.epoch if self._ownership.is_settled else 0

    @property
    def _owes_statistics(self) -> bool:
        """Whether the leader asks for figures, and they are counted; without them the leader goes by the heartbeats."""
        asked = self.whiteboard.announcement
        return asked is not None and asked != self._answered and self._ownership.stats.is_complete and self.epoch > 0

    def _post_statistics(self) -> None:
        asked = self._answered = self.whiteboard.announcement
        assert asked is not None
        queued, hot = self._frontier.queued(), self._ownership.router.hot_candidates()
        counted = self._ownership.stats.encode(self._exchange.shipped, self._prober.access())
        delay_s, delays = self._port.dispatcher.delays()
        reply = StatisticsReply(
            *(self.me, asked.round, self.epoch, *counted, queued, hot), delay_s=delay_s, delays=delays
        )
        self.whiteboard.post(reply, STATISTICS_TTL_S)

    @property
    def _state(self) -> str:
        if self._follower.is_blank:
            return MemberState.BLANK
        if self._ghost:
            return MemberState.GHOST
        return MemberState.LEAVING if self._leaving else MemberState.RUNNING

    def _post_bulletin(self) -> None:
        work = BulletinSource(
            *(self.epoch, self._port.share, self._exchange.urls_sent, self._ownership.stats.patches),
            hosts=lambda: self._port.dispatcher.backlog.paces(self._port.clock()),
        )
        if bulletin := self._bulletins.bulletin(time.monotonic(), work):
            self.whiteboard.post(bulletin, BULLETIN_TTL_S)

    def _figures(self) -> dict[str, float]:
        return {
            "superpages": self.superpages,
            "outbox": self._frontier.team_tables.kept(),
            "waits": float(self._waits),
            "unread": self._exchange.unread,
            "round_trip_s": self.whiteboard.round_trip_s,
            "skew_s": round(self.whiteboard.skew_s, 2),
        } | self._pages.figures()

    def _next_heartbeat(self) -> Member:
        """Count the beat and make its heartbeat; a bulletin is posted along with it, when one is due."""
        self._beats += 1
        self._was_passive = self.is_passive
        self._post_bulletin()
        share = self._port.share()
        return Member(
            gatherer=self.me,
            run=self._context.run,
            place=self._context.place,
            epoch=self.epoch,
            settled_epoch=self._settled_epoch if self._ownership.is_settled else 0,
            state=self._state,
            passive=self._was_passive,
            blocks_sent=self._exchange.sent,
            blocks_received=self._exchange.received,
            figures=self._port.figures(share) | self._figures(),
            beat=self._beats,
            work=share.work,
        )
