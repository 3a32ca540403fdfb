"""The whiteboard on Redis streams: `RedisSpace` has the port's verbs, `Inboxes` how consumed tuples come and go.

Posted tuples, on the board, come and go in `RedisSpace`. Looking at tuples is the same for both kinds.

Invariant: a verb that returns has seen the server's answer; nothing is buffered on this side.
"""

import asyncio
import contextlib
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec

from gcs.core.messages.codec import DIALECT, decode_as, encode
from gcs.core.messages.seal import Seal, bare, place_of
from gcs.core.messages.template import Template
from gcs.core.messages.tuples import Consumed, Posted, Tuple
from gcs.errors import CodecError, SealError, UnknownVersionError, UsageError
from gcs.events import Events
from gcs.ports.space.address import SpaceSettings, parse
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
    Refusals,
    Space,
    Taken,
    Unread,
    check_place,
    checked,
)
from gcs.ports.space.redis_connection import (
    ForeignKeyError,
    NoGroupError,
    OutOfMemoryError,
    RedisConnection,
    Script,
    connect,
)
from gcs.ports.space.team_key import team_key

T = TypeVar("T", bound=Tuple)
C = TypeVar("C", bound=Consumed)

#: the consumer group of every inbox
GROUP = b"gcs"
#: tuples looked at in one go
PAGE = 500
#: longest single wait on the server
BLOCK_S = 4.0
#: longest time between two looks at what others hold too long; a fourth of the lease if that is shorter
CLAIM_S = 4.0
#: idle time of a released tuple: longer than any lease
RELEASED_MS = 10**9
#: who holds what was released, and what programs of this version cannot read; participants are not called so
NOBODY, LEFT = "-", f"?{DIALECT}"

#: tuples that a take with patterns looks at in one go; those that do not fit are given back
SIFTED = 1000
#: tuples in one ack: as many as Lua can unpack with room to spare
ACKED = 1000

#: a tuple as it comes from the server: its type, then id, payload, sender, number, deliveries
Row = tuple[type[Tuple], list[Any]]

events = Events("space")

pack = msgspec.msgpack.Encoder().encode

POST, LOOK, REMOVE, TICKET = (Script(name) for name in ("post", "look", "remove", "ticket"))
OUT, TAKE, ACK, HOLD, ASIDE, REFUSE = (Script(name) for name in ("out", "take", "ack", "hold", "aside", "refuse"))


