"""The whiteboard on Redis streams: the port's verbs, put together from the inboxes and the board.

Consumed and posted tuples differ in how they come and go; looking at them is the same for both, and is here.

Invariant: a verb that returns has seen the server's answer; nothing is buffered on this side.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from gcs.core.messages.codec import decode, encode
from gcs.core.messages.template import Template
from gcs.core.messages.tuples import Consumed, Posted, Tuple
from gcs.errors import CodecError, UsageError
from gcs.events import Events
from gcs.ports.space.address import SpaceSettings, parse
from gcs.ports.space.keys import Keys, checked, split_key
from gcs.ports.space.port import (
    BOARD,
    DeadLetter,
    Flow,
    Handle,
    IfAbsent,
    IfHolds,
    InboxSize,
    Numbered,
    Receipt,
    Space,
    Taken,
    check_place,
)
from gcs.ports.space.redis_connection import RedisConnection, Script, connect
from gcs.ports.space.redis_inbox import BLOCK_S, Inboxes, milliseconds

T = TypeVar("T", bound=Tuple)
C = TypeVar("C", bound=Consumed)

#: tuples looked at in one go
PAGE = 500

events = Events("space")

POST, LOOK, REMOVE, TICKET = (Script(name) for name in ("post", "look", "remove", "ticket"))


class RedisSpace:
    """`Space` on a Redis or Valkey server. Open one with `open_space`."""

    def __init__(self, connection: RedisConnection, crawl: str, name: str, settings: SpaceSettings) -> None:
        self.name = checked(name, "participant")
        self._connection = connection
        self._keys = Keys(crawl)
        self._inboxes = Inboxes(connection, self._keys, name, settings)
        #: what was reported as unreadable: stream, and the type and version bytes
        self._reported: set[tuple[str, bytes]] = set()

    async def out(
        self, item: Tuple, *, to: str = BOARD, ttl_s: float | None = None, given: IfAbsent | IfHolds | None = None
    ) -> Receipt:
        if isinstance(item, Consumed):
            if given is not None:
                raise UsageError(f"conditions are for the board; a {item.name} tuple goes to an inbox")
            return await self.out_many(type(item), [item], to=to, ttl_s=ttl_s)
        assert isinstance(item, Posted)
        check_place(type(item), to)
        fence = given.item if isinstance(given, IfHolds) else item
        condition = {IfHolds: "holds", IfAbsent: "absent"}.get(type(given), "")
        keys = self._keys.inbox(BOARD, type(item)) + self._keys.inbox(BOARD, type(fence))
        words = (item.key, encode(item), milliseconds(ttl_s), condition, fence.key, encode(fence))
        done = await self._connection.run(POST, keys, words)
        return Receipt(accepted=done, refused=not done)

    async def out_many(
        self,
        kind: type[C],
        items: Sequence[C],
        *,
        to: str,
        numbered: Numbered | None = None,
        ttl_s: float | None = None,
    ) -> Receipt:
        check_place(kind, to)
        return await self._inboxes.put(kind, items, to, numbered, ttl_s)

    async def take(
        self, wanted: Template[T], *, at: str = BOARD, timeout_s: float | None = 0.0, lease_s: float | None = None
    ) -> Taken[T] | None:
        if at != BOARD:
            taken = await self.take_many([wanted], at=at, limit=1, timeout_s=timeout_s, lease_s=lease_s)
            return taken[0] if taken else None
        async with aclosing(self._follow(wanted, at, timeout_s)) as entries:
            async for entry_id, item in entries:
                if await self._connection.run(REMOVE, self._keys.inbox(at, wanted.kind), [entry_id]):
                    return Taken(item, Handle(at, wanted.kind, entry_id, 0))
        return None

    async def take_many(
        self,
        wanted: Sequence[Template[Any]],
        *,
        at: str,
        limit: int,
        timeout_s: float | None = 0.0,
        lease_s: float | None = None,
    ) -> list[Taken[Any]]:
        for template in wanted:
            check_place(template.kind, at)
        return await self._inboxes.take(wanted, at, limit, timeout_s, lease_s)

    async def ack(self, taken: Iterable[Taken[Any]]) -> int:
        return await self._inboxes.ack(each for each in taken if each.handle.place != BOARD)

    async def renew(self, taken: Sequence[Taken[Any]]) -> list[Taken[Any]]:
        return await self._inboxes.renew(taken)

    async def release(self, taken: Sequence[Taken[Any]]) -> None:
        await self._inboxes.release(taken)

    async def read(self, wanted: Template[T], *, at: str = BOARD, timeout_s: float | None = 0.0) -> T | None:
        async with aclosing(self._follow(wanted, at, timeout_s)) as entries:
            async for _, item in entries:
                return item
        return None

    async def scan(self, wanted: Template[T], *, at: str = BOARD) -> list[T]:
        return [item async for _, item in self._follow(wanted, at, 0.0)]

    async def count(self, wanted: Template[Any], *, at: str = BOARD) -> int:
        if wanted.patterns:
            return len(await self.scan(wanted, at=at))
        check_place(wanted.kind, at)
        number: int = await self._connection.run(LOOK, self._keys.inbox(at, wanted.kind), ["-", 0])
        return number

    async def watch(self, wanted: Template[T], *, at: str = BOARD) -> AsyncIterator[T]:
        async with aclosing(self._follow(wanted, at, None)) as entries:
            async for _, item in entries:
                yield item

    async def _follow(
        self, wanted: Template[T], at: str, timeout_s: float | None
    ) -> AsyncGenerator[tuple[bytes, T], None]:
        """What fits, with its id: what is there, then what comes until the time is over."""
        check_place(wanted.kind, at)
        keys = self._keys.inbox(at, wanted.kind)
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else loop.time() + timeout_s
        last = b"0-0"
        while True:
            entries = await self._connection.run(LOOK, keys, [b"(" + last, PAGE])
            for last, fields in entries:
                item = self._decoded(keys.stream, fields[1])
                if item is not None and wanted.matches(item):
                    yield last, item
            news = len(entries) == PAGE
            while not news:
                wait_s = BLOCK_S if deadline is None else min(BLOCK_S, deadline - loop.time())
                if wait_s <= 0:
                    return
                block = ("BLOCK", milliseconds(wait_s), "STREAMS", keys.stream, last)
                news = bool(await self._connection.command("XREAD", "COUNT", 1, *block))

    def _decoded(self, stream: str, payload: bytes) -> Any:
        """The tuple, or None if it cannot be read: it stays for newer versions of GCS, and is reported once."""
        try:
            return decode(payload)
        except CodecError as error:
            if (stream, payload[:2]) not in self._reported:
                self._reported.add((stream, payload[:2]))
                events.warning("unreadable", stream=stream, reason=str(error))
            return None

    async def flows(self, kind: type[Consumed], *, at: str) -> dict[str, Flow]:
        check_place(kind, at)
        return await self._inboxes.flows(kind, at)

    async def ticket(self, name: str, floor: int = 0) -> int:
        number: int = await self._connection.run(TICKET, [self._keys.tickets], [name, floor])
        return number

    async def inbox_sizes(self) -> list[InboxSize]:
        sizes = []
        for key in sorted(await self._connection.keys(self._keys.pattern)):
            place, kind = self._keys.parse(key) or ("", "")
            if not kind or ":" in kind or kind == "tickets":
                continue
            tuples = await self._connection.command("XLEN", key)
            if kind == "dead":
                size_bytes = sum(len(letter.payload) for letter in await self.dead_letters(place, limit=tuples or 1))
                held = 0
            else:
                size_bytes = int(await self._connection.command("HGET", f"{key}:book", "bytes") or 0)
                groups = await self._connection.command("XINFO", "GROUPS", key) if place != BOARD else []
                held = sum(group[group.index(b"pending") + 1] for group in groups)
            sizes.append(InboxSize(place, kind, tuples, size_bytes, held))
        return sizes

    async def dead_letters(self, at: str, limit: int = 100) -> list[DeadLetter]:
        entries = await self._connection.command("XRANGE", self._keys.dead(at), "-", "+", "COUNT", limit)
        letters = []
        for entry_id, fields in entries:
            field = dict(zip(fields[::2], fields[1::2]))
            text = {name: field[name].decode() for name in (b"t", b"r", b"s", b"w")}
            numbers = int(field[b"n"]), int(field[b"d"])
            letters.append(
                DeadLetter(entry_id.decode(), text[b"t"], text[b"r"], field[b"p"], text[b"s"], *numbers, text[b"w"])
            )
        return letters

    async def remove(self, wanted: Template[Any], *, at: str = BOARD) -> int:
        ids = [entry_id async for entry_id, _ in self._follow(wanted, at, 0.0)]
        keys = self._keys.inbox(at, wanted.kind)
        return sum([await self._connection.run(REMOVE, keys, ids[i : i + PAGE]) for i in range(0, len(ids), PAGE)])

    async def remove_dead_letters(self, at: str) -> int:
        letters: int = await self._connection.command("XLEN", self._keys.dead(at))
        await self._connection.command("DEL", self._keys.dead(at))
        return letters

    async def close(self) -> None:
        await self._connection.close()


async def open_space(url: str, *, crawl: str, name: str, settings: SpaceSettings | None = None) -> Space:
    """The whiteboard of a crawl at this URL, for the participant `name`.

    Waits a little for a server that is not up yet, and longer (`patience_s`) for one that goes away later.
    """
    settings = settings or SpaceSettings()
    connection = await connect(parse(url), min(settings.open_s, settings.patience_s))
    connection.patience_s = settings.patience_s
    try:
        return RedisSpace(connection, crawl, name, settings)
    except BaseException:
        await connection.close()
        raise


async def crawls_at(url: str) -> list[str]:
    """The names of the crawls that have a whiteboard at this URL."""
    connection = await connect(parse(url), SpaceSettings().open_s)
    try:
        return sorted({name for key in await connection.keys("{gcs:*") if (name := split_key(key)[0])})
    finally:
        await connection.close()
