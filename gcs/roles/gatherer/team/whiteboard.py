"""A gatherer at the whiteboard: the tuples on the board that it follows, the tuples that it posts, its heartbeat.

Every task below waits for the whiteboard so that the gatherer's turn never has to:

    watch    the newest plan, announcement, control and charter   → fields    read by the turn
             notes about shared hosts                             → notes     emptied by the turn
    post     tuples for the board                                             filled by the turn
    beat     the gatherer's Member tuple; its receipt renews the lease

Blocks and parts of ranges do not pass here: see `block_exchange`.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from gcs.core.messages.election import Tenure
from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Account,
    Announcement,
    BusyNote,
    Charter,
    Control,
    Member,
    PlanPosted,
    Posted,
    RobotsNote,
)
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.clock import lease_time
from gcs.ports.tasks import BackgroundTasks
from gcs.roles.gatherer.membership import MemberContext

events = Events("team")

#: what a gatherer watches on the board
WATCHED: tuple[type[Posted], ...] = (PlanPosted, Announcement, Control, Charter, RobotsNote, BusyNote)
#: seconds for which a gatherer that has left for good stays on the board as gone
GONE_S = 120.0
#: seconds that a farewell to the whiteboard may take
LEAVE_S = 5.0


class Whiteboard:
    """What one gatherer reads and writes on the board."""

    def __init__(self, context: MemberContext, next_heartbeat: Callable[[], Member], tasks: BackgroundTasks) -> None:
        self._context, self._space, self._next_heartbeat, self._tasks = context, context.space, next_heartbeat, tasks
        #: one heartbeat at a time: an older one must not replace a newer one
        self._beating = asyncio.Lock()
        self._tenure: Tenure | None = None
        self._posts: asyncio.Queue[tuple[Posted, float]] = asyncio.Queue()  # with their lifetime
        self.plan: PlanPosted | None = None
        self.announcement: Announcement | None = None
        self.control: Control | None = None
        self.charter: Charter | None = None
        self.notes: deque[RobotsNote | BusyNote] = deque()

    def start(self) -> None:
        self._tasks.start(*(self._watch(kind) for kind in WATCHED), self._post(), self._beat_on())

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

    def may_fetch(self) -> bool:
        """Whether the gatherer's lease holds by its own clock: the others still count on it."""
        return self._tenure is not None and self._tenure.holds(lease_time())

    def post(self, item: Posted, ttl_s: float) -> None:
        """Put a tuple on the board, soon."""
        self._posts.put_nowait((item, ttl_s))

    async def beat(self) -> None:
        async with self._beating:
            sent_at = lease_time()
            await self._space.out(self._next_heartbeat(), ttl_s=self._context.settings.lease_s)
            self._tenure = Tenure(sent_at, self._context.settings.lease_s)
        self._tasks.request_turn()

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
                case RobotsNote() | BusyNote():
                    self.notes.append(item)
            self._tasks.request_turn()

    async def _post(self) -> None:
        while True:
            item, ttl_s = await self._posts.get()
            await self._space.out(item, ttl_s=ttl_s)

    async def _beat_on(self) -> None:
        while True:
            await self.beat()
            await asyncio.sleep(self._context.settings.beat_s)