class RedisSpace:
    """`Space` on a Redis or Valkey server. Open one with `open_space`."""

    def __init__(
        self, connection: RedisConnection, crawl: str, name: str, settings: SpaceSettings, team_key: bytes = b""
    ) -> None:
        self.name = checked(name, "participant")
        self._connection = connection
        self._keys = Keys(crawl)
        self._seal = Seal(team_key)
        self._inboxes = Inboxes(connection, self._keys, name, settings, self._seal)
        self.refusals, self.unread = self._inboxes.refusals, self._inboxes.unread

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
        target, guard = self._keys.inbox(BOARD, type(item)), self._keys.inbox(BOARD, type(fence))
        payload, guarding = (
            self._seal.close(encode(each), place_of(at.stream)) for each, at in ((item, target), (fence, guard))
        )
        words = (item.key, payload, milliseconds(ttl_s), condition, fence.key, guarding)
        done = await self._connection.run(POST, target + guard, words)
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
                item = self._read(wanted.kind, keys.stream, last, fields)
                if item is not None and wanted.matches(item):
                    yield last, item
            news = len(entries) == PAGE
            while not news:
                wait_s = BLOCK_S if deadline is None else min(BLOCK_S, deadline - loop.time())
                if wait_s <= 0:
                    return
                block = ("BLOCK", milliseconds(wait_s), "STREAMS", keys.stream, last)
                try:
                    news = bool(await self._connection.command("XREAD", "COUNT", 1, *block))
                except ForeignKeyError:  # the next look moves it out of the way
                    news = True

    def _read(self, kind: type[Tuple], stream: str, entry_id: bytes, fields: list[bytes]) -> Any:
        """The tuple, or None if it is not ours or cannot be read: it stays, for programs that can; reported once."""
        field = dict(zip(fields[::2], fields[1::2]))
        payload = field.get(b"p", b"")
        try:
            place = place_of(stream, field.get(b"s", b""), field.get(b"n", b""))
            return decode_as(kind, self._seal.open(payload, place))
        except SealError as error:
            if self.refusals.add(kind, stream, entry_id, str(error)):
                events.warning("refused", stream=stream, reason=f"a {kind.name} tuple {error}")
            return None
        except CodecError as error:
            self.unread.see(BOARD, kind, error)
            return None

    async def count_unread(self, at: str) -> int:
        return await self._inboxes.count_unread(at)

    async def flows(self, kind: type[Consumed], *, at: str) -> dict[str, Flow]:
        check_place(kind, at)
        return await self._inboxes.flows(kind, at)

    async def ticket(self, name: str, floor: int = 0) -> int:
        number: int = await self._connection.run(TICKET, [self._keys.tickets], [name, floor])
        return number

    async def time(self) -> float:
        seconds, microseconds = await self._connection.command("TIME")
        return int(seconds) + int(microseconds) / 1e6

    async def inbox_sizes(self) -> list[InboxSize]:
        sizes = []
        for key in sorted(await self._connection.keys(self._keys.pattern)):
            place, kind = self._keys.parse(key) or ("", "")
            if kind and ":" not in kind and kind != "tickets":
                with contextlib.suppress(ForeignKeyError):
                    sizes.append(await self._inbox_size(key, place, kind))
        return sizes

    async def _inbox_size(self, key: str, place: str, kind: str) -> InboxSize:
        tuples = await self._connection.command("XLEN", key)
        if kind == "dead":
            size_bytes = sum(len(letter.payload) for letter in await self.dead_letters(place, limit=tuples or 1))
            return InboxSize(place, kind, tuples, size_bytes, 0)
        booked = await self._connection.command("HGET", f"{key}:book", "bytes") or b"0"
        size_bytes = int(booked) if booked.isdigit() else 0
        groups = await self._connection.command("XINFO", "GROUPS", key) if place != BOARD else []
        held = sum(group[group.index(b"pending") + 1] for group in groups)
        return InboxSize(place, kind, tuples, size_bytes, held)

    async def dead_letters(self, at: str, limit: int = 100) -> list[DeadLetter]:
        entries = await self._connection.command("XRANGE", self._keys.dead(at), "-", "+", "COUNT", limit)
        letters = []
        for entry_id, fields in entries:
            field = defaultdict(bytes, zip(fields[::2], fields[1::2]))  # somebody else's entry may have any fields
            kind, reason, sender, taker = (field[name].decode("utf-8", "replace") for name in (b"t", b"r", b"s", b"w"))
            number, deliveries = (int(value) if value.isdigit() else 0 for value in (field[b"n"], field[b"d"]))
            payload = bare(field[b"p"])
            letters.append(DeadLetter(entry_id.decode(), kind, reason, payload, sender, number, deliveries, taker))
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


@dataclass(frozen=True, slots=True)
class _TakeRequest:
    """What one take asks for."""

    kinds: tuple[type[Tuple], ...]
    place: str
    limit: int
    lease_ms: int


