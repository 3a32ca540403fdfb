"""Hand-over: ranges that change their owner with a plan, leaving this gatherer or awaited by it.

A range leaves in two passes. First every URL of it that is not in flight goes from the frontier into numbered parts in
the outbox, piece by piece and in key order; this gatherer starts no requests meanwhile. When no URL of the range is in
flight any more, the results of these last requests (marks, retries) follow, with the end mark. Where nothing of it was
in flight from the start, the end mark is in the last part of the first pass.

A range that this gatherer gets is awaited until its end mark. URLs that arrive for the range before that are held: the
former owner may still be fetching, and may know a URL that a third gatherer sends. What the former owner itself had
queued it knows, so such URLs begin at once where their host is owed no delay: slow answers hold nobody up.

A range that the plan calls lost (the former owner's disk is gone) is awaited from nobody. It stays closed until the
plan is committed: by then all gatherers have said which of its pages they stored when they owned it. If the former
owner appears after all, it learns that it no longer owns the range, and hands over late: a page that it has fetched
then counts as fetched here, unless it is in flight.

Invariant: at every commit a URL is in exactly one frontier or in a part on its way; a range has one owner that fetches.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from gcs.core.messages.tuples import HandOver, HostState
from gcs.core.plan import keyspace
from gcs.core.plan.keyspace import EVERYTHING, Keyspace, Ranges
from gcs.core.plan.plan import Plan
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, host_of_key, sort_key
from gcs.ports.frontier import Frontier, Mark
from gcs.ports.frontier.frontier import Piece
from gcs.ports.frontier.url_rows import host_part, short

#: URLs in one part, and parts made in one turn
PART_URLS, TURN_PARTS = 2_000, 4
#: URLs that are read for one part, where a range is scattered over all keys
LOOK_URLS = 10_000
#: held URLs that are released in one turn
RELEASE_URLS = 4_000


class InFlight(NamedTuple):
    """What this gatherer is asking for."""

    urls: Collection[str]
    #: origins that are asked for their robots.txt: no range of their hosts is complete before the answer
    origins: Collection[str] = ()


class LeavingRange(msgspec.Struct, array_like=True):
    """A range on its way to its new owner."""

    low: bytes
    high: bytes
    #: the new owner
    winner: str
    #: all URLs before this key have left, except those in flight; None when that is true of the whole range
    at: bytes | None


class AwaitedRange(msgspec.Struct, array_like=True, frozen=True):
    """A range that its former owner hands over to this gatherer."""

    low: bytes
    high: bytes
    #: end marks of older epochs belong to earlier hand-overs of the range, and do not count
    since: int


class _State(msgspec.Struct, array_like=True):
    leaving: list[LeavingRange] = []
    awaited: list[AwaitedRange] = []
    #: lost ranges that this gatherer begins anew, and those that stay closed until the plan is committed
    begun: Ranges = ()
    closed: Ranges = ()


@dataclass(slots=True)
class Received:
    """The content of a part: entries for this frontier, and parts for other gatherers."""

    entries: list[QueuedUrl] = field(default_factory=list)
    onward: list[tuple[str, HandOver]] = field(default_factory=list)
    moved: int = 0
    #: keys of URLs that are queued here, though the former owner has finished them
    dealt_with: dict[bytes, Mark] = field(default_factory=dict)


class HandOvers:
    """The ranges of one gatherer that change their owner."""

    def __init__(self, me: str, frontier: Frontier) -> None:
        self._me = me
        self._frontier = frontier
        self._keyspace = Keyspace.TREE
        self._state = _State()
        #: own ranges that may not be fetched yet: URLs that arrive for them are held
        self.awaited: Ranges = ()
        #: the last call of `progress` has made as many parts as it might
        self.has_more = False

    def encode(self) -> bytes:
        """The ranges that change their owner, for the checkpoint."""
        return msgspec.msgpack.encode(self._state)

    def restore(self, packed: bytes | None, plan: Plan | None) -> None:
        """Continue from a checkpoint: nothing is in flight, so every range that was leaving can be finished."""
        if plan:
            self._keyspace = plan.keyspace
        if packed:
            self._set(msgspec.msgpack.decode(packed, type=_State))

    @property
    def is_settled(self) -> bool:
        """Whether no range is on its way, from here or to here."""
        return not self._state.leaving and not self._state.awaited

    @property
    def is_closed(self) -> bool:
        """Whether a lost range waits until the plan is committed. The plan's commit does not wait for this range."""
        return bool(self._state.closed)

    @property
    def is_handing_over(self) -> bool:
        """Whether a range is leaving, and its end mark is not yet in the outbox."""
        return bool(self._state.leaving)

    @property
    def has_foreign_urls(self) -> bool:
        """Whether the frontier still holds URLs that this gatherer no longer owns, and that are not in flight."""
        return any(leaving.at is not None for leaving in self._state.leaving)

    def adopt(self, old: Plan | None, new: Plan) -> None:
        """Begin the hand-overs that the new plan asks for, in the same session."""
        self._keyspace = new.keyspace
        had: Ranges = tuple(old.ranges_of(self._me)) if old else ()
        if old is None and self._frontier.known():
            had = EVERYTHING  # a crawl that one gatherer began alone
        if old is not None and old.mixes and self._me not in new.gatherers:
            had = EVERYTHING  # URLs of this gatherer are not only in its ranges
        has = tuple(new.ranges_of(self._me))
        gained = keyspace.subtract(keyspace.subtract(has, had), new.lost)
        kept = keyspace.subtract(has, new.lost)
        awaited = [
            AwaitedRange(low, high, before.since)
            for before in self._state.awaited
            for low, high in keyspace.intersect(kept, ((before.low, before.high),))
        ]
        # the new plan may have the epoch of the old one: the whiteboard had forgotten the old one
        awaited += [AwaitedRange(low, high, min(old.epoch + 1, new.epoch) if old else 0) for low, high in gained]
        begun = keyspace.intersect(self._state.begun, has)
        if old is not None or self._frontier.known():  # or made anew: links queued what others may have finished
            begun = keyspace.unite((*begun, *keyspace.intersect(has, new.lost)))
        # before the first plan nobody had stored anything
        closed = keyspace.intersect(has, new.lost) if new.epoch > 1 else ()
        for low, high in has:
            self._frontier.team_tables.forget_posts(low, high, self._keyspace)
        self._set(_State(list(self._leaving(had, new)), awaited, begun, closed))

    def withdraw(self, open_urls: Iterable[str]) -> Iterator[HandOver]:
        """Take what waits in closed ranges out of the frontier, unless it is in flight: parts from here to here.

        A frontier that was made anew has queued URLs that others may have finished.
        """
        flying, waits = frozenset(short(sort_key(url)) for url in open_urls), self._frontier.waits
        for low, high in self._state.closed:
            closed = LeavingRange(low, high, self._me, self._start(low))
            while closed.at is not None:
                piece = self._take_out(closed, closed.at, lambda key: key in flying or not waits(key), None)
                closed.at = piece.next
                if piece.entries:
                    yield HandOver(0, low, high, False, piece.entries)

    def open(self) -> None:
        """The plan is committed: lost ranges can be fetched."""
        self._set(_State(self._state.leaving, self._state.awaited, self._state.begun))

    def begin(self, plan: Plan) -> None:
        """Begin a new session: hand-overs of the last one are over."""
        self._keyspace = plan.keyspace
        self._set(_State())

    def progress(
        self, epoch: int, most: int, in_flight: InFlight, host_states: Callable[[], list[HostState]]
    ) -> Iterator[tuple[str, HandOver]]:
        """Up to `most` parts of leaving ranges, each with its destination."""
        most = min(most, TURN_PARTS)
        if not self._state.leaving or most <= 0:
            return
        flying = frozenset(short(sort_key(url)) for url in in_flight.urls)
        spans = [*self._spans(flying), *self._host_spans(in_flight.origins)]
        hosts: list[HostState] | None = None
        for leaving in list(self._state.leaving):
            is_free, is_begun = not _any_in(spans, leaving), leaving.at != self._start(leaving.low)
            is_over = False
            while most > 0 and not is_over and (leaving.at is not None or is_free):
                most -= 1
                if leaving.at is not None:
                    piece = self._take_out(leaving, leaving.at, flying.__contains__, LOOK_URLS)
                    leaving.at = piece.next
                    is_over = piece.next is None and is_free and not is_begun  # nothing was left behind
                else:
                    piece = self._take_out(leaving, self._start(leaving.low), lambda _key: False, None)
                    is_over = piece.next is None
                if is_over:
                    self._state.leaving.remove(leaving)
                if is_over or piece.entries or piece.marks:
                    hosts = host_states() if hosts is None else hosts
                    told = self._hosts_of(leaving, piece, hosts, is_over)
                    yield leaving.winner, _part(epoch, leaving, piece, told, is_over)
        self.has_more = most <= 0 and self.is_handing_over

    def _spans(self, keys: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """The places of keys, each as its first and its last."""
        return ((place, place) for place in map(self._keyspace.place, keys))

    def _host_spans(self, origins: Iterable[str]) -> Iterable[tuple[bytes, bytes]]:
        """All places of the hosts of these origins; where each URL has a hash of its own, those of their robots.txt."""
        keys = [sort_key(f"{origin}/robots.txt") for origin in origins]
        if self._keyspace is not Keyspace.TREE:
            return self._spans(keys)
        return ((host_part(key), host_part(key)[:-1] + b"0") for key in keys)

    def _hosts_of(self, leaving: LeavingRange, piece: Piece, hosts: list[HostState], is_over: bool) -> list[HostState]:
        """The hosts that a part tells of: the last one of all, the others of those that need not wait for it."""
        if is_over:
            place = self._keyspace.place
            return [state for state in hosts if leaving.low <= place(state.host + b"\x00/") < leaving.high]
        named = {host_of_key(sort_key(each.url)) for each in piece.entries}
        return [state for state in hosts if state.host in named and _is_free(state)]

    def receive(self, part: HandOver, plan: Plan) -> Received:
        """Take in a part. URLs that other gatherers own under the plan are to be sent on."""
        got = Received()
        others: dict[str, tuple[list[QueuedUrl], list[tuple[bytes, str]]]] = {}
        marks: list[tuple[bytes, Mark]] = []
        is_own = not keyspace.subtract(((part.low, part.high),), plan.ranges_of(self._me))
        at_once = self._at_once(part)
        for each in part.queued:
            key = sort_key(each.url)
            if not is_own and (owner := plan.owner_of(key)) != self._me:
                others.setdefault(owner, ([], []))[0].append(each)
            elif keyspace.contains(self.awaited, self._keyspace.place(key)) and not at_once(key):
                self._frontier.team_tables.hold([each], instead=True)
                got.moved += 1
            else:
                got.entries.append(each)
        for key, letter in part.seen:
            if not is_own and (owner := plan.owner_of(key)) != self._me:
                others.setdefault(owner, ([], []))[1].append((key, letter))
            else:
                marks.append((key, Mark(letter.encode())))
        waiting = set(self._frontier.range_moves.put_in(marks))
        begun, place = self._state.begun, self._keyspace.place
        got.dealt_with = {key: mark for key, mark in marks if key in waiting and keyspace.contains(begun, place(key))}
        got.moved += len(got.entries) + len(marks)
        got.onward = [
            (owner, HandOver(plan.epoch, part.low, part.high, False, *rows)) for owner, rows in others.items()
        ]
        if part.last:
            self._complete(part)
        return got

    def _at_once(self, part: HandOver) -> Callable[[bytes], bool]:
        """Which of the URLs that a part brings to an awaited range may be fetched before the range is complete.

        Only what its former owner sends under this plan: a part that comes again may name what was fetched meanwhile.
        """
        free = {state.host for state in part.hosts if _is_free(state)}
        since = ((each.low, each.high) for each in self._state.awaited if free and each.since <= part.epoch)
        ranges, place = keyspace.subtract(keyspace.unite(since), self._state.closed), self._keyspace.place
        return lambda key: host_of_key(key) in free and keyspace.contains(ranges, place(key))

    def released(self) -> list[QueuedUrl]:
        """Some of the held entries of ranges that are complete, or no longer owned by this gatherer."""
        tables, entries = self._frontier.team_tables, list[QueuedUrl]()
        if tables.held():
            for low, high in keyspace.subtract(EVERYTHING, self.awaited):
                entries += tables.release(low, high, RELEASE_URLS - len(entries), self._keyspace)
        return entries

    def _leaving(self, had: Ranges, new: Plan) -> Iterator[LeavingRange]:
        """The ranges that leave under the new plan: those on their way before, perhaps elsewhere, and those owned."""
        for low, high, winner in new.ranges():
            if winner == self._me:
                continue
            for before in self._state.leaving:
                for part_low, part_high in keyspace.intersect(((low, high),), ((before.low, before.high),)):
                    yield LeavingRange(part_low, part_high, winner, self._resume(before.at, part_low, part_high))
            for part_low, part_high in keyspace.intersect(((low, high),), had):
                yield LeavingRange(part_low, part_high, winner, self._start(part_low))

    def _start(self, low: bytes) -> bytes:
        """The key at which the search for a range begins; by hash, the URLs of a range are scattered over all keys."""
        return low if self._keyspace is Keyspace.TREE else FIRST_KEY

    def _resume(self, at: bytes | None, low: bytes, high: bytes) -> bytes | None:
        """Where to continue with a piece of a range that was taken out up to `at`."""
        if at is None or self._keyspace is not Keyspace.TREE:
            return at
        return max(at, low) if at < high else None

    def _take_out(
        self, leaving: LeavingRange, start: bytes, stays: Callable[[bytes], bool], looks: int | None
    ) -> Piece:
        """The next piece of a leaving range, except the URLs that stay: those in flight."""
        if self._keyspace is Keyspace.TREE:
            return self._frontier.range_moves.take_out(start, leaving.high, stays, PART_URLS)
        low, high, place = leaving.low, leaving.high, self._keyspace.place
        return self._frontier.range_moves.take_out(
            start, LAST_KEY, lambda key: stays(key) or not low <= place(key) < high, PART_URLS, looks
        )

    def _complete(self, part: HandOver) -> None:
        left: list[AwaitedRange] = []
        for awaited in self._state.awaited:
            taken = ((part.low, part.high),) if awaited.since <= part.epoch else ()
            rest = keyspace.subtract(((awaited.low, awaited.high),), taken)
            left += [AwaitedRange(low, high, awaited.since) for low, high in rest]
        self._set(_State(self._state.leaving, left, self._state.begun, self._state.closed))

    def _set(self, state: _State) -> None:
        self._state = state
        self.awaited = keyspace.unite((*((awaited.low, awaited.high) for awaited in state.awaited), *state.closed))


def _any_in(spans: Iterable[tuple[bytes, bytes]], leaving: LeavingRange) -> bool:
    return any(leaving.low <= last and first < leaving.high for first, last in spans)


def _is_free(state: HostState) -> bool:
    """Whether the host is owed no delay, as its robots.txt says: two gatherers may ask it at once."""
    return state.robots is not None and state.wait_s <= 0


def _part(epoch: int, leaving: LeavingRange, piece: Piece, hosts: list[HostState], is_last: bool) -> HandOver:
    seen = [(key, mark.value.decode()) for key, mark in piece.marks]
    return HandOver(epoch, leaving.low, leaving.high, is_last, piece.entries, seen, hosts)
