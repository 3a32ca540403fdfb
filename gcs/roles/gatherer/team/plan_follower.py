"""Our standing in the team: the plan that we follow, and whether it may count on us.

The plan is on our disk, in the commit that began to follow it; the board may have lost it, or show one that we must
not follow: who comes with an empty disk where a plan counts on what was on it is *blank*, and the leader has to see
that first.

Invariant: we never go back to an older epoch.
"""

import asyncio

from gcs.core.messages.template import template
from gcs.core.messages.tuples import HandOver, Member, MemberState, PlanPosted, UrlBlock
from gcs.core.plan import keyspace
from gcs.core.plan.plan import Plan
from gcs.errors import UsageError
from gcs.ports.frontier import Frontier
from gcs.ports.space.port import IfAbsent, IfHolds, Space

# -- Leaving: when a gatherer that hands everything over may go.


async def is_forgotten(space: Space, me: str, epoch: int) -> bool:
    """Whether all others route by a plan of this epoch or later, and nothing is left in our inbox."""
    others = [member for member in await space.scan(template(Member)) if member.gatherer != me]
    if any(member.epoch < epoch and member.state != MemberState.GONE for member in others):
        return False
    for kind in (UrlBlock, HandOver):
        if any(flow.sent != flow.committed for flow in (await space.flows(kind, at=me)).values()):
            return False
    return True


async def is_alone(space: Space, me: str) -> bool:
    """Whether there is nobody to hand over to."""
    members = await space.scan(template(Member))
    return not any(member.gatherer != me and member.state == MemberState.RUNNING for member in members)


NOTE = "plan"


class PlanFollower:
    """Which plan one gatherer follows."""

    def __init__(self, me: str, frontier: Frontier) -> None:
        self._me, self._frontier = me, frontier
        self._packed = b""
        self.plan: Plan | None = None
        #: a plan counts on what was on our disk, of which we know nothing
        self.is_blank = False

    @property
    def epoch(self) -> int:
        """Of the plan that we follow; 0 before the first."""
        return self.plan.epoch if self.plan else 0

    @property
    def superpages(self) -> int:
        """How many we own."""
        plan = self.plan
        if plan is None or self._me not in plan.gatherers:
            return 0
        mine = plan.gatherers.index(self._me)
        return sum(owner == mine for owner in plan.owners)

    async def enter(self, space: Space, beat_s: float) -> None:
        """Make sure that nobody else goes by our name: two would take each other's mail, and work for one range.

        The heartbeat of an earlier run of ours stands still; whoever works on our disk, we have waited for.
        """
        before = await space.read(template(Member, gatherer=self._me))
        if before is None or before.state in (MemberState.GHOST, MemberState.GONE):
            return
        await asyncio.sleep(2 * beat_s)
        now = await space.read(template(Member, gatherer=self._me))
        if now is not None and now.run == before.run and now.beat > before.beat:
            raise UsageError(
                f"a gatherer called {self._me} is at work in this crawl, on another disk: use another --name"
            )

    async def restore(self, space: Space) -> None:
        """Go on under the plan that we had, and put it back on the board if that lost it."""
        posted = await space.read(template(PlanPosted))
        packed = self._frontier.note(NOTE)
        if not packed:
            self.is_blank = posted is not None and self._misses(posted)
            return
        self._packed, self.plan = packed, Plan.decode(packed)
        mine = PlanPosted(self.plan.epoch, 0, packed)
        if posted is None:
            await space.out(mine, given=IfAbsent())
        elif posted.epoch < mine.epoch:
            await space.out(mine, given=IfHolds(posted))

    def newest(self, posted: PlanPosted | None) -> PlanPosted | None:
        """The newest plan that we know of, from the board or from our disk."""
        if posted is not None and posted.epoch >= self.epoch:
            return posted
        return PlanPosted(self.epoch, 0, self._packed) if self._packed else None

    def is_news(self, posted: PlanPosted) -> bool:
        """Whether to go over to this plan. Two of one epoch: the whiteboard forgot ours before another saw it."""
        if self.is_blank and self._misses(posted):
            return False
        return posted.epoch > self.epoch or (posted.epoch == self.epoch and posted.plan != self._packed)

    def follow(self, posted: PlanPosted) -> Plan:
        """Go over to this plan, with the next commit."""
        self._packed, self.is_blank = posted.plan, False
        self.plan = plan = Plan.decode(posted.plan)
        self._frontier.set_note(NOTE, posted.plan)
        return plan

    def _misses(self, posted: PlanPosted) -> bool:
        """Whether a plan counts on what was on our disk, of which we know nothing."""
        plan = Plan.decode(posted.plan)
        due = [] if posted.committed else [(move.low, move.high) for move in plan.moves if move.winner == self._me]
        begun = () if posted.committed else plan.lost
        return bool(keyspace.subtract(plan.ranges_of(self._me), keyspace.unite((*due, *begun))))