class Inboxes:
    """The inboxes of a space: consumed tuples in streams with one consumer group, leases by idle time.

    A take is XREADGROUP, which is the fastest way to get tuples. Once in a while (`CLAIM_S`), and before a take comes
    back with nothing, a script looks for what was held too long and claims it. The first takes of a participant bring
    back what an earlier run of its name held.

    What this program cannot read, because another version of GCS wrote it, is held by LEFT: takers of this version pass
    over it, and the first taker of another version gets it. What is damaged becomes a dead letter. Entries that are not
    tuples at all are thrown away and counted.

    A take cancelled while it waits may leave a tuple held that nobody got: it comes back when its lease ends.

    Invariant: the book of an inbox (bytes, numbers) changes only in the scripts that change its stream.
    """

    def __init__(
        self, connection: RedisConnection, keys: "Keys", name: str, settings: SpaceSettings, seal: Seal
    ) -> None:
        self._connection, self._keys = connection, keys
        self._name, self._settings = name, settings
        self._seal, self.refusals, self.unread = seal, Refusals(), Unread()
        self._told_foreign: set[str] = set()
        #: (place, type) → where to go on with what an earlier run of me held; "" when that is over
        self._replay: defaultdict[tuple[str, type[Tuple]], str] = defaultdict(lambda: "-")
        self._replaying: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        #: (place, types) → when to look again for what lapsed
        self._next_claim: defaultdict[tuple[str, tuple[type[Tuple], ...]], float] = defaultdict(float)

    async def put(
        self, kind: type[Tuple], items: Sequence[Tuple], to: str, numbered: Numbered | None, ttl_s: float | None
    ) -> Receipt:
        sender, base, first = (
            (checked(numbered.sender, "sender"), numbered.base, numbered.first) if numbered else ("", 1, 1)
        )
        head = (self._settings.inbox_bytes, milliseconds(ttl_s), sender, base, first)
        keys, who = self._keys.inbox(to, kind), sender.encode()
        payloads = [
            self._seal.close(encode(item), place_of(keys.stream, who, b"%d" % (number if numbered else 0)))
            for number, item in enumerate(items, first)
        ]
        try:
            reply = await self._connection.run_now(OUT, keys, (*head, *payloads))
        except OutOfMemoryError:
            return Receipt(0, full=True, sent=first - 1, committed=base - 1)
        return Receipt(reply[0], full=bool(reply[1]), sent=reply[2], committed=reply[3])

    async def take(
        self, wanted: Sequence[Template[Any]], at: str, limit: int, timeout_s: float | None, lease_s: float | None
    ) -> list[Taken[Any]]:
        """Take up to `limit` tuples of each type, waiting for the first one."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else loop.time() + timeout_s
        kinds = tuple(dict.fromkeys(template.kind for template in wanted))
        lease_s = self._settings.lease_s if lease_s is None else lease_s
        reach = max(limit, SIFTED) if any(template.patterns for template in wanted) else limit
        request = _TakeRequest(kinds, at, reach, milliseconds(lease_s))
        if any(self._replay[at, kind] for kind in kinds):
            got = await self._sift(await self._own(request), wanted, at, limit)
            if got:
                return got
        while True:
            claim_in_s = self._next_claim[at, kinds] - loop.time()
            if claim_in_s > 0:
                left_s = BLOCK_S if deadline is None else deadline - loop.time()
                rows = await self._fresh(request, max(0.0, min(BLOCK_S, left_s, claim_in_s)))
                got = await self._sift(rows, wanted, at, limit)
                if got:
                    return got
            over = deadline is not None and loop.time() >= deadline
            if over or claim_in_s <= 0:
                got = await self._sift(await self._claim(request), wanted, at, limit)
                if got or over:
                    return got

    async def ack(self, taken: Iterable[Taken[Any]]) -> int:
        done = 0
        for (place, kind), group in _by_inbox(taken).items():
            once = {each.handle.id: each for each in group}
            rows = [(key.decode(), each.handle.size_bytes, each.sender, each.number) for key, each in once.items()]
            for at in range(0, len(rows), ACKED):
                words = [pack([word for row in rows[at : at + ACKED] for word in row])]
                done += await self._connection.run(ACK, self._keys.inbox(place, kind), words)
        return done

    async def renew(self, taken: Sequence[Taken[Any]]) -> list[Taken[Any]]:
        return await self._hold(taken, 0, 0, self._name)

    async def release(self, taken: Sequence[Taken[Any]]) -> None:
        """Give back, as if it had not been delivered."""
        await self._hold(taken, RELEASED_MS, -1, NOBODY)
        self._next_claim.clear()  # my own next take finds them

    async def flows(self, kind: type[Tuple], at: str) -> dict[str, Flow]:
        keys = self._keys.inbox(at, kind)
        try:
            return _flows(await self._connection.command("HGETALL", keys.book))
        except (ForeignKeyError, ValueError):  # somebody else has written there
            await self._connection.mend(keys)
            return _flows(await self._connection.command("HGETALL", keys.book))

    async def _claim(self, request: _TakeRequest) -> list[Row]:
        """What lapsed, then new tuples."""
        more, rows = await self._run_take(request, "lapsed")
        if not more:
            pause_s = min(CLAIM_S, request.lease_ms / 4000)
            self._next_claim[request.place, request.kinds] = asyncio.get_running_loop().time() + pause_s
        return rows

    async def _own(self, request: _TakeRequest) -> list[Row]:
        """What an earlier run of me held, each once."""
        async with self._replaying[request.place]:
            _, rows = await self._run_take(request, "own")
            for kind in request.kinds:
                ids = [row[0] for of_kind, row in rows if of_kind is kind]
                self._replay[request.place, kind] = f"({ids[-1].decode()}" if len(ids) == request.limit else ""
            return rows

    async def _run_take(self, request: _TakeRequest, what: str) -> tuple[bool, list[Row]]:
        keys = [self._keys.dead(request.place)]
        words = [self._name, request.limit, request.lease_ms, self._settings.max_deliveries, what, LEFT]
        for kind in request.kinds:
            keys += self._keys.inbox(request.place, kind)
            words += [kind.name, self._replay[request.place, kind] or "+"]
        buried, foreign, more, rows = await self._connection.run(TAKE, keys, words)
        self._tell_foreign(request.place, foreign)
        if buried:
            events.warning("dead-letters", inbox=request.place, tuples=buried)
        return bool(more), [(request.kinds[row[0] - 1], row[1:]) for row in rows]

    async def _fresh(self, request: _TakeRequest, wait_s: float) -> list[Row]:
        """New tuples, as soon as there are some."""
        keys = [self._keys.inbox(request.place, kind) for kind in request.kinds]
        block = ("BLOCK", milliseconds(wait_s)) if wait_s else ()
        streams = (*(each.stream for each in keys), *(">" for _ in keys))
        head = ("XREADGROUP", "GROUP", GROUP, self._name, "COUNT", request.limit, *block, "STREAMS")
        try:
            reply = await self._connection.command(*head, *streams)
        except (NoGroupError, ForeignKeyError):  # the script of a claim makes the stream and its group again
            self._next_claim.pop((request.place, request.kinds), None)
            return []
        rows: list[Row] = []
        for stream, entries in reply or ():
            kind = request.kinds[streams.index(stream.decode())]
            ours = [entry for entry in entries if _is_ours(entry[1])]
            if len(ours) < len(entries):
                await self._refuse(request.place, kind, [entry for entry in entries if not _is_ours(entry[1])])
                entries = ours
            mortal = {entry_id for entry_id, fields in entries if len(fields) > 6}
            alive = await self._alive(keys[request.kinds.index(kind)], mortal) if mortal else mortal
            rows += [
                (kind, [entry_id, fields[1], fields[3], fields[5], 1])
                for entry_id, fields in entries
                if entry_id not in mortal or entry_id in alive
            ]
        return rows

    async def _alive(self, keys: "InboxKeys", ids: set[bytes]) -> set[bytes]:
        """The tuples just delivered that have not expired."""
        words = [word for entry_id in ids for word in (entry_id, 1)]
        reply = await self._connection.run(HOLD, keys, [self._name, 0, self._name, *words])
        return {entry_id for entry_id, held in zip(ids, reply) if held}

    async def _sift(self, rows: list[Row], wanted: Sequence[Template[Any]], at: str, limit: int) -> list[Taken[Any]]:
        """Decode; keep what fits, leave what another version wrote, set aside what is damaged, give back the rest."""
        plain = {template.kind for template in wanted if not template.patterns}
        room = {template.kind: limit for template in wanted}
        fit: list[Taken[Any]] = []
        rest: list[Taken[Any]] = []
        left: list[Taken[Any]] = []
        damaged = []
        forged: defaultdict[tuple[type[Tuple], str], list[bytes]] = defaultdict(list)
        for kind, (entry_id, payload, sender, number, deliveries) in rows:
            handle = Handle(at, kind, entry_id, len(payload))
            try:
                place = place_of(self._keys.inbox(at, kind).stream, sender, number)
                item = decode_as(kind, self._seal.open(payload, place))
                taken = Taken(item, handle, sender.decode(), int(number), deliveries)
            except SealError as error:
                forged[kind, str(error)].append(entry_id)
                continue
            except UnknownVersionError as error:
                self.unread.see(at, kind, error)
                left.append(Taken(kind, handle, deliveries=deliveries))
                continue
            except (CodecError, ValueError) as error:  # ValueError: somebody else's sender or number
                damaged.append((kind, entry_id, str(error), deliveries))
                continue
            if room[kind] and (kind in plain or any(template.matches(item) for template in wanted)):
                room[kind] -= 1
                fit.append(taken)
            else:
                rest.append(taken)
        for (kind, reason), ids in forged.items():
            await self._refuse_forged(kind, at, ids, reason)
        for kind, entry_id, reason, deliveries in damaged:
            keys = (self._keys.dead(at), *self._keys.inbox(at, kind))
            await self._connection.run(ASIDE, keys, (kind.name, self._name, entry_id, reason, deliveries))
            events.warning("set-aside", inbox=at, type=kind.name, reason=reason)
        if rest:
            await self._hold(rest, RELEASED_MS, -1, NOBODY)
        if left:
            await self._hold(left, RELEASED_MS, -1, LEFT)
        return fit

    async def count_unread(self, at: str) -> int:
        number = 0
        for kind in [kind for place, kind in self.unread.kinds if place == at]:
            words = (self._keys.inbox(at, kind).stream, GROUP, "-", "+", SIFTED, LEFT)
            with contextlib.suppress(NoGroupError):
                number += len(await self._connection.command("XPENDING", *words))
        return number

    async def _refuse_forged(self, kind: type[Tuple], at: str, ids: list[bytes], reason: str) -> None:
        """Move tuples that are not of this team to the dead letters. No number is committed: it is no sender's."""
        keys = self._keys.inbox(at, kind)
        news = [self.refusals.add(kind, keys.stream, entry_id, reason) for entry_id in ids]
        if any(news):
            events.warning("refused", inbox=at, reason=f"a {kind.name} tuple {reason}")
        words = (kind.name, self._name, f"it {reason}", *ids)
        await self._connection.run(REFUSE, (self._keys.dead(at), *keys), words)

    async def _refuse(self, place: str, kind: type[Tuple], entries: list[Any]) -> None:
        """Throw away entries that are not tuples: somebody else has written them."""
        keys = (self._keys.dead(place), *self._keys.inbox(place, kind))
        words = [word for entry_id, _ in entries for word in (entry_id, "", 0)]
        self._tell_foreign(place, await self._connection.run(ASIDE, keys, (kind.name, self._name, *words)))

    def _tell_foreign(self, place: str, entries: int) -> None:
        """Say so once for each inbox; the book counts them all."""
        if entries and place not in self._told_foreign:
            self._told_foreign.add(place)
            events.warning(
                "foreign-entries", inbox=place, entries=entries, advice="something else writes to this Redis"
            )

    async def _hold(
        self, taken: Sequence[Taken[Any]], idle_ms: int, more_deliveries: int, holder: str
    ) -> list[Taken[Any]]:
        held = []
        for (place, kind), group in _by_inbox(taken).items():
            words: list[Any] = [self._name, idle_ms, holder]
            for each in group:
                words += [each.handle.id, each.deliveries + more_deliveries]
            reply = await self._connection.run(HOLD, self._keys.inbox(place, kind), words)
            held += [each for each, mine in zip(group, reply) if mine]
        return held


