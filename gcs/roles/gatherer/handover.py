"""Hand-over: ranges that we lose go to their new owners, ranges that we win are started when they are complete.

Losing a range takes two steps. At once: everything of it that is not in flight leaves the frontier, as numbered parts
in the outbox, in the same transaction. When nothing of it is in flight any more: what these pages left (marks, retries)
follows, with the end mark. A range that we win takes third parties' URLs only after its end mark, because one of them
may be known to the loser; until then they are held.

Invariant: at every commit a URL is in exactly one frontier or in a part on its way; a range has one owner that fetches.
"""

from collections.abc import Callable, Container, Iterator

import msgspec

from gcs.core import ranges
from gcs.core.plan import Plan
from gcs.core.ranges import Ranges
from gcs.core.sortkey import FIRST_KEY, LAST_KEY, sort_key, url_of
from gcs.core.tuples import HandOver, HostState, Queued
from gcs.ports.frontier import Entry, Frontier, Mark

#: URLs in one part
PART_URLS = 2_000


class Losing(msgspec.Struct, array_like=True):
    """A range on its way to its winner: the first parts are out, pages in flight are waited for."""

    low: bytes
    high: bytes
    winner: str
    parts: int


class _State(msgspec.Struct, array_like=True):
    losing: list[Losing]
    awaited: tuple[tuple[bytes, bytes], ...]


class HandOvers:
    """The ranges of one gatherer that are changing hands."""

    def __init__(self, me: str, frontier: Frontier) -> None:
        self._me = me
        self._frontier = frontier
        self.losing: list[Losing] = []
        self.awaited: Ranges = ()

    def encode(self) -> bytes:
        """What is changing hands, for the checkpoint."""
        return msgspec.msgpack.encode(_State(self.losing, self.awaited))

    def restore(self, packed: bytes | None) -> None:
        """Go on from a checkpoint: nothing is in flight, so whatever we were losing can be finished."""
        if packed:
            state = msgspec.msgpack.decode(packed, type=_State)
            self.losing, self.awaited = state.losing, state.awaited

    @property
    def is_settled(self) -> bool:
        """Nothing is changing hands."""
        return not self.losing and not self.awaited

    def adopt(self, old: Plan | None, new: Plan, open_urls: Container[str]) -> Iterator[tuple[str, HandOver]]:
        """Begin what the new plan asks for; yields the first parts of what we lose, each with its destination."""
        had: Ranges = tuple(old.ranges_of(self._me)) if old else ()
        if old is None and self._frontier.known():
            had = ((FIRST_KEY, LAST_KEY),)  # a crawl that one gatherer began alone
        has = tuple(new.ranges_of(self._me))
        won = ranges.subtract(ranges.subtract(has, had), new.lost)
        self.awaited = ranges.unite((*ranges.intersect(self.awaited, has), *won))
        for low, high in has:
            self._frontier.exchange.forget_posts(low, high)
        for low, high, winner in new.ranges():
            if winner == self._me:
                continue
            for part_low, part_high in ranges.intersect(((low, high),), had):
                losing = Losing(part_low, part_high, winner, 0)
                yield from self._export(losing, new.epoch, open_urls)
                self.losing.append(losing)

    def progress(
        self, epoch: int, open_urls: set[str], host_states: Callable[[], list[HostState]]
    ) -> Iterator[tuple[str, HandOver]]:
        """The last parts of the ranges of which nothing is in flight any more."""
        if not self.losing:
            return
        flying, hosts = [sort_key(url) for url in open_urls], host_states()
        for losing in list(self.losing):
            if any(losing.low <= key < losing.high for key in flying):
                continue
            yield from self._export(losing, epoch, ())
            theirs = [state for state in hosts if losing.low <= state.host + b"\x00/" < losing.high]
            yield self._part(losing, epoch, [], [], last=True, hosts=theirs)
            self.losing.remove(losing)

    def receive(self, part: HandOver) -> tuple[list[Entry], list[Entry], int]:
        """Take in a part: entries to queue, held entries that may be queued now, and how many URLs came."""
        taken = 0
        for url, mark in part.seen:
            taken += self._frontier.adopt(url, Mark(mark.encode()))
        entries = [Entry(*msgspec.structs.astuple(queued)) for queued in part.queued]
        released: list[Entry] = []
        if part.last:
            self.awaited = ranges.subtract(self.awaited, ((part.low, part.high),))
            released = self._frontier.exchange.release(part.low, part.high)
        return entries, released, taken + len(entries)

    def _export(self, losing: Losing, epoch: int, keep: Container[str]) -> Iterator[tuple[str, HandOver]]:
        """Move what is in the range, but for the URLs to keep, out of the frontier and into parts."""
        queued: list[Queued] = []
        seen: list[tuple[str, str]] = []
        entries = {
            entry.url: Queued(
                entry.url,
                entry.parent,
                entry.depth,
                entry.priority,
                entry.tries,
                entry.hops,
                entry.etag,
                entry.last_modified,
            )
            for entry in self._frontier.entries(losing.low, losing.high)
        }
        for key, mark in self._frontier.scan(losing.low, losing.high):
            url = url_of(key)
            if url in keep:
                continue
            if mark is Mark.QUEUED:
                if url in entries:
                    queued.append(entries[url])
            else:
                seen.append((url, mark.value.decode()))
            if len(queued) + len(seen) >= PART_URLS:
                yield self._part(losing, epoch, queued, seen)
                queued, seen = [], []
        if queued or seen:
            yield self._part(losing, epoch, queued, seen)
        self._frontier.drop(losing.low, losing.high, keep)

    def _part(
        self,
        losing: Losing,
        epoch: int,
        queued: list[Queued],
        seen: list[tuple[str, str]],
        last: bool = False,
        hosts: list[HostState] | None = None,
    ) -> tuple[str, HandOver]:
        part = HandOver(epoch, losing.low, losing.high, losing.parts, last, queued, seen, hosts or [])
        losing.parts += 1
        return losing.winner, part
