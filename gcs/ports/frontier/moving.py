"""Ranges on the move: what a range holds is taken out of one frontier, and put into another.

A range may hold millions of URLs, so it is taken out piece by piece, between which the gatherer lives on. One pass
over the range: marks, entries and the counts of its hosts leave together.

Invariant: what `take_out` returned is nowhere in the frontier any more, in the same transaction.
"""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any

from gcs.ports.frontier.entry import Entry, Mark, decode
from gcs.ports.frontier.key import host_part, split

QUEUED = Mark.QUEUED.value


@dataclass(frozen=True, slots=True)
class Piece:
    """What was taken out."""

    entries: list[Entry]
    #: keys of the URLs that do not wait, as the frontier has them
    marks: list[tuple[bytes, Mark]]
    #: where the range goes on; None if this was the last of it
    next: bytes | None


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a frontier that know its URLs."""

    urls: Any
    queue: Any
    taken: Any
    later: Any
    hosts: Any


class Moving:
    """The ends of a frontier between which ranges move."""

    def __init__(self, tables: Tables, txn: Callable[[], Any]) -> None:
        self._tables, self._txn = tables, txn

    def take_out(self, low: bytes, high: bytes, keep: Container[bytes], most: int) -> Piece:
        """Take up to `most` URLs of [low, high) out, from the first on, but for the keys to keep."""
        txn, tables = self._txn(), self._tables
        retries = {split(packed)[0]: bytes(due) for due, packed in txn.cursor(tables.later)}
        entries: list[Entry] = []
        marks: list[tuple[bytes, Mark]] = []
        gone: dict[bytes, int] = {}
        goes_on: bytes | None = None
        with txn.cursor(tables.urls) as cursor:
            ok = cursor.set_range(low)
            while ok and (key := bytes(cursor.key())) < high:
                if len(entries) + len(marks) >= most:
                    goes_on = key
                    break
                if key in keep:
                    ok = cursor.next()
                    continue
                host, value = host_part(key), bytes(cursor.value())
                gone[host] = gone.get(host, 0) + 1
                if value[:1] == QUEUED:
                    entries.append(self._pop(host + value[1:], retries))
                else:
                    marks.append((key, Mark(value[:1])))
                ok = cursor.delete() and bool(cursor.key())
        self._count({host: -urls for host, urls in gone.items()})
        return Piece(entries, marks, goes_on)

    def put_in(self, marks: Iterable[tuple[bytes, Mark]]) -> list[bytes]:
        """Take over marks of URLs that are not known here; returns the keys of those that wait here."""
        txn, urls = self._txn(), self._tables.urls
        new: dict[bytes, int] = {}
        waiting: list[bytes] = []
        for key, mark in marks:
            if txn.put(key, mark.value, overwrite=False, db=urls):
                new[host_part(key)] = new.get(host_part(key), 0) + 1
            elif txn.get(key, db=urls)[:1] == QUEUED:
                waiting.append(key)
        self._count(new)
        return waiting

    def give_up(self, key: bytes, mark: Mark) -> None:
        """A URL that waits here has been dealt with elsewhere."""
        txn, tables = self._txn(), self._tables
        place = host_part(key) + bytes(txn.get(key, db=tables.urls)[1:])
        self._pop(place, {split(packed)[0]: bytes(due) for due, packed in txn.cursor(tables.later)})
        txn.put(key, mark.value, db=tables.urls)

    def _pop(self, place: bytes, retries: dict[bytes, bytes]) -> Entry:
        """Remove an entry from wherever it waits."""
        txn, tables = self._txn(), self._tables
        packed = txn.pop(place, db=tables.queue) or txn.pop(place, db=tables.taken)
        if packed is None:
            _, packed = split(txn.pop(retries[place], db=tables.later))
        return decode(packed)

    def _count(self, changes: dict[bytes, int]) -> None:
        """So many known URLs more of each host."""
        txn, hosts = self._txn(), self._tables.hosts
        for host, change in changes.items():
            count = max(int.from_bytes(txn.get(host, db=hosts) or b"", "big") + change, 0)
            txn.put(host, count.to_bytes(8, "big"), db=hosts)
