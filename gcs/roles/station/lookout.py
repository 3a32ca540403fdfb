"""The lookout: reads the whiteboard every second, and keeps what there is to see.

Whoever asks the station is answered from here, so that a hundred open pages ask the whiteboard no more than one does.

Invariant: a look reads; it changes nothing. If the whiteboard cannot be reached the last look stays, and says how old
it is. It must not know HTTP.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from gcs.core.template import template
from gcs.core.tuples import Access, Charter, Control, Leader, Member, PlanPosted
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.port import Space

#: seconds between two looks
LOOK_S = 1.0

events = Events("station")


@dataclass(frozen=True, slots=True)
class Board:
    """What hangs on the board of a crawl."""

    #: seconds since the epoch
    at: float = 0.0
    charter: Charter | None = None
    control: Control | None = None
    leader: Leader | None = None
    plan: PlanPosted | None = None
    members: tuple[Member, ...] = ()
    keys: tuple[Access, ...] = ()


class Lookout:
    """Looks, and tells who listens."""

    def __init__(self, space: Space, clock: Callable[[], float] = time.time) -> None:
        self._space, self._clock = space, clock
        self._listeners: list[Callable[[Board], None]] = []
        self.board = Board()

    def listen(self, listener: Callable[[Board], None]) -> None:
        """Call this after each look."""
        self._listeners.append(listener)

    def age_s(self) -> float:
        """Seconds since the last look that succeeded."""
        return self._clock() - self.board.at

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except SpaceError as error:
                events.warning("unreachable", reason=str(error))
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Look once."""
        space = self._space
        self.board = Board(
            at=self._clock(),
            charter=await space.read(template(Charter)),
            control=await space.read(template(Control)),
            leader=await space.read(template(Leader)),
            plan=await space.read(template(PlanPosted)),
            members=tuple(await space.scan(template(Member))),
            keys=tuple(await space.scan(template(Access))),
        )
        for listener in self._listeners:
            listener(self.board)
