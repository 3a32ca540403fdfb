"""The whiteboard as its users see it: the verbs, and the values that go in and come out.

Places. An *inbox* is named by its destination (a gatherer, a pool of helpers, LEADER_INBOX, SEEDS_INBOX) and holds
consumed tuples; BOARD is the one place of posted tuples.

Taking is at least once: a taken tuple is held under a lease, and if its taker neither acks, renews nor releases it,
another take gets it. The first ack completes it; receivers are idempotent, so the effect is exactly once. A tuple
that was delivered `max_deliveries` times without an ack goes to the dead letters of its inbox, and one that is damaged,
or has not the seal of the team, goes there at once; a sender that numbered it does not take it for committed. A tuple
that another version of GCS wrote stays in its inbox: takers of this version pass over it, one that can read it gets it.
Only what is no tuple is dropped.

Putting is bounded: an inbox takes `inbox_bytes` of each type (and always one tuple, if it is empty). `out` to a full
one says so in its Receipt, and the caller keeps the tuple. With `numbered`, putting is exact: a number that the space
has is not put twice, a gap is not skipped, and the receipt says what is committed (see `core.messages.outbox`).
The same numbers count what is under way: sent − committed of all flows is 0 ⇔ no block is waiting or being worked on.

Roles use this protocol only; they never see stream ids, consumer groups or connections.
"""

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from gcs.core.messages.template import Template
from gcs.core.messages.tuples import Consumed, Posted, Tuple
from gcs.errors import CodecError, UnknownVersionError, UsageError
from gcs.events import Events

events = Events("space")

T = TypeVar("T", bound=Tuple)
C = TypeVar("C", bound=Consumed)

#: the place of posted tuples
BOARD = ""
#: the inbox of new seeds: filled by people and by whoever starts a crawl; emptied by the gatherers or the seed-server
SEEDS_INBOX = "seeds"
#: the inbox of the leader, whoever leads: filled by people (RebalanceCall)
LEADER_INBOX = "leader"
#: what a crawl, a participant or an inbox can be called: names are parts of keys
_NAME = re.compile(r"[A-Za-z0-9._/@+-]{1,128}")


@dataclass(frozen=True, slots=True)
class Numbered:
    """How a sender numbers what it puts: `first`, first + 1, …; below `base` everything is committed."""

    sender: str
    base: int
    first: int


@dataclass(frozen=True, slots=True)
class IfAbsent:
    """Condition of an `out` to the board: no tuple of this type and key is there."""


@dataclass(frozen=True, slots=True)
class IfHolds:
    """Condition of an `out` to the board: exactly this tuple is there (a fence, or a renewal)."""

    item: Posted


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an `out`."""

    #: how many of the tuples given, from the first on, the space has now
    accepted: int
    #: there was no room for the next one: keep it, and try again later
    full: bool = False
    #: the condition did not hold, nothing was put
    refused: bool = False
    #: numbered: the last number that the space has or had, and the one up to which all are committed
    sent: int = 0
    committed: int = 0


class Handle(msgspec.Struct, frozen=True, gc=False):
    """Where a taken tuple is. Opaque: for ack, renew and release."""

    place: str
    kind: type[Tuple]
    id: bytes
    size_bytes: int


class Taken(msgspec.Struct, Generic[T], frozen=True):
    """A tuple that this taker holds until it acks or releases it, or its lease ends."""

    item: T
    handle: Handle
    #: who put it, and the sender's number; "" and 0 if it was not numbered
    sender: str = ""
    number: int = 0
    #: how often it was taken, this time included; above 1 someone did not finish
    deliveries: int = 1


@dataclass(frozen=True, slots=True)
class Flow:
    """What one sender has put into an inbox, and what of it is committed."""

    sent: int
    committed: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A tuple that was set aside, as bytes, and why."""

    id: str
    kind: str
    reason: str
    payload: bytes
    sender: str
    number: int
    deliveries: int
    taker: str


class Unread:
    """What a participant has met and could not read. Filled by the space; looked at by whoever must not act then."""

    def __init__(self) -> None:
        #: place and type of tuples of another version of GCS
        self.kinds: set[tuple[str, type[Tuple]]] = set()
        self._told: set[tuple[str, type[Tuple], type[CodecError]]] = set()

    def see(self, place: str, kind: type[Tuple], error: CodecError) -> None:
        """Note a tuple that cannot be read; it is logged once for each place and type."""
        if isinstance(error, UnknownVersionError):
            self.kinds.add((place, kind))
        if (place, kind, type(error)) not in self._told:
            self._told.add((place, kind, type(error)))
            events.warning("unreadable", place=place or "board", type=kind.name, reason=str(error))


@dataclass(frozen=True, slots=True)
class InboxSize:
    """The tuples of one type in one place, for people."""

    place: str
    kind: str
    tuples: int
    size_bytes: int
    #: tuples held by takers
    held: int


def checked(name: str, what: str) -> str:
    """A name that can stand in a key."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{what} name {name!r} is not usable: take 1 to 128 of A-Z a-z 0-9 . _ / @ + -")
    return name


def check_place(kind: type[Tuple], place: str) -> None:
    """Posted tuples are on the board, consumed ones in an inbox: anything else is the caller's mistake."""
    if issubclass(kind, Posted) != (place == BOARD):
        where = "on the board (give no inbox)" if issubclass(kind, Posted) else "in an inbox (name it)"
        raise UsageError(f"{kind.name} tuples are {where}, not in {place!r}")


