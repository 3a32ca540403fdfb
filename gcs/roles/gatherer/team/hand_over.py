"""Hand-over: ranges that we lose go to their new owners, ranges that we win are started when they are complete.

Losing a range takes two passes. First everything of it that is not in flight leaves the frontier, piece by piece and
in key order, as numbered parts in the outbox; we fetch nothing meanwhile. When nothing of it is in flight any more,
what these pages left (marks, retries) follows, with the end mark.

A range that we win is awaited until its end mark. What arrives for it until then is held: its former owner may be
fetching still, and may know a URL that a third party sends us. A range that the plan calls lost is awaited from nobody,
but closed until the plan is committed: then all have said which of its pages they stored when it was theirs. If its
former owner turns up after all, it is told that the range is not its own any more, and hands over late: what it has
fetched is then taken for fetched here, unless it is in flight.

Invariant: at every commit a URL is in exactly one frontier or in a part on its way; a range has one owner that fetches.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from gcs.core.messages.tuples import HandOver, HostState
from gcs.core.plan import keyspace
from gcs.core.plan.keyspace import EVERYTHING, Keyspace, Ranges
from gcs.core.plan.plan import Plan
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, sort_key
from gcs.ports.frontier import Frontier, Mark
from gcs.ports.frontier.range_moves import Piece
from gcs.ports.frontier.url_rows import short

#: URLs in one part, and parts made in one turn
PART_URLS, TURN_PARTS = 2_000, 4
#: URLs that are looked at for one part, where a range is scattered
LOOK_URLS = 10_000
#: held URLs that are let go in one turn
RELEASE_URLS = 4_000


class Losing(msgspec.Struct, array_like=True):
    """A range on its way to its winner."""

    low: bytes
    high: bytes
    winner: str
    #: what lies before this key has left, but for what was in flight; None when that is true of all
    at: bytes | None


class Awaited(msgspec.Struct, array_like=True, frozen=True):
    """A range that somebody hands over to us."""

    low: bytes
    high: bytes
    #: end marks of older epochs are those of earlier hand-overs of the range, and come late
    since: int


class _State(msgspec.Struct, array_like=True):
    losing: list[Losing] = []
    awaited: list[Awaited] = []
    #: lost ranges that we begin anew, and those of them that are closed yet
    begun: Ranges = ()
    closed: Ranges = ()


@dataclass(slots=True)
class Received:
    """What a part brought: entries for our frontier, and what is for others."""

    entries: list[QueuedUrl] = field(default_factory=list)
    onward: list[tuple[str, HandOver]] = field(default_factory=list)
    moved: int = 0
    #: keys that wait here, though their former owner has dealt with them
    dealt_with: dict[bytes, Mark] = field(default_factory=dict)


class HandOvers:
    """The ranges of one gatherer that are changing hands."""

    def __init__(self, me: str, frontier: Frontier) -> None:
        self._me = me
        self._frontier = frontier
        self._keyspace = Keyspace.TREE
        self._state = _State()
        #: ranges of ours that are not to be fetched yet: what arrives for them is held
        self.awaited: Ranges = ()

    def encode(self) -> bytes:
        """What is changing hands, for the checkpoint."""
        return msgspec.msgpack.encode(self._state)

    def restore(self, packed: bytes | None, plan: Plan | None) -> None:
        """Go on from a checkpoint: nothing is in flight, so whatever we were losing can be finished."""
        if plan:
            self._keyspace = plan.keyspace
        if packed:
            self._set(msgspec.msgpack.decode(packed, type=_State))

    @property
    def is_settled(self) -> bool:
        """Nothing is changing hands."""
        return not self._state.losing and not self._state.awaited

    @property
    def is_closed(self) -> bool:
        """Whether a lost range waits for the plan's commit. That is settled: the commit waits for nobody but others."""
        return bool(self._state.closed)

    @property
    def is_losing(self) -> bool:
        """Whether there is a range of ours that others have not got in full."""
        return bool(self._state.losing)

    @property
    def is_leaving(self) -> bool:
        """Whether the frontier still holds URLs that are no longer ours, and not in flight."""
        return any(losing.at is not None for losing in self._state.losing)

    def adopt(self, old: Plan | None, new: Plan) -> None:
        """Begin what the new plan asks for, in the same session."""
        self._keyspace = new.keyspace
        had: Ranges = tuple(old.ranges_of(self._me)) if old else ()
        if old is None and self._frontier.known():
            had = EVERYTHING  # a crawl that one gatherer began alone
        if old is not None and old.mixes and self._me not in new.gatherers:
            had = EVERYTHING  # what we leave behind is not in our ranges only
        has = tuple(new.ranges_of(self._me))
        won = keyspace.subtract(keyspace.subtract(has, had), new.lost)
        kept = keyspace.subtract(has, new.lost)
        awaited = [
            Awaited(low, high, before.since)
            for before in self._state.awaited
            for low, high in keyspace.intersect(kept, ((before.low, before.high),))
        ]
        # another plan of the epoch that we had: the whiteboard has forgotten ours
        awaited += [Awaited(low, high, min(old.epoch + 1, new.epoch) if old else 0) for low, high in won]
        begun = keyspace.intersect(self._state.begun, has)
        if old is not None:
            begun = keyspace.unite((*begun, *keyspace.intersect(has, new.lost)))
        closed = keyspace.intersect(has, new.lost) if new.epoch > 1 else ()  # of the first plan nobody knows anything
        for low, high in has:
            self._frontier.team_tables.forget_posts(low, high, self._keyspace)
        self._set(_State(list(self._losses(had, new)), awaited, begun, closed))

    def open(self) -> None:
        """The plan is committed."""
        self._set(_State(self._state.losing, self._state.awaited, self._state.begun))

    def begin(self, plan: Plan) -> None:
        """A new session: nothing of the last one changes hands any more."""
        self._keyspace = plan.keyspace
        self._set(_State())

    def progress(
        self, epoch: int, most: int, open_urls: Iterable[str], host_states: Callable[[], list[HostState]]
    ) -> Iterator[tuple[str, HandOver]]:
        """Up to `most` parts of what we are losing, each with its destination."""
        most = min(most, TURN_PARTS)
        if not self._state.losing or most <= 0:
            return
        flying = frozenset(short(sort_key(url)) for url in open_urls)
        for losing in self._state.losing:
            while losing.at is not None and most > 0:
                most -= 1
                piece = self._take_out(losing, losing.at, flying, LOOK_URLS)
                losing.at = piece.next
                if piece.entries or piece.marks:
                    yield losing.winner, _part(epoch, losing, piece.entries, piece.marks)
        places = [self._keyspace.place(key) for key in flying]
        ready = [losing for losing in self._state.losing if losing.at is None and not _any_in(places, losing)]
        hosts = host_states() if ready and most > 0 else []
        for losing in ready[: max(most, 0)]:
            piece = self._take_out(losing, self._start(losing.low), (), None)
            theirs = [
                state for state in hosts if losing.low <= self._keyspace.place(state.host + b"\x00/") < losing.high
            ]
            yield (
                losing.winner,
                _part(epoch, losing, piece.entries, piece.marks, last=piece.next is None, hosts=theirs),
            )
            if piece.next is None:
                self._state.losing.remove(losing)

    def receive(self, part: HandOver, plan: Plan) -> Received:
        """Take in a part. What of it is not ours under the plan is to be sent on."""
        got = Received()
        others: dict[str, tuple[list[QueuedUrl], list[tuple[bytes, str]]]] = {}
        marks: list[tuple[bytes, Mark]] = []
        mine = not keyspace.subtract(((part.low, part.high),), plan.ranges_of(self._me))
        for each in part.queued:
            key = sort_key(each.url)
            if not mine and (owner := plan.owner_of(key)) != self._me:
                others.setdefault(owner, ([], []))[0].append(each)
            elif keyspace.contains(self.awaited, self._keyspace.place(key)):
                self._frontier.team_tables.hold([each], instead=True)
                got.moved += 1
            else:
                got.entries.append(each)
        for key, letter in part.seen:
            if not mine and (owner := plan.owner_of(key)) != self._me:
                others.setdefault(owner, ([], []))[1].append((key, letter))
            else:
                marks.append((key, Mark(letter.encode())))
        waiting = set(self._frontier.range_moves.put_in(marks))
        begun, place = self._state.begun, self._keyspace.place
        got.dealt_with = {key: mark for key, mark in marks if key in waiting and keyspace.contains(begun, place(key))}
        got.moved += len(got.entries) + len(marks)
        got.onward = [
            (owner, HandOver(plan.epoch, part.low, part.high, False, *theirs)) for owner, theirs in others.items()
        ]
        if part.last:
            self._complete(part)
        return got

    def released(self) -> list[QueuedUrl]:
        """Some of the entries that were held for ranges which are complete, or not ours any more."""
        tables, entries = self._frontier.team_tables, list[QueuedUrl]()
        if tables.held():
            for low, high in keyspace.subtract(EVERYTHING, self.awaited):
                entries += tables.release(low, high, RELEASE_URLS - len(entries), self._keyspace)
        return entries

    def _losses(self, had: Ranges, new: Plan) -> Iterator[Losing]:
        """What has to leave under the new plan: what was on its way before, perhaps elsewhere, and what we had."""
        for low, high, winner in new.ranges():
            if winner == self._me:
                continue
            for before in self._state.losing:
                for part_low, part_high in keyspace.intersect(((low, high),), ((before.low, before.high),)):
                    yield Losing(part_low, part_high, winner, self._resume(before.at, part_low, part_high))
            for part_low, part_high in keyspace.intersect(((low, high),), had):
                yield Losing(part_low, part_high, winner, self._start(part_low))

    def _start(self, low: bytes) -> bytes:
        """From which key on a range is to be looked for: on hashed ground it is scattered over all of them."""
        return low if self._keyspace is Keyspace.TREE else FIRST_KEY

    def _resume(self, at: bytes | None, low: bytes, high: bytes) -> bytes | None:
        """Where to go on with a piece of a range that was left at `at`."""
        if at is None or self._keyspace is not Keyspace.TREE:
            return at
        return max(at, low) if at < high else None

    def _take_out(self, losing: Losing, start: bytes, flying: Container[bytes], looks: int | None) -> Piece:
        """The next piece of a range that we lose, but for what is in flight."""
        if self._keyspace is Keyspace.TREE:
            return self._frontier.range_moves.take_out(start, losing.high, flying.__contains__, PART_URLS)
        low, high, place = losing.low, losing.high, self._keyspace.place
        return self._frontier.range_moves.take_out(
            start, LAST_KEY, lambda key: key in flying or not low <= place(key) < high, PART_URLS, looks
        )

    def _complete(self, part: HandOver) -> None:
        left: list[Awaited] = []
        for awaited in self._state.awaited:
            taken = ((part.low, part.high),) if awaited.since <= part.epoch else ()
            rest = keyspace.subtract(((awaited.low, awaited.high),), taken)
            left += [Awaited(low, high, awaited.since) for low, high in rest]
        self._set(_State(self._state.losing, left, self._state.begun, self._state.closed))

    def _set(self, state: _State) -> None:
        self._state = state
        self.awaited = keyspace.unite((*((awaited.low, awaited.high) for awaited in state.awaited), *state.closed))


def _any_in(places: Iterable[bytes], losing: Losing) -> bool:
    return any(losing.low <= place < losing.high for place in places)


def _part(
    epoch: int,
    losing: Losing,
    entries: list[QueuedUrl],
    marks: list[tuple[bytes, Mark]],
    last: bool = False,
    hosts: list[HostState] | None = None,
) -> HandOver:
    seen = [(key, mark.value.decode()) for key, mark in marks]
    return HandOver(epoch, losing.low, losing.high, last, entries, seen, hosts or [])
