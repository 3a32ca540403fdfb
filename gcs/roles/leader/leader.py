"""The candidate that every gatherer's process runs beside its gatherer, and the leader that it is while elected.

Invariant: it acts only with a lease on the LeaderLease tuple, and its postings are refused once another candidate has
that lease. A leader that was stopped and comes back therefore publishes nothing, whatever it has computed.
"""

import asyncio
import contextlib
from collections.abc import Callable

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, LeaderLease, PlanPosted
from gcs.errors import SpaceError, UnknownVersionError
from gcs.events import Events
from gcs.ports.space.candidate import Candidate
from gcs.ports.space.port import BOARD, IfHolds, Space
from gcs.ports.system.tasks import end
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.fenced_board import DeposedError, FencedBoard, NewestPlan
from gcs.roles.leader.term import STUCK, Term

#: steps after which a candidate that does not lead compares the plan on the board with the one that it knows
FOLLOW_STEPS = 10
#: the pause between two steps, in units of `beat_s`, and while the members wait for the next one
PAUSE, QUICK = 0.5, 0.1
#: seconds that resigning may take when the process ends
RESIGN_S = 1.0

events = Events("leader")


class Leader:
    """One candidate. `run` until cancelled; or call `step` every beat, and `resign` at the end."""

    def __init__(self, space: Space, name: str, config: LeaderConfig, clock: Callable[[], float]) -> None:
        """`clock` is monotonic."""
        self._space, self._config, self._clock = space, config, clock
        self._candidate = Candidate(space, name, config.settings.lease_s, clock)
        self._known = NewestPlan(config.known_plan)
        #: only while elected
        self._term: Term | None = None
        self._steps = 0
        #: what on the board this program cannot read, because another version of GCS wrote it: it must not lead
        self._outdated = ""
        #: when an outdated candidate has last seen somebody lead
        self._led_at = 0.0
        self._said = ""

    @property
    def leads(self) -> bool:
        """Whether this candidate may act as the leader at this moment."""
        return self._candidate.leading() is not None

    async def run(self) -> None:
        """Step until cancelled, then resign. A whiteboard that cannot be reached is waited for."""
        keeper = asyncio.create_task(self._candidate.keep())
        try:
            while True:
                try:
                    await self.step()
                    self._said = ""
                except SpaceError as error:
                    if str(error) != self._said:  # once, however long it lasts
                        self._said = str(error)
                        events.warning("unreachable", reason=self._said)
                is_awaited = self._term is not None and self._term.is_awaiting
                await asyncio.sleep(self._config.settings.beat_s * (QUICK if is_awaited else PAUSE))
        finally:
            await end([keeper])
            # not worth more than a moment: without it, the lease ends by itself
            with contextlib.suppress(SpaceError, TimeoutError):
                async with asyncio.timeout(RESIGN_S):
                    await self.resign()

    async def step(self) -> None:
        """Stand for election; then act as the leader, or watch over the plan as one that does not lead."""
        if self._outdated and await self._look_for_leader():
            return
        mine = await self._candidate.step()
        if mine is not None and self._outdated:
            await self._give_up(mine)
        elif mine is None:
            self._term = None
            await self._follow()
        else:
            await self._lead(mine)

    async def _lead(self, mine: LeaderLease) -> None:
        if self._term is None or self._term.leader != mine:
            self._term = Term(FencedBoard(self._space, mine, self._known, self._clock), self._config)
            events.info("elected", gatherer=mine.gatherer, term=mine.term)
        try:
            await self._term.step()
        except DeposedError as error:
            self._term = None
            self._candidate.forget()
            events.info("deposed", reason=str(error))
        except UnknownVersionError as error:
            self._outdated, self._led_at = str(error), self._clock()
            events.warning("outdated", reason=self._outdated, advice="a gatherer of the newer version has to lead")
            await self.resign()

    async def _look_for_leader(self) -> bool:
        """Look whether another candidate leads, one that can read the board; returns whether one has done so lately."""
        if await self._space.read(template(LeaderLease)) is not None:
            self._led_at = self._clock()
        return self._clock() - self._led_at < self._config.settings.recover_s

    async def _give_up(self, mine: LeaderLease) -> None:
        """Stop the crawl: no candidate can read all that is on the board."""
        why = f"gatherers of several versions of GCS are at work ({self._outdated}): install one version everywhere"
        events.warning("stuck", reason=why)
        await self._space.out(Control(CrawlState.STOPPING, mine.gatherer, STUCK, why), given=IfHolds(mine))
        await self.resign()

    async def resign(self) -> None:
        """Give the lease up, so that another candidate can lead at once."""
        self._term = None
        await self._candidate.resign()

    async def _follow(self) -> None:
        """Every few steps: put back the plan that this process knows, if the whiteboard has forgotten it."""
        self._steps += 1
        leader = self._candidate.seen
        if self._steps % FOLLOW_STEPS or leader is None:
            return
        newer = self._known.newer_than(await self._space.read(template(PlanPosted)))
        if newer is not None and (BOARD, PlanPosted) not in self._space.unread.kinds:
            await self._space.out(newer, given=IfHolds(leader))
            events.warning("restored", epoch=newer.epoch)