class Refusals:
    """Tuples that were refused because they do not have the seal of this team (`core.messages.seal`)."""

    #: places of which the last ones are remembered, so that a tuple that is read again counts once
    MOST = 10_000

    def __init__(self) -> None:
        self.total = 0
        #: type → why its last one was refused
        self.reasons: dict[type[Tuple], str] = {}
        self._seen: dict[tuple[str, bytes], None] = {}
        self._told: set[tuple[type[Tuple], str]] = set()

    def add(self, kind: type[Tuple], stream: str, entry_id: bytes, reason: str) -> bool:
        """Count a tuple; returns whether this is the first of its type for this reason."""
        is_news = (kind, reason) not in self._told
        self._told.add((kind, reason))
        self.reasons[kind] = reason
        if (stream, entry_id) not in self._seen:
            self.total += 1
            self._seen[stream, entry_id] = None
            if len(self._seen) > self.MOST:
                del self._seen[next(iter(self._seen))]
        return is_news


class Space(Protocol):
    """One participant's access to the whiteboard of one crawl; `name` is the participant's.

    `timeout_s` is 0 for "don't wait", None for "wait as long as it takes". Verbs raise SpaceError if the whiteboard
    cannot be reached for `patience_s`; until then they wait and try again.
    """

    name: str
    #: what this participant has refused; a refused tuple is not there for it
    refusals: Refusals
    unread: Unread

    async def out(
        self, item: Tuple, *, to: str = BOARD, ttl_s: float | None = None, given: IfAbsent | IfHolds | None = None
    ) -> Receipt:
        """Put a tuple: a consumed one into the inbox `to`, a posted one on the board, if the condition holds."""

    async def out_many(
        self,
        kind: type[C],
        items: Sequence[C],
        *,
        to: str,
        numbered: Numbered | None = None,
        ttl_s: float | None = None,
    ) -> Receipt:
        """Put tuples of one type in this order; none at all brings the receipt of what was sent before."""

    async def take(
        self, wanted: Template[T], *, at: str = BOARD, timeout_s: float | None = 0.0, lease_s: float | None = None
    ) -> Taken[T] | None:
        """Take one tuple. From the board it is removed at once, and there is nothing to ack."""

    async def take_many(
        self,
        wanted: Sequence[Template[Any]],
        *,
        at: str,
        limit: int,
        timeout_s: float | None = 0.0,
        lease_s: float | None = None,
    ) -> list[Taken[Any]]:
        """Take up to `limit` tuples of each type that fit any of the templates; waits for the first one only.

        Types come in the order of the templates. What was held longer than `lease_s` (all takers of an inbox use the
        same one), and on the first call what an earlier run with my name held, comes first.
        """

    async def read(self, wanted: Template[T], *, at: str = BOARD, timeout_s: float | None = 0.0) -> T | None:
        """The oldest tuple that fits; it stays where it is."""

    async def scan(self, wanted: Template[T], *, at: str = BOARD) -> list[T]:
        """All tuples that fit, the oldest first."""

    async def count(self, wanted: Template[Any], *, at: str = BOARD) -> int:
        """How many tuples fit, held ones included."""

    def watch(self, wanted: Template[T], *, at: str = BOARD) -> AsyncIterator[T]:
        """Every tuple that fits: those that are there, then new ones as they are put.

        A watcher that is slower than the writers misses what was replaced or acked meanwhile, never the newest state.
        """

    async def ack(self, taken: Iterable[Taken[Any]]) -> int:
        """Remove tuples that are dealt with for good. Returns how many this call removed."""

    async def renew(self, taken: Sequence[Taken[Any]]) -> list[Taken[Any]]:
        """Begin the leases of these anew; returns those that I still held."""

    async def release(self, taken: Sequence[Taken[Any]]) -> None:
        """Give these back at once; it does not count as a delivery."""

    async def count_unread(self, at: str) -> int:
        """How many tuples of an inbox this participant has left there for programs of another version."""

    async def flows(self, kind: type[Consumed], *, at: str) -> dict[str, Flow]:
        """The flow of each sender into an inbox."""

    async def ticket(self, name: str, floor: int = 0) -> int:
        """A number above `floor` and above every one given for this name before."""

    async def time(self) -> float:
        """Seconds since 1970 by the whiteboard's clock."""

    async def inbox_sizes(self) -> list[InboxSize]:
        """Everything there is, by place and type."""

    async def dead_letters(self, at: str, limit: int = 100) -> list[DeadLetter]:
        """What was set aside from an inbox, the oldest first."""

    async def remove(self, wanted: Template[Any], *, at: str = BOARD) -> int:
        """Throw away what fits, held or not, and count it as committed. For people."""

    async def remove_dead_letters(self, at: str) -> int:
        """Throw away what was set aside from an inbox. For people."""

    async def close(self) -> None:
        """Let go of the connection. What is held stays held until its lease ends."""
