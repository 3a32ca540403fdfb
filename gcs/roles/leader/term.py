"""One term of a leader: what it reads, and in which order it decides.

    no charter              →  put back what is known of the crawl
    stopping, done          →  nothing
    no plan                 →  put back the one that is known, or publish the first
    somebody is missing     →  a ghost, or a plan without it (`liveness`)
    not all have settled    →  wait; then commit the plan
    all passive, twice      →  the crawl is done
    otherwise               →  rebalance, if there is a reason (`rebalance_rounds`)

Invariant: a plan is published only if the one before is committed (or as a recovery), so hand-overs never pile up.
A term must not keep anything that the next leader would need: that is on the board.
"""

import msgspec

from gcs.core.messages import termination
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, LeaderLease, MemberState, Seeds
from gcs.core.plan.next_plan import first_plan, renewed
from gcs.core.plan.plan import Plan
from gcs.events import Events
from gcs.ports.space.crawl_control import put_back
from gcs.ports.space.port import SEEDS_INBOX
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.fenced_board import BoardView, FencedBoard
from gcs.roles.leader.liveness import Liveness
from gcs.roles.leader.rebalance_rounds import RebalanceRounds

#: seconds that the first plan waits for the members that are expected
FIRST_WAIT_S = 3.0

events = Events("leader")


class Term:
    """The decisions of the elected leader, for as long as its lease holds."""

    def __init__(self, board: FencedBoard, config: LeaderConfig) -> None:
        self._board, self._config = board, config
        self._liveness = Liveness(board, config.settings, config.ghost)
        self._rounds = RebalanceRounds(board, config)
        #: the team as it was at the last step, if it was passive: a second, equal snapshot ends the crawl
        self._snapshot: termination.TeamSnapshot | None = None
        self._waits_since: float | None = None

    @property
    def leader(self) -> LeaderLease:
        """The lease under which this term posts."""
        return self._board.leader

    async def step(self) -> None:
        """Read the board, and do the next thing; DeposedError if another one leads, or nobody."""
        if (crawl := self._config.known_crawl()) and await put_back(self._board.space, *crawl):
            events.warning("charter-restored")
        view = await self._board.view()
        if view.state in (CrawlState.STOPPING, CrawlState.DONE) or not await self._ensure_plan(view):
            self._snapshot = None
            return
        assert view.posted is not None
        if self._is_session_new(view):
            await self._publish_first(view)
        elif await self._liveness.step(view):
            self._interrupt_round()
        elif not view.posted.committed:
            await self._commit_if_settled(view)
            self._interrupt_round()
        elif not await self._end_if_over(view):
            await self._rounds.step(view)

    def _interrupt_round(self) -> None:
        self._snapshot = None
        self._rounds.abandon()

    async def _ensure_plan(self, view: BoardView) -> bool:
        """True if the newest plan is on the board. If not: put it back, wait for it, or publish the first one."""
        newer = self._board.known.newer_than(view.posted)
        if newer is not None:
            await self._board.restore(newer)
            events.warning("restored", epoch=newer.epoch)
        elif any(member.epoch > view.epoch for member in view.members.values()):
            pass  # the whiteboard has forgotten a plan that this process never saw; a member that has it puts it back
        elif view.plan is None:
            await self._publish_first(view)
        else:
            return True
        return False

    async def _publish_first(self, view: BoardView) -> None:
        """Publish the first plan when the expected members are there, or have not come for a while."""
        active = view.active
        if not active:
            return
        if self._waits_since is None:
            self._waits_since = view.now
        if len(active) < self._config.expected and view.now - self._waits_since < FIRST_WAIT_S:
            return
        plan = await self._board.publish(self._first_plan(view), view, "first")
        self._waits_since = None
        events.info("planned", epoch=plan.epoch, superpages=len(plan.cuts), moved=0, reason=f"session {plan.session}")

    def _is_session_new(self, view: BoardView) -> bool:
        """Whether the plan on the board is that of an earlier session, and nothing of it is under way any more."""
        assert view.plan is not None and view.posted is not None
        blank = any(member.state == MemberState.BLANK for member in view.members.values())
        return view.plan.session < self._config.session and view.posted.committed and not blank

    def _first_plan(self, view: BoardView) -> Plan:
        """The first plan of the session. A gatherer of the old plan that is not here leaves: its ghost hands over."""
        config, old, active = self._config, view.plan, view.active
        known = {name: view.members[name].figures.get("known", 0.0) for name in active}
        heir = max(active, key=lambda name: known[name])
        if config.beginning is not None:
            plan = config.beginning(active, old)
            if old is None and config.session == 1 and known[heir]:
                return msgspec.structs.replace(plan, lost=())  # one gatherer has begun alone, and hands over
        elif old is not None:
            plan = renewed(old, active, config.session)
        else:
            first = first_plan(active, config.initial, config.settings, heir if known[heir] else None)
            plan = msgspec.structs.replace(first, session=config.session)
        absent = tuple(name for name in old.gatherers if name not in active) if old else ()
        return msgspec.structs.replace(plan, leavers=absent)

    async def _commit_if_settled(self, view: BoardView) -> None:
        """Commit the plan when everything that it moves is handed over."""
        plan, posted = view.plan, view.posted
        assert plan is not None and posted is not None
        left = view.gone.intersection(plan.leavers)
        if all(name in left or _is_settled(view, name) for name in (*plan.gatherers, *plan.leavers)):
            await self._board.commit(posted)
            events.info("committed", epoch=plan.epoch)

    async def _end_if_over(self, view: BoardView) -> bool:
        """End the crawl if the whole team is passive in two snapshots; True if it has ended."""
        if view.state is CrawlState.PAUSED:
            self._snapshot = None
            return False
        later = termination.look(view.members.values(), view.epoch, view.seeds)
        if later is None or self._snapshot is None or not self._snapshot.is_same(later):
            self._snapshot = later
            return False
        if not self._snapshot.is_confirmed_by(later) or await self._board.space.count(template(Seeds), at=SEEDS_INBOX):
            return False
        await self._board.post(Control(CrawlState.DONE, self._board.leader.gatherer, "all that is known is fetched"))
        events.info("done", epoch=view.epoch)
        return True


def _is_settled(view: BoardView, name: str) -> bool:
    """Whether a gatherer of the plan has finished its hand-overs. One that leaves must have nothing left to send."""
    assert view.plan is not None
    member = view.members.get(name)
    if member is None or member.settled_epoch < view.epoch:
        return False
    return member.passive or name not in view.plan.leavers
