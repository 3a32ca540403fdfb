"""The whiteboard in memory, for tests of roles. One process, same verbs, same answers.

A MemoryBoard is what all participants share; each has its own MemorySpace on it. Tuples are encoded and decoded as on
Redis, so that sizes, versions and immutability are the same. With a TickingClock, leases, expiry and time-outs
pass when the test says so.

Invariant: between two awaits of a participant nothing else happens, so every verb is atomic.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gcs.core.messages.codec import decode_as, encode
from gcs.core.messages.template import Template
from gcs.core.messages.tuples import Consumed, Posted, Tuple
from gcs.errors import CodecError, UnknownVersionError, UsageError
from gcs.events import Events
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.clock import Clock, LoopClock
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
    Taken,
    Unread,
    check_place,
    checked,
)

T = TypeVar("T", bound=Tuple)
C = TypeVar("C", bound=Consumed)

events = Events("space")


@dataclass(slots=True)
class InboxEntry:
    """One tuple and who holds it."""

    id: int
    payload: bytes
    sender: str = ""
    number: int = 0
    key: str = ""
    expires_at: float | None = None
    #: it was delivered at least once; a holder of "" means that it was released
    delivered: bool = False
    holder: str = ""
    held_since: float = 0.0
    deliveries: int = 0
    #: for programs of another version
    is_left: bool = False


@dataclass(slots=True)
class MemoryInbox:
    """The tuples of one type in one place: what the Lua scripts do to three Redis keys, as plain Python.

    The time is passed in, payloads are bytes. Filled by `put` and `post`; emptied by `finish` and expiry.

    Invariant: the same calls give the same answers as the scripts do (the contract suite runs on both).
    """

    kind: str
    entries: dict[int, InboxEntry] = field(default_factory=dict)
    size_bytes: int = 0
    sent: dict[str, int] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)
    #: numbers committed ahead of `committed`
    ahead: dict[str, set[int]] = field(default_factory=dict)
    last_id: int = 0

    def put(self, payloads: list[bytes], numbered: Numbered | None, limit: int, expires_at: float | None) -> Receipt:
        """Add payloads in order, as far as there is room, each number once."""
        sender = numbered.sender if numbered else ""
        sent = committed = 0
        if numbered:
            self._commit_up_to(sender, numbered.base - 1)
            committed = self.committed.get(sender, 0)
            sent = self.sent[sender] = max(self.sent.get(sender, 0), committed)
        accepted, full = 0, False
        for number, payload in enumerate(payloads, numbered.first if numbered else 1):
            if not numbered or number == sent + 1:
                if self.entries and self.size_bytes + len(payload) > limit:
                    full = True
                    break
                self._add(InboxEntry(0, payload, sender, number if numbered else 0, expires_at=expires_at))
                if numbered:
                    sent = self.sent[sender] = number
            elif number > sent + 1:
                break
            accepted += 1
        return Receipt(accepted, full=full, sent=sent, committed=committed)

    def post(self, key: str, payload: bytes, expires_at: float | None) -> None:
        """Put a posted tuple in place of the one with its key."""
        old = self.posted(key)
        if old is not None:
            self.finish(old.id)
        self._add(InboxEntry(0, payload, key=key, expires_at=expires_at))

    def posted(self, key: str) -> InboxEntry | None:
        return next((entry for entry in self.entries.values() if entry.key == key), None)

    def purge(self, now: float) -> None:
        """Drop what has expired."""
        for entry in list(self.entries.values()):
            if entry.expires_at is not None and entry.expires_at <= now:
                self.finish(entry.id)

    def own(self, taker: str) -> list[int]:
        """Ids of what this name holds."""
        return [entry.id for entry in self.entries.values() if entry.holder == taker]

    def lapsed(self, now: float, lease_s: float) -> Iterator[InboxEntry]:
        """What is held too long, or was released."""
        for entry in list(self.entries.values()):
            if entry.delivered and not entry.is_left and (not entry.holder or now - entry.held_since >= lease_s):
                yield entry

    def fresh(self) -> Iterator[InboxEntry]:
        """What was never delivered."""
        return (entry for entry in list(self.entries.values()) if not entry.delivered)

    def hold(self, entry: InboxEntry, taker: str, now: float) -> None:
        """Deliver it to a taker."""
        entry.delivered, entry.holder, entry.held_since = True, taker, now
        entry.deliveries += 1

    def finish(self, entry_id: int, lost: bool = False) -> bool:
        """Remove a tuple and book it, as committed unless it is lost; False if it was not there any more."""
        entry = self.entries.pop(entry_id, None)
        if entry is None:
            return False
        self.size_bytes -= len(entry.payload)
        if not lost and entry.number > self.committed.get(entry.sender, 0):
            self.ahead.setdefault(entry.sender, set()).add(entry.number)
            self._commit_up_to(entry.sender, self.committed.get(entry.sender, 0))
        return True

    def bury(self, entry: InboxEntry, reason: str, into: Callable[[DeadLetter], None]) -> None:
        """Move a tuple to the dead letters; its sender keeps it."""
        letter = (entry.sender, entry.number, entry.deliveries, entry.holder)
        if self.finish(entry.id, lost=True):
            into(DeadLetter(str(entry.id), self.kind, reason, entry.payload, *letter))

    def flows(self) -> dict[str, Flow]:
        """What each sender has put and what of it is committed."""
        return {sender: Flow(sent, self.committed.get(sender, 0)) for sender, sent in self.sent.items()}

    def _add(self, entry: InboxEntry) -> None:
        self.last_id += 1
        entry.id = self.last_id
        self.entries[entry.id] = entry
        self.size_bytes += len(entry.payload)

    def _commit_up_to(self, sender: str, number: int) -> None:
        upto = max(number, self.committed.get(sender, 0))
        ahead = self.ahead.get(sender, set())
        while upto + 1 in ahead:
            upto += 1
        self.committed[sender] = upto
        self.ahead[sender] = {later for later in ahead if later > upto}


class MemoryBoard:
    """What the participants of one crawl share."""

    def __init__(self, clock: Clock | None = None, settings: SpaceSettings | None = None) -> None:
        self.clock = clock or LoopClock()
        self.settings = settings or SpaceSettings()
        self.inboxes: dict[tuple[str, type[Tuple]], MemoryInbox] = {}
        self.dead: dict[str, list[DeadLetter]] = {}
        self.tickets: dict[str, int] = {}
        #: of each place (on the board: each type), set when something changes there, and then left for a new one
        self._changes: dict[str, asyncio.Event] = {}
        self.clock.on_tick(self.ticked)

    def inbox(self, place: str, kind: type[Tuple]) -> MemoryInbox:
        """The inbox (or the board), without what has expired."""
        inbox = self.inboxes.get((place, kind))
        if inbox is None:
            check_place(kind, place)
            if place:
                checked(place, "inbox")
            inbox = self.inboxes[place, kind] = MemoryInbox(kind.name)
        elif inbox.entries:
            inbox.purge(self.clock.now())
        return inbox

    def change(self, place: str, kind: type[Tuple]) -> asyncio.Event:
        """What is set at the next change there."""
        return self._changes.setdefault(place or f" {kind.name}", asyncio.Event())

    def changed(self, place: str, kind: type[Tuple]) -> None:
        """Let those who wait there look again."""
        if change := self._changes.pop(place or f" {kind.name}", None):
            change.set()

    def ticked(self) -> None:
        """Let all who wait look again."""
        changes, self._changes = self._changes, {}
        for change in changes.values():
            change.set()

    async def wait(self, place: str, kind: type[Tuple], deadline: float | None) -> bool:
        """Wait for a change there; False when the deadline has passed."""
        if deadline is not None and self.clock.now() >= deadline:
            return False
        await self.clock.wait(self.change(place, kind), deadline)
        return True

    def deadline(self, timeout_s: float | None) -> float | None:
        """When a wait that begins now ends."""
        return None if timeout_s is None else self.clock.now() + timeout_s


class MemorySpace:
    """`Space` in memory."""

    def __init__(self, board: MemoryBoard, name: str) -> None:
        self.name = checked(name, "participant")
        self.refusals = Refusals()
        self._board = board
        self.unread = Unread()
        #: (place, type) → ids that an earlier run of me held and that are still to be given out
        self._replay: dict[tuple[str, type[Tuple]], list[int]] = {}

    async def out(
        self, item: Tuple, *, to: str = BOARD, ttl_s: float | None = None, given: IfAbsent | IfHolds | None = None
    ) -> Receipt:
        if isinstance(item, Consumed):
            if given is not None:
                raise UsageError(f"conditions are for the board; a {item.name} tuple goes to an inbox")
            return await self.out_many(type(item), [item], to=to, ttl_s=ttl_s)
        assert isinstance(item, Posted)
        inbox = self._board.inbox(to, type(item))
        if isinstance(given, IfAbsent) and inbox.posted(item.key):
            return Receipt(0, refused=True)
        if isinstance(given, IfHolds):
            fence = self._board.inbox(BOARD, type(given.item)).posted(given.item.key)
            if fence is None or fence.payload != encode(given.item):
                return Receipt(0, refused=True)
        inbox.post(item.key, encode(item), self._board.deadline(ttl_s))
        self._board.changed(to, type(item))
        return Receipt(1)

    async def out_many(
        self,
        kind: type[C],
        items: Sequence[C],
        *,
        to: str,
        numbered: Numbered | None = None,
        ttl_s: float | None = None,
    ) -> Receipt:
        limit, expires_at = self._board.settings.inbox_bytes, self._board.deadline(ttl_s)
        receipt = self._board.inbox(to, kind).put([encode(item) for item in items], numbered, limit, expires_at)
        self._board.changed(to, kind)
        return receipt

    async def take(
        self, wanted: Template[T], *, at: str = BOARD, timeout_s: float | None = 0.0, lease_s: float | None = None
    ) -> Taken[T] | None:
        if at != BOARD:
            taken = await self.take_many([wanted], at=at, limit=1, timeout_s=timeout_s, lease_s=lease_s)
            return taken[0] if taken else None
        deadline = self._board.deadline(timeout_s)
        while True:
            for entry, item in self._fitting(wanted, at):
                self._board.inbox(at, wanted.kind).finish(entry.id)
                return Taken(item, Handle(at, wanted.kind, b"%d" % entry.id, 0))
            if not await self._board.wait(at, wanted.kind, deadline):
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
        deadline = self._board.deadline(timeout_s)
        lease_s = self._board.settings.lease_s if lease_s is None else lease_s
        while True:
            taken = self._take_now(wanted, at, limit, lease_s)
            if taken or not await self._board.wait(at, wanted[0].kind, deadline):
                return taken

    def _take_now(self, wanted: Sequence[Template[Any]], at: str, limit: int, lease_s: float) -> list[Taken[Any]]:
        now, taken = self._board.clock.now(), []
        room = {template.kind: limit for template in wanted}
        for kind, entry in self._candidates(room, at, lease_s):
            inbox = self._board.inbox(at, kind)
            if entry.deliveries >= self._board.settings.max_deliveries:
                self._bury(inbox, entry, f"delivered {entry.deliveries} times", at)
                continue
            try:
                item = decode_as(kind, entry.payload)
            except UnknownVersionError as error:
                self.unread.see(at, kind, error)
                entry.delivered, entry.holder, entry.is_left = True, "", True
                continue
            except CodecError as error:
                inbox.hold(entry, self.name, now)
                self._bury(inbox, entry, str(error), at)
                continue
            if any(template.matches(item) for template in wanted):
                inbox.hold(entry, self.name, now)
                handle = Handle(at, kind, b"%d" % entry.id, len(entry.payload))
                taken.append(Taken(item, handle, entry.sender, entry.number, entry.deliveries))
                room[kind] -= 1
            else:
                entry.holder = ""
        return taken

    def _candidates(
        self, room: dict[type[Tuple], int], at: str, lease_s: float
    ) -> Iterator[tuple[type[Tuple], InboxEntry]]:
        """In the order in which they are given out, while there is room: my own of an earlier run, lapsed, new ones."""
        for kind in room:
            inbox = self._board.inbox(at, kind)
            ids = self._replay.setdefault((at, kind), inbox.own(self.name))
            while ids and room[kind]:
                entry = inbox.entries.get(ids.pop(0))
                if entry is not None and entry.holder == self.name:
                    yield kind, entry
        now = self._board.clock.now()
        for choose in (lambda inbox: inbox.lapsed(now, lease_s), MemoryInbox.fresh):
            for kind in room:
                for entry in choose(self._board.inbox(at, kind)):
                    if room[kind]:
                        yield kind, entry

    def _bury(self, inbox: MemoryInbox, entry: InboxEntry, reason: str, at: str) -> None:
        inbox.bury(entry, reason, self._board.dead.setdefault(at, []).append)
        events.warning("dead-letters", inbox=at, type=inbox.kind, reason=reason)

    async def ack(self, taken: Iterable[Taken[Any]]) -> int:
        done = 0
        for each in taken:
            if each.handle.place != BOARD:
                done += self._board.inbox(each.handle.place, each.handle.kind).finish(int(each.handle.id))
        return done

    async def renew(self, taken: Sequence[Taken[Any]]) -> list[Taken[Any]]:
        held = [(each, entry) for each in taken if (entry := self._held(each))]
        for _, entry in held:
            entry.held_since = self._board.clock.now()
        return [each for each, _ in held]

    async def release(self, taken: Sequence[Taken[Any]]) -> None:
        for each in taken:
            if entry := self._held(each):
                entry.holder, entry.deliveries = "", each.deliveries - 1
                self._board.changed(each.handle.place, each.handle.kind)

    def _held(self, taken: Taken[Any]) -> InboxEntry | None:
        """The entry of a tuple that this participant still holds."""
        entry = self._board.inbox(taken.handle.place, taken.handle.kind).entries.get(int(taken.handle.id))
        return entry if entry is not None and entry.holder == self.name else None

    async def read(self, wanted: Template[T], *, at: str = BOARD, timeout_s: float | None = 0.0) -> T | None:
        deadline = self._board.deadline(timeout_s)
        while True:
            for _, item in self._fitting(wanted, at):
                return item
            if not await self._board.wait(at, wanted.kind, deadline):
                return None

    async def scan(self, wanted: Template[T], *, at: str = BOARD) -> list[T]:
        return [item for _, item in self._fitting(wanted, at)]

    async def count(self, wanted: Template[Any], *, at: str = BOARD) -> int:
        if wanted.patterns:
            return len(await self.scan(wanted, at=at))
        return len(self._board.inbox(at, wanted.kind).entries)

    async def watch(self, wanted: Template[T], *, at: str = BOARD) -> AsyncIterator[T]:
        last = 0
        while True:
            change = self._board.change(at, wanted.kind)  # before looking: what comes between two yields sets it
            for entry, item in self._fitting(wanted, at, after=last):
                last = entry.id
                yield item
            await self._board.clock.wait(change, None)

    def _fitting(self, wanted: Template[T], at: str, after: int = 0) -> Iterator[tuple[InboxEntry, T]]:
        for entry in list(self._board.inbox(at, wanted.kind).entries.values()):
            if entry.id > after:
                try:
                    item: Any = decode_as(wanted.kind, entry.payload)
                except CodecError as error:
                    self.unread.see(at, wanted.kind, error)
                    continue
                if wanted.matches(item):
                    yield entry, item

    async def count_unread(self, at: str) -> int:
        places = [inbox for (place, _), inbox in self._board.inboxes.items() if place == at]
        return sum(entry.is_left for inbox in places for entry in inbox.entries.values())

    async def flows(self, kind: type[Consumed], *, at: str) -> dict[str, Flow]:
        return self._board.inbox(at, kind).flows()

    async def ticket(self, name: str, floor: int = 0) -> int:
        number = self._board.tickets[name] = max(self._board.tickets.get(name, 0), floor) + 1
        return number

    async def time(self) -> float:
        return time.time()

    async def inbox_sizes(self) -> list[InboxSize]:
        sizes = [
            InboxSize(
                place, kind.name, len(inbox.entries), inbox.size_bytes, sum(e.delivered for e in inbox.entries.values())
            )
            for (place, kind), inbox in self._board.inboxes.items()
        ]
        sizes += [
            InboxSize(place, "dead", len(dead), sum(len(letter.payload) for letter in dead), 0)
            for place, dead in self._board.dead.items()
        ]
        return sorted(sizes, key=lambda inbox: (inbox.place, inbox.kind))

    async def dead_letters(self, at: str, limit: int = 100) -> list[DeadLetter]:
        return self._board.dead.get(at, [])[:limit]

    async def remove(self, wanted: Template[Any], *, at: str = BOARD) -> int:
        inbox = self._board.inbox(at, wanted.kind)
        return sum(inbox.finish(entry.id) for entry, _ in list(self._fitting(wanted, at)))

    async def remove_dead_letters(self, at: str) -> int:
        return len(self._board.dead.pop(at, []))

    async def close(self) -> None:
        return None
