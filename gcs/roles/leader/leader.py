"""The candidate that every gatherer's process runs beside its gatherer, and the leader that it is while elected.

Invariant: acts only with a lease on the Leader tuple, and what it posts is refused once that tuple is another's. A
leader that was stopped and comes back therefore publishes nothing, whatever it has computed.
"""

import asyncio
import contextlib
from collections.abc import Callable
from random import Random

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Control, PlanPosted
from gcs.core.plan.expression import Expression
from gcs.core.plan.next_plan import FirstPlanner, Planner
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.plan.triggers import NAMES
from gcs.core.tree.tree import WHOLE, Cuts
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.candidate import Candidate
from gcs.ports.space.port import IfHolds, Space
from gcs.roles.leader.fenced_board import DeposedError, FencedBoard, NewestPlan
from gcs.roles.leader.liveness import Ghost
from gcs.roles.leader.term import LeaderConfig, Term

#: steps after which a candidate that does not lead compares the plan on the board with the one that it knows
FOLLOW_STEPS = 10
#: seconds that resigning may take when the process ends
RESIGN_S = 1.0

events = Events("leader")


class Leader:
    """One candidate. `run` until cancelled; or call `step` every beat, and `resign` at the end."""

    def __init__(
        self,
        space: Space,
        name: str,
        settings: TeamSettings,
        *,
        clock: Callable[[], float],
        ghost: Ghost,
        planner: Planner,
        random: Random,
        expected: int = 1,
        initial: Cuts = WHOLE,
        session: int = 1,
        beginning: FirstPlanner | None = None,
        known: Callable[[], PlanPosted | None] = lambda: None,
        crawl: Callable[[], tuple[Charter, Control | None] | None] = lambda: None,
    ) -> None:
        """`clock` is monotonic. `known` is the plan that this process's gatherer has, from its disk or the board.

        `crawl` is what it knows of the crawl itself, for a board that forgets it.
        """
        trigger = Expression(settings.trigger, NAMES) if settings.trigger else None
        self._space = space
        self._settings = settings
        self._clock = clock
        self._orders = LeaderConfig(
            settings, ghost, planner, random, trigger, expected, initial, session, beginning, crawl
        )
        self._candidate = Candidate(space, name, settings.lease_s, clock)
        self._known = NewestPlan(known)
        self._office: tuple[FencedBoard, Term] | None = None
        self._steps = 0

    @property
    def leads(self) -> bool:
        """Whether I may act as the leader at this moment."""
        return self._candidate.leading() is not None

    async def run(self) -> None:
        """Step every beat until cancelled; then resign. A whiteboard that cannot be reached is waited for."""
        try:
            while True:
                try:
                    await self.step()
                except SpaceError as error:
                    events.warning("unreachable", reason=str(error))
                await asyncio.sleep(self._settings.beat_s)
        finally:
            # not worth more than a moment: without it, the lease ends by itself
            with contextlib.suppress(SpaceError, TimeoutError):
                async with asyncio.timeout(RESIGN_S):
                    await self.resign()

    async def step(self) -> None:
        """Stand, follow, or lead."""
        mine = await self._candidate.step()
        if mine is None:
            self._office = None
            await self._follow()
            return
        if self._office is None or self._office[0].leader != mine:
            board = FencedBoard(self._space, mine, self._known, self._clock)
            self._office = board, Term(board, self._orders)
            events.info("elected", gatherer=mine.gatherer, term=mine.term)
        try:
            await self._office[1].step()
        except DeposedError as error:
            self._office = None
            events.info("deposed", reason=str(error))

    async def resign(self) -> None:
        """Let somebody else lead at once."""
        self._office = None
        await self._candidate.resign()

    async def _follow(self) -> None:
        """Now and then, put back the plan that I know if the whiteboard has forgotten it."""
        self._steps += 1
        leader = self._candidate.seen
        if self._steps % FOLLOW_STEPS or leader is None:
            return
        newer = self._known.newer_than(await self._space.read(template(PlanPosted)))
        if newer is not None:
            await self._space.out(newer, given=IfHolds(leader))
            events.warning("restored", epoch=newer.epoch)
