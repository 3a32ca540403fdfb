"""Inboxes on Redis: consumed tuples in streams with one consumer group, leases by idle time.

A take is XREADGROUP, which is the fastest way to get tuples. Once in a while (`CLAIM_S`), and before a take comes back
with nothing, a script looks for what was held too long and claims it. The first takes of a participant bring back what
an earlier run of its name held.

A take cancelled while it waits may leave a tuple held that nobody got: it comes back when its lease ends.

Invariant: the book of an inbox (bytes, numbers) changes only in the scripts that change its stream.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gcs.core.messages.codec import decode, encode
from gcs.core.messages.template import Template
from gcs.core.messages.tuples import Tuple
from gcs.errors import CodecError
from gcs.events import Events
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.keys import GROUP, InboxKeys, Keys, checked
from gcs.ports.space.port import Flow, Handle, Numbered, Receipt, Taken
from gcs.ports.space.redis_connection import NoGroupError, OutOfMemoryError, RedisConnection, Script

#: longest single wait on the server
BLOCK_S = 4.0
#: longest time between two looks at what others hold too long; a fourth of the lease if that is shorter
CLAIM_S = 4.0
#: idle time of a released tuple: longer than any lease
RELEASED_MS = 10**9

#: tuples that a take with patterns looks at in one go; those that do not fit are given back
SIFTED = 1000
#: tuples in one ack: as many as Lua can unpack with room to spare
ACKED = 1000

#: a tuple as it comes from the server: its type, then id, payload, sender, number, deliveries
Row = tuple[type[Tuple], list[Any]]

events = Events("space")

pack = msgspec.msgpack.Encoder().encode

OUT, TAKE, ACK, HOLD, ASIDE = (Script(name) for name in ("out", "take", "ack", "hold", "aside"))


@dataclass(frozen=True, slots=True)
class _TakeRequest:
    """What one take asks for."""

    kinds: tuple[type[Tuple], ...]
    place: str
    limit: int
    lease_ms: int


class Inboxes:
    """The inboxes of a space, with its consumed tuples."""

    def __init__(self, connection: RedisConnection, keys: Keys, name: str, settings: SpaceSettings) -> None:
        self._connection, self._keys = connection, keys
        self._name, self._settings = name, settings
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
        payloads = [encode(item) for item in items]
        try:
            reply = await self._connection.run(OUT, self._keys.inbox(to, kind), (*head, *payloads))
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
        return await self._hold(taken, 0, 0)

    async def release(self, taken: Sequence[Taken[Any]]) -> None:
        """Give back, as if it had not been delivered."""
        await self._hold(taken, RELEASED_MS, -1)
        self._next_claim.clear()  # my own next take finds them

    async def flows(self, kind: type[Tuple], at: str) -> dict[str, Flow]:
        reply = await self._connection.command("HGETALL", self._keys.inbox(at, kind).book)
        book = {field.decode(): value for field, value in reply.items()}
        senders = [field[2:] for field in book if field.startswith("s:")]
        return {name: Flow(int(book[f"s:{name}"]), int(book.get(f"c:{name}", 0))) for name in senders}

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
        words = [self._name, request.limit, request.lease_ms, self._settings.max_deliveries, what]
        for kind in request.kinds:
            keys += self._keys.inbox(request.place, kind)
            words += [kind.name, self._replay[request.place, kind] or "+"]
        buried, more, rows = await self._connection.run(TAKE, keys, words)
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
        except NoGroupError:  # the script of a claim makes the stream and its group again
            self._next_claim.pop((request.place, request.kinds), None)
            return []
        rows: list[Row] = []
        for stream, entries in reply or ():
            kind = request.kinds[streams.index(stream.decode())]
            mortal = {entry_id for entry_id, fields in entries if len(fields) > 6}
            alive = await self._alive(keys[request.kinds.index(kind)], mortal) if mortal else mortal
            rows += [
                (kind, [entry_id, fields[1], fields[3], fields[5], 1])
                for entry_id, fields in entries
                if entry_id not in mortal or entry_id in alive
            ]
        return rows

    async def _alive(self, keys: InboxKeys, ids: set[bytes]) -> set[bytes]:
        """Those of the tuples just delivered to me that have not expired."""
        words = [word for entry_id in ids for word in (entry_id, 1)]
        reply = await self._connection.run(HOLD, keys, [self._name, 0, *words])
        return {entry_id for entry_id, held in zip(ids, reply) if held}

    async def _sift(self, rows: list[Row], wanted: Sequence[Template[Any]], at: str, limit: int) -> list[Taken[Any]]:
        """Decode; keep what fits, set aside what cannot be read, give back the rest."""
        plain = {template.kind for template in wanted if not template.patterns}
        room = {template.kind: limit for template in wanted}
        fit: list[Taken[Any]] = []
        rest: list[Taken[Any]] = []
        unreadable = []
        for kind, (entry_id, payload, sender, number, deliveries) in rows:
            try:
                item = decode(payload)
            except CodecError as error:
                unreadable.append((kind, entry_id, str(error), deliveries))
                continue
            handle = Handle(at, kind, entry_id, len(payload))
            taken = Taken(item, handle, sender.decode(), int(number), deliveries)
            if room[kind] and (kind in plain or any(template.matches(item) for template in wanted)):
                room[kind] -= 1
                fit.append(taken)
            else:
                rest.append(taken)
        for kind, entry_id, reason, deliveries in unreadable:
            keys = (self._keys.dead(at), *self._keys.inbox(at, kind))
            await self._connection.run(ASIDE, keys, (kind.name, self._name, entry_id, reason, deliveries))
            events.warning("set-aside", inbox=at, type=kind.name, reason=reason)
        if rest:
            await self._hold(rest, RELEASED_MS, -1)
        return fit

    async def _hold(self, taken: Sequence[Taken[Any]], idle_ms: int, more_deliveries: int) -> list[Taken[Any]]:
        held = []
        for (place, kind), group in _by_inbox(taken).items():
            words: list[Any] = [self._name, idle_ms]
            for each in group:
                words += [each.handle.id, each.deliveries + more_deliveries]
            reply = await self._connection.run(HOLD, self._keys.inbox(place, kind), words)
            held += [each for each, mine in zip(group, reply) if mine]
        return held


def milliseconds(seconds: float | None) -> int:
    """For the server: whole milliseconds, at least one; 0 for none."""
    return 0 if seconds is None else max(1, int(seconds * 1000))


def _by_inbox(taken: Iterable[Taken[Any]]) -> dict[tuple[str, type[Tuple]], list[Taken[Any]]]:
    groups: defaultdict[tuple[str, type[Tuple]], list[Taken[Any]]] = defaultdict(list)
    for each in taken:
        groups[each.handle.place, each.handle.kind].append(each)
    return groups