def _is_ours(fields: list[bytes]) -> bool:
    """Whether an entry of an inbox was put there by GCS (as in prelude.lua): anybody may have written there."""
    return len(fields) >= 6 and fields[0:5:2] == [b"p", b"s", b"n"] and fields[5].isdigit()


def _flows(reply: dict[bytes, bytes]) -> dict[str, Flow]:
    """The flows of an inbox by its book; ValueError if somebody else has written there."""
    book = {field.decode(): int(value) for field, value in reply.items() if field[:2] in (b"s:", b"c:")}
    senders = [field[2:] for field in book if field.startswith("s:")]
    return {name: Flow(book[f"s:{name}"], book.get(f"c:{name}", 0)) for name in senders}


def milliseconds(seconds: float | None) -> int:
    """For the server: whole milliseconds, at least one; 0 for none."""
    return 0 if seconds is None else max(1, int(seconds * 1000))


def _by_inbox(taken: Iterable[Taken[Any]]) -> dict[tuple[str, type[Tuple]], list[Taken[Any]]]:
    groups: defaultdict[tuple[str, type[Tuple]], list[Taken[Any]]] = defaultdict(list)
    for each in taken:
        groups[each.handle.place, each.handle.kind].append(each)
    return groups


class InboxKeys(NamedTuple):
    """The keys of one type in one place, in the order in which every script takes them."""

    stream: str
    book: str
    until: str


