"""Which plan a gatherer follows, and when a gatherer that leaves may go.

The plan is on the gatherer's disk, in the commit that began to follow it. The board may have lost the plan, or show one
that this gatherer must not follow: a gatherer with an empty disk is *blank* if the plan counts on what was on that
disk, and the leader has to see that first.

Invariant: a gatherer never goes back to an older epoch.
"""

import asyncio

from gcs.core.messages.template import template
from gcs.core.messages.tuples import HandOver, Member, MemberState, PlanPosted, UrlBlock
from gcs.core.plan import keyspace
from gcs.core.plan.plan import Plan
from gcs.errors import CodecError, UsageError
from gcs.events import Events
from gcs.ports.frontier import Frontier
from gcs.ports.space.clock import lease_time
from gcs.ports.space.port import IfAbsent, IfHolds, Space

events = Events("team")

#: where the frontier keeps the plan
NOTE = "plan"


async def is_forgotten(space: Space, me: str, epoch: int) -> bool:
    """Whether all others route by a plan of this epoch or later, and the inbox of gatherer `me` is empty."""
    others = [member for member in await space.scan(template(Member)) if member.gatherer != me]
    if any(member.epoch < epoch and member.state != MemberState.GONE for member in others):
        return False
    for kind in (UrlBlock, HandOver):
        if any(flow.sent != flow.committed for flow in (await space.flows(kind, at=me)).values()):
            return False
    return True


async def is_alone(space: Space, me: str) -> bool:
    """Whether there is no gatherer to hand over to."""
    members = await space.scan(template(Member))
    return not any(member.gatherer != me and member.state == MemberState.RUNNING for member in members)


class PlanFollower:
    """The plan that one gatherer follows."""

    def __init__(self, me: str, frontier: Frontier) -> None:
        self._me, self._frontier = me, frontier
        # the plan as it was posted. It is read here: the candidate of this process must know it before it can lead
        self._packed = frontier.note(NOTE) or b""
        self.plan = Plan.decode(self._packed) if self._packed else None
        #: the posted plan counts on what was on this gatherer's disk, and the disk is empty
        self.is_blank = False
        self._blank_epoch = 0  # epoch of that plan
        self._unread = b""  # the last plan that cannot be read

    @property
    def epoch(self) -> int:
        """Epoch of the plan that is followed; 0 before the first."""
        return self.plan.epoch if self.plan else 0

    @property
    def rebalances(self) -> int:
        """Plans before the one that is followed."""
        return self.plan.before if self.plan else 0

    @property
    def superpages(self) -> int:
        plan = self.plan
        if plan is None or self._me not in plan.gatherers:
            return 0
        mine = plan.gatherers.index(self._me)
        return sum(owner == mine for owner in plan.owners)

    async def enter(self, space: Space, beat_s: float) -> None:
        """Raise UsageError if a second gatherer of this name is at work: both would empty one inbox and own one range.

        The heartbeat of an earlier run of this gatherer stands still. A second process on the same disk cannot be at
        work: the frontier is locked.
        """
        asked_at = lease_time()
        before = await space.read(template(Member, gatherer=self._me))
        if before is None or before.state in (MemberState.GHOST, MemberState.GONE):
            return
        await asyncio.sleep(2 * (beat_s + lease_time() - asked_at))  # on a slow line, heartbeats are rarer
        now = await space.read(template(Member, gatherer=self._me))
        if now is not None and now.run == before.run and now.beat > before.beat:
            raise UsageError(
                f"a gatherer called {self._me} is at work in this crawl, on another disk: use another --name"
            )

    async def restore(self, space: Space) -> None:
        """Continue under the plan on disk, and post it again if the board has lost it."""
        posted = await space.read(template(PlanPosted))
        if self.plan is None:
            had_another = self._frontier.had_another
            if posted is not None and (self._counts_on_disk(posted) or (had_another and self._names_me(posted))):
                self.is_blank, self._blank_epoch = True, posted.epoch
            return
        mine = PlanPosted(self.plan.epoch, 0, self._packed)
        if posted is None:
            await space.out(mine, given=IfAbsent())
        elif posted.epoch < mine.epoch:
            await space.out(mine, given=IfHolds(posted))

    def newest(self, posted: PlanPosted | None) -> PlanPosted | None:
        """The newer of the posted plan and the one on disk."""
        if posted is not None and posted.epoch >= self.epoch:
            return posted
        return PlanPosted(self.epoch, 0, self._packed) if self._packed else None

    def is_news(self, posted: PlanPosted) -> bool:
        """Whether to go over to this plan.

        A different plan of the same epoch counts: the whiteboard lost the plan on disk before another gatherer saw it.
        """
        if self.is_blank and (posted.epoch <= self._blank_epoch or self._counts_on_disk(posted)):
            return False
        is_other = posted.epoch > self.epoch or (posted.epoch == self.epoch and posted.plan != self._packed)
        return is_other and self._decoded(posted) is not None

    def follow(self, posted: PlanPosted) -> Plan:
        """Go over to this plan; the next commit makes that durable."""
        self._packed, self.is_blank = posted.plan, False
        self.plan = plan = Plan.decode(posted.plan)
        self._frontier.set_note(NOTE, posted.plan)
        return plan

    def _names_me(self, posted: PlanPosted) -> bool:
        """Whether a plan gives this gatherer ranges, or waits for it to hand some over.

        If its frontier was damaged, what others have handed over to it is gone, though the plan is not committed yet.
        """
        plan = Plan.decode(posted.plan)
        owes = not posted.committed and any(move.loser == self._me for move in plan.moves)
        return owes or bool(plan.ranges_of(self._me))

    def _counts_on_disk(self, posted: PlanPosted) -> bool:
        """Whether a plan counts on this gatherer's disk: gives it ranges that are neither new to it nor begun anew."""
        plan = self._decoded(posted)
        if plan is None:
            return False
        due = [] if posted.committed else [(move.low, move.high) for move in plan.moves if move.winner == self._me]
        begun = () if posted.committed else plan.lost
        return bool(keyspace.subtract(plan.ranges_of(self._me), keyspace.unite((*due, *begun))))

    def _decoded(self, posted: PlanPosted) -> Plan | None:
        """The plan; None if another version of GCS wrote it: this gatherer goes on under the plan that it has.

        That is safe: what the plan takes from this gatherer begins elsewhere only when it was handed over.
        """
        if posted.plan == self._unread:
            return None
        try:
            return Plan.decode(posted.plan)
        except CodecError as error:
            self._unread = posted.plan
            events.warning("plan-unreadable", gatherer=self._me, epoch=posted.epoch, reason=str(error))
            return None
