"""The whiteboard as a leader uses it: read as one value, and postings that are refused once another candidate leads.

Invariant: seeds are counted before the heartbeats are read (`termination` rests on it), and every posting is
fenced by the LeaderLease tuple of this term.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Charter,
    Control,
    CrawlState,
    LeaderLease,
    Member,
    MemberState,
    PlanNote,
    PlanPosted,
    Posted,
    Seeds,
)
from gcs.core.plan.next_plan import note_of
from gcs.core.plan.plan import Plan
from gcs.errors import GcsError, UnknownVersionError
from gcs.ports.space.port import BOARD, SEEDS_INBOX, IfHolds, Space

#: states of members that hand over all that they own, to leave
LEAVING = frozenset({MemberState.LEAVING, MemberState.GHOST})
#: tuples that a leader has to be able to read: one that took a newer heartbeat for none would plan without its gatherer
NEEDED = frozenset({Control, Member, PlanPosted})


class DeposedError(GcsError):
    """The whiteboard has refused a posting: another candidate leads, or nobody does."""


@dataclass(frozen=True, slots=True)
class BoardView:
    """All that a leader reads from the board in one step; it decides from this value alone."""

    now: float
    #: the board has the crawl's charter
    has_charter: bool
    state: CrawlState
    seeds: int
    #: the plan on the board, if there is one: encoded, and decoded
    posted: PlanPosted | None
    decoded: Plan | None
    #: members with a heartbeat, and the names of those that have said good-bye lately
    members: dict[str, Member]
    gone: frozenset[str]

    @property
    def plan(self) -> Plan:
        """The plan on the board. Only for boards that have one."""
        assert self.decoded is not None
        return self.decoded

    @property
    def is_committed(self) -> bool:
        """Whether all that the plan moves is handed over."""
        return self.posted is not None and self.posted.committed

    @property
    def active(self) -> tuple[str, ...]:
        """The members that crawl, sorted by name."""
        return tuple(sorted(name for name, member in self.members.items() if member.state == MemberState.RUNNING))

    @property
    def epoch(self) -> int:
        """The epoch of the plan on the board, 0 if there is none."""
        return self.decoded.epoch if self.decoded else 0


class NewestPlan:
    """The newest plan that this process has seen. A whiteboard that has lost its last second gets the plan back."""

    def __init__(self, of_gatherer: Callable[[], PlanPosted | None]) -> None:
        self._of_gatherer = of_gatherer
        self._seen: PlanPosted | None = None

    def see(self, posted: PlanPosted | None) -> None:
        """Remember a posted plan if it is the newest. Within an epoch, a committed plan is newer than an open one."""
        if posted is not None and (self._seen is None or _age(posted) >= _age(self._seen)):
            self._seen = posted

    def newer_than(self, posted: PlanPosted | None) -> PlanPosted | None:
        """The newest plan that this process or its gatherer has seen, if it is newer than `posted`."""
        self.see(self._of_gatherer())
        return self._seen if self._seen and (posted is None or _age(self._seen) > _age(posted)) else None


def _age(posted: PlanPosted) -> tuple[int, bool]:
    return posted.epoch, posted.committed


class FencedBoard:
    """The whiteboard for the leader of one term: each posting is refused unless that leader's lease still holds."""

    def __init__(self, space: Space, leader: LeaderLease, known: NewestPlan, clock: Callable[[], float]) -> None:
        self.space = space
        self.leader = leader
        self.known = known
        self.clock = clock
        self._plan: tuple[bytes, Plan] | None = None

    async def view(self) -> BoardView:
        """The board in two round trips, so that a slow line does not make it old; UnknownVersionError if unreadable."""
        charters, control, posted, seeds = await asyncio.gather(
            self.space.count(template(Charter)),
            self.space.read(template(Control)),
            self.space.read(template(PlanPosted)),
            self.space.count(template(Seeds), at=SEEDS_INBOX),
        )
        self.known.see(posted)
        known = {member.gatherer: member for member in await self.space.scan(template(Member))}
        if unread := sorted(kind.name for place, kind in self.space.unread.kinds if place == BOARD and kind in NEEDED):
            raise UnknownVersionError(f"the board has {', '.join(unread)} of another version")
        return BoardView(
            now=self.clock(),
            has_charter=charters > 0,
            state=control.state if control else CrawlState.RUNNING,
            seeds=seeds,
            posted=posted,
            decoded=self._decoded(posted) if posted else None,
            members={name: member for name, member in known.items() if member.state != MemberState.GONE},
            gone=frozenset(name for name, member in known.items() if member.state == MemberState.GONE),
        )

    async def post(self, item: Posted) -> None:
        """Put a tuple on the board; DeposedError if this term is over."""
        receipt = await self.space.out(item, given=IfHolds(self.leader))
        if receipt.refused:
            raise DeposedError(f"{self.leader.gatherer} leads no more: its {item.name} was refused")

    async def publish(self, plan: Plan, view: BoardView, reason: str, moved: float = 0.0, above: int = 0) -> Plan:
        """Let everyone route by this plan, under an epoch above all that are known; `moved` is the share that moves."""
        highest = max([above, view.epoch, *(member.epoch for member in view.members.values())])
        before = view.decoded.before + 1 if view.decoded else 0
        plan = msgspec.structs.replace(plan, epoch=await self.space.ticket("epoch", highest), before=before)
        await self._post_plan(PlanPosted(plan.epoch, self.leader.term, plan.encode()))
        await self.post(note_of(plan, at=time.time(), reason=reason, moved=moved))
        return plan

    async def commit(self, posted: PlanPosted) -> None:
        """Let everyone know that all of the plan is handed over."""
        await self._post_plan(msgspec.structs.replace(posted, term=self.leader.term, committed=True))
        note = await self.space.read(template(PlanNote, epoch=posted.epoch))
        if note is not None:
            await self.post(msgspec.structs.replace(note, committed_at=time.time()))

    async def restore(self, posted: PlanPosted) -> None:
        """Put back a plan that the whiteboard has forgotten."""
        await self._post_plan(msgspec.structs.replace(posted, term=self.leader.term))

    async def _post_plan(self, posted: PlanPosted) -> None:
        await self.post(posted)
        self.known.see(posted)

    def _decoded(self, posted: PlanPosted) -> Plan:
        if self._plan is None or self._plan[0] != posted.plan:
            self._plan = posted.plan, Plan.decode(posted.plan)
        return self._plan[1]
