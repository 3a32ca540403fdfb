"""A gatherer at the whiteboard: the tuples on the board that it follows, the tuples that it posts, its heartbeat.

Every task below waits for the whiteboard so that the gatherer's turn never has to:

    watch    the newest plan, announcement, control, charter, probes → fields read by the turn
             notes about shared hosts; how far others are          → notes, supersteps   emptied by the turn
    post     tuples for the board                                             filled by the turn
    beat     the gatherer's Member tuple; its receipt renews the lease
    compare  this machine's clock with the whiteboard's                       → skew_s

Blocks and parts of ranges do not pass here: see `block_exchange`.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable

import msgspec

from gcs.core.messages.election import TRIPS, RoundTrips, Tenure
from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Account,
    Announcement,
    BusyNote,
    Charter,
    Control,
    Member,
    PageAllowance,
    PlanPosted,
    Posted,
    ProbeList,
    RobotsNote,
    SuperstepDone,
)
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.clock import lease_time
from gcs.ports.system.tasks import BackgroundTasks
from gcs.roles.gatherer.membership import MemberContext

events = Events("team")

#: what a gatherer watches on the board
WATCHED: tuple[type[Posted], ...] = (
    *(PlanPosted, Announcement, Control, Charter, RobotsNote, BusyNote, ProbeList, SuperstepDone, PageAllowance),
)
#: heartbeats of a passive gatherer, in units of `beat_s`: two of each member end a crawl
PASSIVE_BEATS = 0.3
#: seconds for which a gatherer that has left for good stays on the board as gone
GONE_S = 120.0
#: seconds between two comparisons of the clocks, and the difference from which on people are told
COMPARE_S, SKEW_S = 30.0, 5.0
#: seconds that a farewell to the whiteboard may take
LEAVE_S = 5.0


class Whiteboard:
    """What one gatherer reads and writes on the board."""

    def __init__(self, context: MemberContext, next_heartbeat: Callable[[], Member], tasks: BackgroundTasks) -> None:
        self._context, self._space, self._next_heartbeat, self._tasks = context, context.space, next_heartbeat, tasks
        #: one heartbeat at a time: an older one must not replace a newer one
        self._beating = asyncio.Lock()
        self._beat_now = asyncio.Event()
        self._tenure: Tenure | None = None
        self._heard_at = lease_time()
        self._trips = RoundTrips(context.settings.lease_s)
        self._is_slow = False
        self._posts: asyncio.Queue[tuple[Posted, float]] = asyncio.Queue()  # with their lifetime
        self.plan: PlanPosted | None = None
        self.announcement: Announcement | None = None
        self.control: Control | None = None
        self.charter: Charter | None = None
        self.probes: ProbeList | None = None
        #: the own one
        self.allowance: PageAllowance | None = None
        self.notes: deque[RobotsNote | BusyNote] = deque()
        self.supersteps: deque[SuperstepDone] = deque()
        #: seconds by which the wall clock of this machine is ahead of the whiteboard's
        self.skew_s = 0.0

    def start(self) -> None:
        self._tasks.start(*(self._watch(kind) for kind in WATCHED), self._post(), self._beat_on(), self._compare())

    async def leave(self, account: Account | None, gone: Member | None) -> None:
        """Remove the heartbeat, so that nobody waits for its expiry; or say that the gatherer left for good."""
        name, run = self._context.name, self._context.run
        try:
            async with asyncio.timeout(LEAVE_S):
                if account is not None:
                    await self._space.out(account)
                if gone is None:
                    await self._space.take(template(Member, gatherer=name, run=run))
                else:
                    await self._space.out(gone, ttl_s=GONE_S)
        except (SpaceError, TimeoutError) as error:
            events.warning("silent", gatherer=name, reason=str(error) or "the whiteboard does not answer")

    @property
    def round_trip_s(self) -> float:
        """How long the whiteboard takes to answer, by the last heartbeats."""
        return round(self._trips.typical_s, 4)

    @property
    def silent_s(self) -> float:
        """Seconds since the whiteboard took a heartbeat."""
        return lease_time() - self._heard_at

    def may_fetch(self) -> bool:
        """Whether the gatherer's lease holds by its own clock: the others still count on it."""
        return self._tenure is not None and self._tenure.holds(lease_time())

    def post(self, item: Posted, ttl_s: float) -> None:
        """Put a tuple on the board, soon."""
        self._posts.put_nowait((item, ttl_s))

    async def beat(self) -> bool:
        """Send a heartbeat now; returns whether the gatherer was passive."""
        async with self._beating:
            sent_at, lease_s, member = lease_time(), self._trips.lease_s, self._next_heartbeat()
            if refused := self._space.refusals.total:
                member = msgspec.structs.replace(member, figures=member.figures | {"refused": float(refused)})
            await self._space.out(member, ttl_s=lease_s)
            self._tenure = Tenure(sent_at, lease_s)
            self._heard_at = lease_time()
            self._trips.add(self._heard_at - sent_at)
        self._tasks.request_turn()
        self._tell_slow()
        return member.passive

    def _tell_slow(self) -> None:
        """Say once that the lease of the settings is too short for the line, and once that it no longer is."""
        trips, name = self._trips, self._context.name
        if trips.is_too_long and not self._is_slow:
            events.warning(
                "slow-line",
                gatherer=name,
                round_trip_s=self.round_trip_s,
                lease_s=round(trips.lease_s, 1),
                advice=f"the whiteboard is far away: leases last for {TRIPS} round trips, not for"
                f" team.lease_s={self._context.settings.lease_s:g}; raise that setting, or bring the whiteboard nearer",
            )
        elif self._is_slow and not trips.is_too_long:
            events.info("quick-line", gatherer=name, round_trip_s=self.round_trip_s)
        self._is_slow = trips.is_too_long

    async def _watch(self, kind: type[Posted]) -> None:
        async for item in self._space.watch(template(kind)):
            match item:
                case PlanPosted():
                    self.plan = item
                case Announcement():
                    self.announcement = item
                case Control():
                    self.control = item
                case Charter():
                    self.charter = item
                case PageAllowance() if item.gatherer == self._context.name:
                    self.allowance = item
                case ProbeList():
                    self.probes = item
                case SuperstepDone():
                    self.supersteps.append(item)
                case RobotsNote() | BusyNote():
                    self.notes.append(item)
            self._tasks.request_turn()

    async def _post(self) -> None:
        while True:
            item, ttl_s = await self._posts.get()
            await self._space.out(item, ttl_s=ttl_s)

    async def _compare(self) -> None:
        is_told = False
        while True:
            before = time.time()
            there = await self._space.time()
            after = time.time()
            self.skew_s = difference_s(before, there, after)
            if not is_told and abs(self.skew_s) >= SKEW_S:
                is_told = True
                advice = "the dates of its records are wrong; set its clock (NTP)"
                events.warning("clock", gatherer=self._context.name, ahead_s=round(self.skew_s, 1), advice=advice)
            await asyncio.sleep(COMPARE_S)

    def beat_soon(self) -> None:
        """Send the next heartbeat at once: others wait for what it says."""
        self._beat_now.set()

    async def _beat_on(self) -> None:
        while True:
            self._beat_now.clear()
            begun_at = lease_time()
            passive = await self.beat()
            beat_s = self._context.settings.beat_s * (PASSIVE_BEATS if passive else 1.0)
            pause_s = max(0.0, begun_at + beat_s - lease_time())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._beat_now.wait()


def difference_s(before: float, there: float, after: float) -> float:
    """How far the clock that said `before` and `after` is ahead of one that said `there` in between; 0 if that may be.

    A clock that is set in between makes one wrong figure, until the next comparison.
    """
    return 0.0 if before <= there <= after else (before + after) / 2 - there