class Keys:
    """The names of the Redis keys of one crawl.

    A place and a type are three keys with one hash tag, so that one script can change them together:

        {gcs:CRAWL:INBOX}:TYPE        stream the tuples; field p = payload, and
                                             inbox: s = sender ("" if not numbered), n = number,
                                             u = 1 if it can expire; board: k = key
        {gcs:CRAWL:INBOX}:TYPE:book   hash   inbox: bytes = payload bytes in the stream,
                                             s:SENDER = last number put, c:SENDER = all up to this one are committed,
                                             x:SENDER:N = N is committed ahead of c;  board: k:KEY = id in the stream;
                                             foreign = entries of others that were thrown away
        {gcs:CRAWL:INBOX}:TYPE:until  zset   id → server time in ms at which the tuple expires
        {gcs:CRAWL:INBOX}:dead        stream dead letters: t type, p payload, s, n, r reason, d deliveries, w last taker

    The board of a crawl has the tag {gcs:CRAWL}, and there is one key more:

        {gcs:CRAWL}:tickets           hash   NAME → the last number given

    Invariant: an inbox's stream that exists has the consumer group GROUP: whatever creates the one creates the other.
    """

    def __init__(self, crawl: str) -> None:
        self._crawl = checked(crawl, "crawl")
        self._tags: dict[str, str] = {}
        self.tickets = f"{self.tag('')}:tickets"

    def tag(self, place: str) -> str:
        tag = self._tags.get(place)
        if tag is None:
            inner = f"{self._crawl}:{checked(place, 'inbox')}" if place else self._crawl
            tag = self._tags[place] = "{gcs:" + inner + "}"
        return tag

    def inbox(self, place: str, kind: type[Tuple]) -> InboxKeys:
        stream = f"{self.tag(place)}:{kind.name}"
        return InboxKeys(stream, stream + ":book", stream + ":until")

    def dead(self, place: str) -> str:
        return f"{self.tag(place)}:dead"

    @property
    def pattern(self) -> str:
        """A pattern for SCAN that all keys of the crawl match (and those of crawls whose name begins alike)."""
        return "{gcs:" + self._crawl + "*"

    def parse(self, key: str) -> tuple[str, str] | None:
        """The place and the rest of a key of this crawl, or None."""
        crawl, place, rest = split_key(key)
        return (place, rest) if crawl == self._crawl else None


def split_key(key: str) -> tuple[str, str, str]:
    """The crawl, the place and the rest of a key; the crawl is "" if the key is not one of GCS."""
    tag, brace, rest = key.partition("}:")
    crawl, _, place = tag.removeprefix("{gcs:").partition(":")
    return (crawl, place, rest) if brace and tag.startswith("{gcs:") else ("", "", "")


async def open_space(url: str, *, crawl: str, name: str, settings: SpaceSettings | None = None) -> Space:
    """The whiteboard of a crawl at this URL, for the participant `name`.

    Waits a little for a server that is not up yet, and longer (`patience_s`) for one that goes away later.
    """
    settings = settings or SpaceSettings()
    address = parse(url)
    key = team_key(address, os.environ)
    connection = await connect(address, min(settings.open_s, settings.patience_s))
    connection.patience_s = settings.patience_s
    try:
        return RedisSpace(connection, crawl, name, settings, key)
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
