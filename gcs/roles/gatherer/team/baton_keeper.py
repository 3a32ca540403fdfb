"""The baton keeper: a gatherer's end of the batons on the whiteboard. `core.polite.batons` decides, this carries out.

    watch    batons and calls            → seen      emptied by the turn
    lease    renews the gatherer's BatonLease while the gatherer has batons or waits for one; looks at the whole board
             where a call was not heard
    post     calls, and batons that are taken or passed on              filled by the turn

Nothing is started before a plan shares a host.
"""

import asyncio
from collections import deque

from gcs.core.messages.election import Tenure
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Baton, BatonCall, BatonLease, Posted
from gcs.core.polite.batons import BATON_S, Batons, BatonStep
from gcs.ports.space.port import IfAbsent, IfHolds
from gcs.ports.system.tasks import BackgroundTasks
from gcs.roles.gatherer.membership import GathererPort, MemberContext

#: the lease of a gatherer's batons, as a part of its membership's
LEASE_PART = 0.25
#: postings under way at once
POSTS = 4


class BatonKeeper:
    """The batons of one gatherer."""

    def __init__(self, context: MemberContext, port: GathererPort, tasks: BackgroundTasks) -> None:
        self._space, self._clock, self._tasks = context.space, port.clock, tasks
        self._lease_s = context.settings.lease_s * LEASE_PART
        self._me = f"{context.name}/{context.run}"
        self._batons = Batons(self._me, self._lease_s, port.dispatcher.window)
        self._seen: deque[Baton | BatonCall] = deque()
        self._steps: asyncio.Queue[BatonStep] = asyncio.Queue()
        self._needed = asyncio.Event()
        self._look_now = asyncio.Event()
        self._mine = BatonLease(self._me, 0)
        self._is_started = False

    def start(self) -> None:
        """A plan shares hosts: follow their batons from now on."""
        if not self._is_started:
            self._is_started = True
            posts = (self._post() for _ in range(POSTS))
            self._tasks.start(self._watch(Baton), self._watch(BatonCall), self._lease(), *posts)

    def begin(self, now: float) -> None:
        """A turn begins: take in what was seen."""
        while self._seen:
            item = self._seen.popleft()
            if isinstance(item, Baton):
                self._batons.saw(item, now)
            else:
                self._batons.heard(item, now)

    def turn_ended(self, now: float) -> None:
        """A turn is over: pass batons on, and call for others."""
        if not self._is_started:
            return
        for step in self._batons.steps(now):
            self._steps.put_nowait(step)
        if self._batons.is_needed:
            self._needed.set()
        else:
            self._needed.clear()

    async def _watch(self, kind: type[Posted]) -> None:
        async for item in self._space.watch(template(kind)):
            assert isinstance(item, Baton | BatonCall)
            self._seen.append(item)
            self._tasks.request_turn()

    async def _post(self) -> None:
        while True:
            item, before = await self._steps.get()
            if isinstance(item, BatonCall):
                await self._space.out(item, ttl_s=2 * self._lease_s)
                continue
            given = IfAbsent() if before is None else IfHolds(before)
            if (await self._space.out(item, ttl_s=BATON_S, given=given)).refused:
                self._look_now.set()

    async def _lease(self) -> None:
        while True:
            await self._needed.wait()
            await self._renew()
            if self._look_now.is_set() or self._batons.wants_look(self._clock()):
                self._look_now.clear()
                await self._look()
            self._tasks.request_turn()
            try:
                async with asyncio.timeout(self._lease_s / 4):
                    await self._look_now.wait()
            except TimeoutError:
                continue

    async def _renew(self) -> None:
        sent_at, before = self._clock(), self._mine
        mine = self._mine = BatonLease(self._me, before.number + 1)
        receipt = await self._space.out(mine, ttl_s=self._lease_s, given=IfHolds(before))
        # refused, but there: the whiteboard's first answer was lost
        if receipt.refused and await self._space.read(template(BatonLease, holder=self._me)) != mine:
            self._batons.lost()
            sent_at = self._clock()
            await self._space.out(mine, ttl_s=self._lease_s)
        self._batons.renewed(Tenure(sent_at, self._lease_s).until)

    async def _look(self) -> None:
        """Read the whole board; what was seen until now is older."""
        self.begin(self._clock())
        batons = await self._space.scan(template(Baton))
        alive = [lease.holder for lease in await self._space.scan(template(BatonLease))]
        self._batons.looked(batons, alive, self._clock())
