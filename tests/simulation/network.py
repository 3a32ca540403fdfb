"""The whiteboard of a simulation, and the lines to it.

`SimSpace` is what a participant has: the in-memory whiteboard behind a line that takes time, drops requests and
answers, and is cut. It tries again as the real client does, so a request may be carried out twice.
"""

import asyncio
import contextvars
import copy
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gcs.core.messages.template import Template
from gcs.core.messages.tuples import Announcement, Consumed, Control, PlanPosted, Tuple
from gcs.errors import SpaceError
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.space.port import BOARD, DeadLetter, Flow, IfAbsent, IfHolds, InboxSize, Numbered, Receipt, Taken
from gcs.ports.space.redis_connection import OutOfMemoryError
from tests.simulation.virtual_time import SimLoop

#: the longest single wait at the server, and the pauses between two tries
BLOCK_S, FIRST_PAUSE_S, LAST_PAUSE_S = 4.0, 0.02, 1.0

#: what has happened when a participant has posted a tuple of that type
_MOMENTS: dict[type[Any], str] = {PlanPosted: "planned", Announcement: "announced", Control: "controlled"}


class BoardClock:
    """Time of the server: that of the world."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        return self._loop.now

    def on_tick(self, look: Callable[[], None]) -> None:
        """Time is never moved by hand."""

    async def wait(self, change: asyncio.Event, deadline: float | None) -> None:
        if deadline is None:
            await change.wait()
        elif not change.is_set():
            woken = self._loop.create_future()
            change._waiters.append(woken)  # type: ignore[attr-defined]  # as `wait` does, without a timeout's cost
            timer = self._loop.wake_at(deadline, _wake, woken, contextvars.copy_context())
            try:
                await woken
            finally:
                timer.cancel()
                change._waiters.remove(woken)  # type: ignore[attr-defined]


def _wake(woken: "asyncio.Future[bool]") -> None:
    if not woken.done():
        woken.set_result(False)


@dataclass(slots=True)
class Network:
    """What is wrong with the lines and the server at the moment. Times are those of the world."""

    loop: SimLoop
    chance: random.Random
    board: MemoryBoard
    #: seconds that a message takes, from and to
    delay_s: tuple[float, float] = (0.0005, 0.003)
    #: share of the messages that are lost
    loss: float = 0.0
    #: the server is down, or out of memory, until then
    down_until: float = 0.0
    short_until: float = 0.0
    #: told of what a participant has just done; may return what it has to wait for, if something happens to it then
    on_moment: Callable[[str], Awaitable[None] | None] | None = None
    #: machine → it is cut off until then
    cut_until: dict[str, float] = field(default_factory=dict)

    def passes(self, machine: str) -> bool:
        """Whether a message of this moment arrives."""
        now = self.loop.now
        if now < self.down_until or now < self.cut_until.get(machine, 0.0):
            return False
        return not self.loss or self.chance.random() >= self.loss

    @property
    def is_short(self) -> bool:
        return self.loop.now < self.short_until


def forget_everything(board: MemoryBoard) -> None:
    """As FLUSHALL. Ids go on: those of Redis are moments."""
    for inbox in board.inboxes.values():
        inbox.entries.clear()
        inbox.size_bytes = 0
        for book in (inbox.sent, inbox.committed, inbox.ahead):
            book.clear()
    board.dead.clear()
    board.tickets.clear()
    board.ticked()


class Backup:
    """A whiteboard as its file had it at one moment."""

    def __init__(self, board: MemoryBoard) -> None:
        self._inboxes = {
            place: (dict(copy.deepcopy(inbox.entries)), inbox.size_bytes, copy.deepcopy(
                (inbox.sent, inbox.committed, inbox.ahead)))
            for place, inbox in board.inboxes.items()
        }  # fmt: skip
        self._tickets = dict(board.tickets)

    def restore(self, board: MemoryBoard) -> None:
        """Roll the whiteboard back to it."""
        for place, inbox in board.inboxes.items():
            entries, size, books = self._inboxes.get(place, ({}, 0, ({}, {}, {})))
            inbox.entries, inbox.size_bytes = copy.deepcopy(entries), size
            inbox.sent, inbox.committed, inbox.ahead = copy.deepcopy(books)
        board.tickets = dict(self._tickets)
        board.ticked()


class SimSpace:
    """`Space` behind a simulated line."""

    def __init__(
        self, network: Network, name: str, machine: str, settings: SpaceSettings, on_post: Callable[[Any], None]
    ) -> None:
        self._inner = MemorySpace(network.board, name)
        self._network, self._machine, self._patience_s, self._on_post = network, machine, settings.patience_s, on_post
        self.name, self.refusals, self.unread = name, self._inner.refusals, self._inner.unread

    async def _ask(
        self, call: Callable[[], Awaitable[Any]], writes: bool = True, memory_s: float | None = None, moment: str = ""
    ) -> Any:
        network, begun, pause_s = self._network, None, FIRST_PAUSE_S
        while True:
            await network.loop.pass_seconds(network.chance.uniform(*network.delay_s))
            is_short = writes and network.is_short
            if not is_short and network.passes(self._machine):
                reply = await call()
                if moment and network.on_moment and reply and (ill := network.on_moment(moment)):
                    await ill
                await network.loop.pass_seconds(network.chance.uniform(*network.delay_s))
                if network.passes(self._machine):
                    return reply
            now = network.loop.now
            begun = now if begun is None else begun
            if is_short and now - begun + pause_s > (self._patience_s if memory_s is None else memory_s):
                raise OutOfMemoryError("the simulated whiteboard is out of memory")
            if now - begun + pause_s > self._patience_s:
                raise SpaceError(f"the simulated whiteboard did not answer for {self._patience_s:g} s")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_PAUSE_S)

    async def _wait(
        self, call: Callable[[float], Awaitable[Any]], timeout_s: float | None, writes: bool, moment: str = ""
    ) -> Any:
        """A verb that waits at the server, a while at a time; until it returns something."""
        loop = self._network.loop
        until = None if timeout_s is None else loop.now + timeout_s
        while True:
            wait_s = BLOCK_S if until is None else max(0.0, min(BLOCK_S, until - loop.now))
            reply = await self._ask(lambda wait_s=wait_s: call(wait_s), writes, moment=moment)
            if reply or (until is not None and loop.now >= until):
                return reply

    async def out(
        self, item: Tuple, *, to: str = BOARD, ttl_s: float | None = None, given: IfAbsent | IfHolds | None = None
    ) -> Receipt:
        if isinstance(item, Consumed) and given is None:
            return await self.out_many(type(item), [item], to=to, ttl_s=ttl_s)

        async def put() -> Receipt:
            receipt = await self._inner.out(item, to=to, ttl_s=ttl_s, given=given)
            if receipt.accepted:
                self._on_post(item)
            return receipt

        receipt: Receipt = await self._ask(put, moment=_MOMENTS.get(type(item), ""))
        return receipt

    async def out_many(
        self,
        kind: type[Any],
        items: Sequence[Any],
        *,
        to: str,
        numbered: Numbered | None = None,
        ttl_s: float | None = None,
    ) -> Receipt:
        first, base = (numbered.first, numbered.base) if numbered else (1, 1)
        try:
            receipt: Receipt = await self._ask(
                lambda: self._inner.out_many(kind, items, to=to, numbered=numbered, ttl_s=ttl_s),
                memory_s=0.0,
                moment="sent",
            )
        except OutOfMemoryError:
            return Receipt(0, full=True, sent=first - 1, committed=base - 1)
        return receipt

    async def take(
        self, wanted: Template[Any], *, at: str = BOARD, timeout_s: float | None = 0.0, lease_s: float | None = None
    ) -> Any:
        return await self._wait(
            lambda wait_s: self._inner.take(wanted, at=at, timeout_s=wait_s, lease_s=lease_s), timeout_s, True
        )

    async def take_many(
        self,
        wanted: Sequence[Template[Any]],
        *,
        at: str,
        limit: int,
        timeout_s: float | None = 0.0,
        lease_s: float | None = None,
    ) -> list[Taken[Any]]:
        taken: list[Taken[Any]] = await self._wait(
            lambda wait_s: self._inner.take_many(wanted, at=at, limit=limit, timeout_s=wait_s, lease_s=lease_s),
            timeout_s,
            False,
            "took",
        )
        return taken

    async def ack(self, taken: Iterable[Taken[Any]]) -> int:
        held = list(taken)
        return int(await self._ask(lambda: self._inner.ack(held), writes=False, moment="acked"))

    async def renew(self, taken: Sequence[Taken[Any]]) -> list[Taken[Any]]:
        renewed: list[Taken[Any]] = await self._ask(lambda: self._inner.renew(taken), writes=False)
        return renewed

    async def release(self, taken: Sequence[Taken[Any]]) -> None:
        await self._ask(lambda: self._inner.release(taken), writes=False)

    async def read(self, wanted: Template[Any], *, at: str = BOARD, timeout_s: float | None = 0.0) -> Any:
        return await self._wait(lambda wait_s: self._inner.read(wanted, at=at, timeout_s=wait_s), timeout_s, False)

    async def scan(self, wanted: Template[Any], *, at: str = BOARD) -> list[Any]:
        found: list[Any] = await self._ask(lambda: self._inner.scan(wanted, at=at), writes=False)
        return found

    async def count(self, wanted: Template[Any], *, at: str = BOARD) -> int:
        return int(await self._ask(lambda: self._inner.count(wanted, at=at), writes=False))

    async def watch(self, wanted: Template[Any], *, at: str = BOARD) -> AsyncIterator[Any]:
        async for item in self._inner.watch(wanted, at=at):
            await self._ask(_nothing, writes=False)
            yield item

    async def count_unread(self, at: str) -> int:
        return int(await self._ask(lambda: self._inner.count_unread(at), writes=False))

    async def flows(self, kind: type[Consumed], *, at: str) -> dict[str, Flow]:
        flows: dict[str, Flow] = await self._ask(lambda: self._inner.flows(kind, at=at), writes=False)
        return flows

    async def ticket(self, name: str, floor: int = 0) -> int:
        return int(await self._ask(lambda: self._inner.ticket(name, floor)))

    async def time(self) -> float:
        async def there() -> float:
            return 1_700_000_000.0 + self._network.loop.now

        return float(await self._ask(there, writes=False))

    async def inbox_sizes(self) -> list[InboxSize]:
        sizes: list[InboxSize] = await self._ask(self._inner.inbox_sizes, writes=False)
        return sizes

    async def dead_letters(self, at: str, limit: int = 100) -> list[DeadLetter]:
        letters: list[DeadLetter] = await self._ask(lambda: self._inner.dead_letters(at, limit), writes=False)
        return letters

    async def remove(self, wanted: Template[Any], *, at: str = BOARD) -> int:
        return int(await self._ask(lambda: self._inner.remove(wanted, at=at)))

    async def remove_dead_letters(self, at: str) -> int:
        return int(await self._ask(lambda: self._inner.remove_dead_letters(at)))

    async def close(self) -> None:
        return None


async def _nothing() -> None:
    return None
