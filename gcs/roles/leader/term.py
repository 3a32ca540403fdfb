"""One term of a leader: what it looks at, and in which order it decides.

    no charter              →  put back what is known of the crawl
    stopping, done          →  nothing
    no plan                 →  put back the one that is known, or publish the first
    somebody is missing     →  a ghost, or a plan without it (`absent`)
    not all have settled    →  wait; then commit the plan
    all passive, twice      →  the crawl is done
    otherwise               →  rebalance, if there is a reason (`rounds`)

Invariant: a plan is published only if the one before is committed (or as a recovery), so hand-overs never pile up.
It must not keep anything that the next leader would need: that hangs on the board.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import msgspec

from gcs.core.messages import termination
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Control, CrawlState, Seeds
from gcs.core.plan.expression import Expression
from gcs.core.plan.next_plan import FirstPlanner, Planner, first_plan, renewed
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.tree.tree import Cuts
from gcs.events import Events
from gcs.ports.space.crawl_control import put_back
from gcs.ports.space.port import SEEDS_INBOX
from gcs.roles.leader.fenced_board import BLANK, BoardView, FencedBoard
from gcs.roles.leader.liveness import Ghost, Liveness
from gcs.roles.leader.rebalance_rounds import RebalanceRounds

#: seconds that the first plan waits for the members that are expected
FIRST_WAIT_S = 3.0

events = Events("leader")


@dataclass(frozen=True, slots=True)
class LeaderConfig:
    """What any leader of the crawl is told."""

    settings: TeamSettings
    ghost: Ghost
    planner: Planner
    random: Random
    #: when to rebalance, besides the reasons of the paper
    trigger: Expression | None
    #: how many members the first plan waits for
    expected: int
    #: the user's expansion, with which the crawl begins
    initial: Cuts
    #: the session to crawl, and the plan made ahead for it, if there is one
    session: int = 1
    beginning: FirstPlanner | None = None
    #: the crawl as this process's gatherer knows it, if it has one
    crawl: Callable[[], tuple[Charter, Control | None] | None] = lambda: None


class Term:
    """Held by the elected leader, until it is not."""

    def __init__(self, board: FencedBoard, orders: LeaderConfig) -> None:
        self._board = board
        self._orders = orders
        self._absent = Liveness(board, orders.settings, orders.ghost)
        self._rounds = RebalanceRounds(board, orders.settings, orders.planner, orders.trigger, orders.random)
        self._look: termination.TeamSnapshot | None = None
        self._waits_since: float | None = None

    async def step(self) -> None:
        """Look at the board, and do the next thing; DeposedError if I lead no more."""
        if (crawl := self._orders.crawl()) and await put_back(self._board.space, *crawl):
            events.warning("charter-restored")
        view = await self._board.view()
        if view.state in (CrawlState.STOPPING, CrawlState.DONE) or not await self._has_plan(view):
            self._look = None
            return
        if self._is_to_begin(view):
            await self._begin(view)
        elif await self._absent.step(view) or not await self._is_committed(view):
            self._look = None
            self._rounds.abandon()
        elif not await self._is_over(view):
            await self._rounds.step(view)

    async def _has_plan(self, view: BoardView) -> bool:
        newer = self._board.known.newer_than(view.posted)
        if newer is not None:
            await self._board.restore(newer)
            events.warning("restored", epoch=newer.epoch)
            return False
        if any(member.epoch > view.epoch for member in view.members.values()):
            return False  # the whiteboard has forgotten a plan that I never saw; who has it will put it back
        if view.plan is None:
            await self._begin(view)
        return view.plan is not None

    async def _begin(self, view: BoardView) -> None:
        """Publish the first plan when the expected members are there, or have not come for a while."""
        active = view.active
        if not active:
            return
        if self._waits_since is None:
            self._waits_since = view.now
        if len(active) < self._orders.expected and view.now - self._waits_since < FIRST_WAIT_S:
            return
        plan = await self._board.publish(self._first(view), view, "first")
        self._waits_since = None
        events.info("planned", epoch=plan.epoch, superpages=len(plan.cuts), moved=0, reason=f"session {plan.session}")

    def _is_to_begin(self, view: BoardView) -> bool:
        """Whether the plan on the board is that of an earlier session, and nothing of it is under way any more."""
        assert view.plan is not None and view.posted is not None
        blank = any(member.state == BLANK for member in view.members.values())
        return view.plan.session < self._orders.session and view.posted.committed and not blank

    def _first(self, view: BoardView) -> Plan:
        """The first plan of the session. Who was in the one before and has not come leaves: its ghost shares out."""
        orders, old, active = self._orders, view.plan, view.active
        known = {name: view.members[name].figures.get("known", 0.0) for name in active}
        heir = max(active, key=lambda name: known[name])
        if orders.beginning is not None:
            plan = orders.beginning(active, old)
            if old is None and orders.session == 1 and known[heir]:
                return msgspec.structs.replace(plan, lost=())  # one has begun alone, and hands over
        elif old is not None:
            plan = renewed(old, active, orders.session)
        else:
            first = first_plan(active, orders.initial, orders.settings, heir if known[heir] else None)
            plan = msgspec.structs.replace(first, session=orders.session)
        absent = tuple(name for name in old.gatherers if name not in active) if old else ()
        return msgspec.structs.replace(plan, leavers=absent)

    async def _is_committed(self, view: BoardView) -> bool:
        """Whether everything is handed over; if that is news, say so."""
        plan, posted = view.plan, view.posted
        assert plan is not None and posted is not None
        if posted.committed:
            return True
        left = view.gone.intersection(plan.leavers)
        if all(name in left or _is_settled(view, name) for name in (*plan.gatherers, *plan.leavers)):
            await self._board.commit(posted)
            events.info("committed", epoch=plan.epoch)
        return False

    async def _is_over(self, view: BoardView) -> bool:
        """Whether the crawl has come to its end; if so, say it."""
        if view.state is CrawlState.PAUSED:
            self._look = None
            return False
        later = termination.look(view.members.values(), view.epoch, view.seeds)
        if later is None or self._look is None or not self._look.is_same(later):
            self._look = later
            return False
        if not self._look.is_confirmed_by(later) or await self._board.space.count(template(Seeds), at=SEEDS_INBOX):
            return False
        await self._board.post(Control(CrawlState.DONE, self._board.leader.gatherer, "all that is known is fetched"))
        events.info("done", epoch=view.epoch)
        return True


def _is_settled(view: BoardView, name: str) -> bool:
    """Whether a party of the plan has done its part. One that leaves must have nothing left to send, either."""
    assert view.plan is not None
    member = view.members.get(name)
    if member is None or member.settled_epoch < view.epoch:
        return False
    return member.passive or name not in view.plan.leavers
