"""One gatherer's part in the election of the leader: carries out the decisions of `core.messages.election`.

The LeaderLease is put on the whiteboard only if absent, and renewed only if it is still this very tuple. All postings
of the leader are fenced by it: `space.out(plan, given=IfHolds(lease))` is refused once another gatherer leads, or none.

Invariant: `step` returns a LeaderLease only while its tenure holds by this process's own clock.
"""

import asyncio
from collections.abc import Callable
from typing import NoReturn

from gcs.core.messages.election import ElectionStep, RoundTrips, Tenure, decide
from gcs.core.messages.template import template
from gcs.core.messages.tuples import LeaderLease
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.port import IfAbsent, IfHolds, Space

events = Events("election")


class Candidate:
    """One gatherer's part in the election. Call `step` often, or let `keep` run beside it: it renews in time."""

    def __init__(self, space: Space, gatherer: str, lease_s: float, clock: Callable[[], float]) -> None:
        self._space, self._gatherer = space, gatherer
        self._lease_s, self._clock = lease_s, clock
        self._trips = RoundTrips(lease_s)
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
            self._trips.add(self._clock() - now)
        match decide(self._mine, self._tenure, self.seen, now):
            case ElectionStep.RENEW:
                await self._renew()
            case ElectionStep.STAND:
                await self._stand()
            case ElectionStep.LEAD | ElectionStep.FOLLOW:
                pass
        return self.leading()

    async def keep(self) -> NoReturn:
        """Renew the lease, if there is one, whenever that is due: a leader's step may take longer than its lease."""
        while True:
            await asyncio.sleep(self._lease_s / 20)
            if decide(self._mine, self._tenure, self.seen, self._clock()) is ElectionStep.RENEW:
                try:
                    await self._renew()
                except SpaceError as error:  # `step` meets it, too
                    events.debug("not-renewed", gatherer=self._gatherer, reason=str(error))

    def leading(self) -> LeaderLease | None:
        """This gatherer's own lease, if it may act on it at this moment."""
        return self._mine if self._tenure is not None and self._tenure.holds(self._clock()) else None

    def forget(self) -> None:
        """The whiteboard has this lease no more: the next step may stand for another."""
        self._mine = self._tenure = None

    async def resign(self) -> None:
        """Let somebody else lead at once."""
        if self._mine is not None:
            mine, self._mine, self._tenure = self._mine, None, None
            await self._space.take(template(LeaderLease, gatherer=mine.gatherer, term=mine.term))

    async def _renew(self) -> None:
        mine = self._mine
        assert mine is not None
        tenure = await self._put(mine, IfHolds(mine))
        if self._mine is not mine:  # resigned, or lost meanwhile
            return
        if tenure is None:
            events.info("lost", gatherer=self._gatherer, term=mine.term)
            self._mine = self._tenure = None
        elif self._tenure is None or tenure.since > self._tenure.since:  # two renewals may be under way
            self._tenure = tenure

    async def _stand(self) -> None:
        leader = LeaderLease(self._gatherer, await self._space.ticket("term", self._highest_term))
        if tenure := await self._put(leader, IfAbsent()):
            self._mine, self._tenure = leader, tenure
            self._see(leader)
            events.info("won", gatherer=self._gatherer, term=leader.term)

    async def _put(self, leader: LeaderLease, given: IfAbsent | IfHolds) -> Tenure | None:
        """Put the lease on the board; None if that was refused."""
        sent_at, lease_s = self._clock(), self._trips.lease_s
        receipt = await self._space.out(leader, ttl_s=lease_s, given=given)
        self._trips.add(self._clock() - sent_at)
        return None if receipt.refused else Tenure(sent_at, lease_s)

    def _see(self, leader: LeaderLease | None) -> None:
        self.seen = leader
        if leader is not None:
            self._highest_term = max(self._highest_term, leader.term)
