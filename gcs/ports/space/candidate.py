"""One gatherer's part in the election of the leader: carries out the decisions of `core.messages.election`.

The LeaderLease is put on the whiteboard only if absent, and renewed only if it is still this very tuple. All postings
of the leader are fenced by it: `space.out(plan, given=IfHolds(lease))` is refused once another gatherer leads, or none.

Invariant: `step` returns a LeaderLease only while its tenure holds by this process's own clock.
"""

from collections.abc import Callable

from gcs.core.messages.election import ElectionStep, Tenure, decide
from gcs.core.messages.template import template
from gcs.core.messages.tuples import LeaderLease
from gcs.events import Events
from gcs.ports.space.port import IfAbsent, IfHolds, Space

events = Events("election")


class Candidate:
    """One gatherer's part in the election. Call `step` often: several times within a lease."""

    def __init__(self, space: Space, gatherer: str, lease_s: float, clock: Callable[[], float]) -> None:
        self._space, self._gatherer = space, gatherer
        self._lease_s, self._clock = lease_s, clock
        self._mine: LeaderLease | None = None
        self._tenure: Tenure | None = None
        #: the last leader seen: this gatherer, or another
        self.seen: LeaderLease | None = None
        self._highest_term = 0

    async def step(self) -> LeaderLease | None:
        """Renew, stand or follow. Returns this gatherer's own lease if it leads, else None."""
        now = self._clock()
        if self._mine is None:
            self._see(await self._space.read(template(LeaderLease)))
        match decide(self._mine, self._tenure, self.seen, now):
            case ElectionStep.RENEW:
                await self._renew()
            case ElectionStep.STAND:
                await self._stand()
            case ElectionStep.LEAD | ElectionStep.FOLLOW:
                pass
        return self.leading()

    def leading(self) -> LeaderLease | None:
        """This gatherer's own lease, if it may act on it at this moment."""
        return self._mine if self._tenure is not None and self._tenure.holds(self._clock()) else None

    async def resign(self) -> None:
        """Let somebody else lead at once."""
        if self._mine is not None:
            mine, self._mine, self._tenure = self._mine, None, None
            await self._space.take(template(LeaderLease, gatherer=mine.gatherer, term=mine.term))

    async def _renew(self) -> None:
        assert self._mine is not None
        sent_at = self._clock()
        receipt = await self._space.out(self._mine, ttl_s=self._lease_s, given=IfHolds(self._mine))
        if receipt.refused:
            events.info("lost", gatherer=self._gatherer, term=self._mine.term)
            self._mine = self._tenure = None
        else:
            self._tenure = Tenure(sent_at, self._lease_s)

    async def _stand(self) -> None:
        leader = LeaderLease(self._gatherer, await self._space.ticket("term", self._highest_term))
        sent_at = self._clock()
        receipt = await self._space.out(leader, ttl_s=self._lease_s, given=IfAbsent())
        if not receipt.refused:
            self._mine, self._tenure = leader, Tenure(sent_at, self._lease_s)
            self._see(leader)
            events.info("won", gatherer=self._gatherer, term=leader.term)

    def _see(self, leader: LeaderLease | None) -> None:
        self.seen = leader
        if leader is not None:
            self._highest_term = max(self._highest_term, leader.term)
