"""The team's side of a gatherer: plans are adopted, foreign links leave, blocks and ranges arrive.

The gatherer calls it at three points of its turn:

    begin     take in what the whiteboard brought: a newer plan, blocks, hand-over parts, seeds, an announcement
    route     divide links into ours and others'
    commit    (before and after the frontier's commit) blocks into the outbox; then ship them and ack what came

Invariants
- What we say of ourselves (settled, hot pages) is committed; with the mail's invariants, a crash at any point
  repeats messages and loses none.
- A block that was routed under a newer plan than ours waits until we have that plan; one that is not ours is passed on.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping

import msgspec

from gcs.core.messages.tuples import Account, Announcement, BusyNote, Member, MemberState, PlanPosted, RobotsNote
from gcs.core.messages.tuples import StatisticsReply as StatisticsPosted
from gcs.core.page.values import PageRecord
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.polite.politeness import CLOSED, Everywhere, HostTurn
from gcs.core.report.report import Share
from gcs.core.url.sortkey import host_name
from gcs.events import Events
from gcs.ports.frontier import Entry, Frontier
from gcs.ports.space.clock import lease_time
from gcs.ports.space.port import Space
from gcs.roles.gatherer.membership import GathererPort
from gcs.roles.gatherer.team.block_exchange import BlockExchange
from gcs.roles.gatherer.team.bulletin import BULLETIN_TTL_S, BulletinSource, BulletinWriter
from gcs.roles.gatherer.team.ownership import Ownership
from gcs.roles.gatherer.team.plan_follower import PlanFollower, is_alone, is_forgotten
from gcs.roles.gatherer.team.whiteboard import Whiteboard

events = Events("team")

#: seconds that a posted robots.txt and posted statistics stay on the board
ROBOTS_TTL_S, STATISTICS_TTL_S = 3_600.0, 600.0


class TeamMember:
    """A gatherer's membership in a crawl."""

    def __init__(
        self,
        me: str,
        space: Space,
        settings: TeamSettings,
        frontier: Frontier,
        records: Callable[[], Iterator[PageRecord]],
        ghost: bool = False,
        place: str = "",
        session: int = 1,
    ) -> None:
        """`session` is the one to be crawled: nothing is fetched under a plan of an earlier one."""
        self.me, self._place = me, place
        self._run = f"{random.SystemRandom().getrandbits(48):012x}"
        self._settings, self._frontier, self._ghost = settings, frontier, ghost
        self.observer = Whiteboard(space, me, self._run, settings, lease_time, lambda: self._home.wake())
        self._mail = BlockExchange(frontier.exchange, self.observer)
        self._standing = PlanFollower(me, frontier)
        self._holdings = Ownership(me, frontier, self._mail, settings, records)
        self._herald = BulletinWriter(me)
        self._home: GathererPort
        self._answered: Announcement | None = None
        self._beats = 0
        self._settled_epoch = 0  # as of the last commit
        self._has_left = False
        self._shared: Mapping[str, HostTurn] = {}
        self._is_changing = False  # hosts are closed, because their owners change
        self._session = session
        self.leaving = ghost
        self.connections = 0

    # -- life ------------------------------------------------------------------------------------------

    async def startup(self, home: GathererPort) -> None:
        """Go on under the plan that we had (the board may have lost it), with the outbox as it was."""
        self._home = home
        self._mail.traffic = home.traffic
        if not self._ghost:
            await self._standing.enter(self.observer.space, self._settings.beat_s)
        await self._standing.restore(self.observer.space)
        if self._standing.is_blank:
            events.warning("blank", gatherer=self.me)
        plan = self._standing.plan
        self._holdings.restore(home, plan)
        if plan:
            self._share_hosts(plan, time.time())
        self._note_settled()
        self._mail.restore(plan.gatherers if plan else None)
        self.observer.start(self._member)

    async def shutdown(self, share: Share | None) -> None:
        """Stop listening, account for what we did, and let the others see that we are not there, or left for good."""
        await self.observer.close()
        gone = Member(self.me, self._run, self._place, self.epoch, self.epoch, MemberState.GONE, True)
        account = Account(self.me, msgspec.msgpack.encode(share)) if share else None
        await self.observer.leave(account, gone if self._has_left else None)
        await self.observer.space.close()

    async def relieved(self) -> None:
        """Returns when we want to leave and may: everything is handed over, or there is nobody to hand over to."""
        space = self.observer.space
        while True:
            await asyncio.sleep(self._settings.beat_s)
            if not self.leaving:
                continue
            plan = self._standing.plan
            if self.is_passive and plan is not None and self.me not in plan.gatherers:
                self._has_left = await is_forgotten(space, self.me, self.epoch)
            if self._has_left or await is_alone(space, self.me):
                return

    # -- what we are -----------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Of the plan that we route by; 0 before the first."""
        return self._standing.epoch

    @property
    def superpages(self) -> int:
        """How many we own."""
        return self._standing.superpages

    @property
    def known_plan(self) -> PlanPosted | None:
        """The newest plan that we know of, from the board or from our disk."""
        return self._standing.newest(self.observer.plan)

    def may_fetch(self) -> bool:
        """Whether we may start requests: we are a member, what the frontier holds is ours, and we are to stay."""
        return (
            not self.leaving
            and self._standing.plan is not None
            and self._has_begun
            and not self._holdings.is_leaving
            and self.observer.may_fetch()
        )

    @property
    def _has_begun(self) -> bool:
        """Whether the session that we are to crawl has begun: everybody has taken up what the last one left."""
        plan, posted = self._standing.plan, self.observer.plan
        if plan is None or posted is None or plan.session < self._session:
            return False
        return plan.session == 1 or plan.epoch > self._home.renewal.epoch or posted.committed

    @property
    def has_uncommitted(self) -> bool:
        """Whether a commit would let something go out, be acked or be said."""
        return bool(
            self._mail.has_uncommitted
            or self._holdings.router.has_waiting
            or self._owes_answer
            or (self._holdings.is_settled and self._settled_epoch != self.epoch)
        )

    @property
    def is_changing(self) -> bool:
        """Whether ranges change hands here, as far as the others know, or will when the leader has our figures."""
        return self._settled_epoch != self.epoch or self._owes_answer

    @property
    def is_passive(self) -> bool:
        """Nothing here will act unless a tuple arrives."""
        return (
            self._standing.plan is not None
            and not self.has_uncommitted
            and self._holdings.is_settled
            and not self._holdings.is_beginning
            and self._mail.is_empty
            and not self._frontier.exchange.held()
            and self._home.is_quiet()
        )

    # -- the turn --------------------------------------------------------------------------------------

    def begin(self, now: float) -> list[Entry]:
        """Take in what the whiteboard brought; returns entries for our frontier."""
        if self.observer.failed is not None:
            raise self.observer.failed
        self._mail.drop_settled()
        while self.observer.notes:
            self._home.dispatcher.told(self.observer.notes.popleft(), now)
        posted, new = self.observer.plan, list[Entry]()
        if posted is not None and self._standing.is_news(posted):
            new += self._adopt(posted, now)
        plan = self._standing.plan
        if plan is None:
            return new
        if self._is_committed:
            new += self._holdings.committed()
            if self._is_changing:
                self._share_hosts(plan, now)
        self.observer.take_seeds(self.me in plan.gatherers and not self.leaving and self._has_begun)
        for item in self._mail.returned():
            new += self._holdings.accept_back(item, plan, now)
        for item in self._mail.arrivals(plan.epoch):
            new += self._holdings.accept(item, plan, now)
        return new + self._holdings.step(plan, now)

    def route(self, entries: list[Entry]) -> list[Entry]:
        """Those of the entries that are ours."""
        return self._holdings.router.route(entries)

    def queued(self, entries: list[Entry]) -> None:
        """These are new in our frontier."""
        self._holdings.census.queued(entries)

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        """A page of ours is done; its links are about to be admitted."""
        self._holdings.census.recorded(record, elapsed_s)
        self._herald.recorded(record, elapsed_s)
        self._holdings.router.meet(record.outlinks)

    def tell_robots(self, host: str, origin: str, status: int, body: bytes, now: float) -> None:
        """The robots.txt of a host that others ask too."""
        if host in self._shared:
            self.observer.post(RobotsNote(origin, status, body, now), ROBOTS_TTL_S)

    def tell_busy(self, host: str, until: float, now: float) -> None:
        """A host wants to be left alone, by the others too if they ask it."""
        if host in self._shared and until > now:
            self.observer.post(BusyNote(host, until), until - now)

    def before_commit(self) -> None:
        """Put what leaves into the outbox, so that the commit holds it."""
        self._holdings.before_commit()

    def after_commit(self) -> None:
        """The commit is durable: let the mail go, and say how far we are."""
        self._mail.committed()
        self._note_settled()
        if self._owes_answer:
            self._answer()

    def _adopt(self, posted: PlanPosted, now: float) -> list[Entry]:
        old, plan = self._standing.plan, self._standing.follow(posted)
        ours = self._holdings.adopt(old, plan)
        self._share_hosts(plan, now)
        step = self._holdings.superstep
        events.info(
            "adopted",
            gatherer=self.me,
            epoch=plan.epoch,
            superpages=self.superpages,
            superstep_pages=step.pages,
            block_urls=step.urls,
        )
        return ours

    @property
    def _is_committed(self) -> bool:
        """Whether everybody follows the plan that we follow, and has handed over what it lost with it."""
        posted = self.observer.plan
        return posted is not None and posted.epoch == self.epoch and posted.committed

    def _share_hosts(self, plan: Plan, now: float) -> None:
        """Ask shared hosts in turns; those whose owners change only when everybody does so."""
        turns: Mapping[str, HostTurn]
        self._is_changing = not self._is_committed
        if plan.shares_all_hosts and self.me in plan.gatherers:
            turn = HostTurn(plan.gatherers.index(self.me), len(plan.gatherers))
            turns = Everywhere(CLOSED if self._is_changing else turn)
        else:
            turns = {
                host_name(host): HostTurn(owners.index(self.me), len(owners))
                for host, owners in plan.shared_hosts().items()
                if self.me in owners
            }
            if self._is_changing:
                turns |= {host_name(host): CLOSED for host in plan.changing_hosts()}
        self._shared = turns
        self._home.dispatcher.share_hosts(turns, now)

    # -- what we say -----------------------------------------------------------------------------------

    def _note_settled(self) -> None:
        self._settled_epoch = self.epoch if self._holdings.is_settled else 0

    @property
    def _owes_answer(self) -> bool:
        """Whether the leader asks for figures, and we have them; if we have none, it goes by our heartbeats."""
        asked = self.observer.announcement
        return asked is not None and asked != self._answered and self._holdings.census.is_complete and self.epoch > 0

    def _answer(self) -> None:
        asked = self._answered = self.observer.announcement
        assert asked is not None
        queued, hot = self._frontier.queued(), self._holdings.router.hot_candidates()
        counted = self._holdings.census.encode(self.observer.exchanged)
        reply = StatisticsPosted(self.me, asked.round, self.epoch, *counted, queued, hot)
        self.observer.post(reply, STATISTICS_TTL_S)

    @property
    def _state(self) -> str:
        if self._standing.is_blank:
            return MemberState.BLANK
        if self._ghost:
            return MemberState.GHOST
        return MemberState.LEAVING if self.leaving else MemberState.RUNNING

    def _tell_people(self) -> None:
        work = BulletinSource(
            self.epoch, self._home.share, self._home.explored, self._mail.sent, self._holdings.census.patches
        )
        if bulletin := self._herald.bulletin(time.monotonic(), work):
            self.observer.post(bulletin, BULLETIN_TTL_S)

    def _member(self) -> Member:
        self._beats += 1
        self._tell_people()
        return Member(
            gatherer=self.me,
            run=self._run,
            place=self._place,
            epoch=self.epoch,
            settled_epoch=self._settled_epoch if self._holdings.is_settled else 0,
            state=self._state,
            passive=self.is_passive,
            blocks_sent=self.observer.blocks_sent,
            blocks_received=self._mail.received,
            figures=self._home.figures() | {"superpages": self.superpages, "outbox": self._frontier.exchange.kept()},
            beat=self._beats,
        )
