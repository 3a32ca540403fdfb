"""Range moves: the URLs of a range are taken out of one frontier, and put into another.

A range may hold millions of URLs, so it is taken out piece by piece, and the gatherer works on between two pieces.
One pass over the range: marks, entries and the counts of its hosts leave together.

Invariant: what `take_out` returned is nowhere in the frontier any more, in the same transaction.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gcs.core.ordering import Ledger
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier.url_rows import Mark, decode, host_part
from gcs.ports.frontier.waiting_urls import WaitingUrls

QUEUED = Mark.QUEUED.value


@dataclass(frozen=True, slots=True)
class Piece:
    """What was taken out."""

    entries: list[QueuedUrl]
    #: keys of the URLs that do not wait, as the frontier has them
    marks: list[tuple[bytes, Mark]]
    #: where the range goes on; None if this was the last of it
    next: bytes | None


class RangeMoves:
    """Takes ranges out of a frontier, and puts the marks of others into it."""

    def __init__(self, urls: Any, hosts: Any, waiting: WaitingUrls, ledger: Ledger, txn: Callable[[], Any]) -> None:
        self._urls, self._hosts, self._waiting, self._ledger, self._txn = urls, hosts, waiting, ledger, txn

    def take_out(
        self, low: bytes, high: bytes, stays: Callable[[bytes], bool], most: int, looks: int | None = None
    ) -> Piece:
        """Take up to `most` URLs of [low, high) out, from the first on, but for the keys that stay.

        `looks`: look at so many keys at most, in order not to take too long where nearly all of them stay.
        """
        retries = self._waiting.retries()
        entries: list[QueuedUrl] = []
        marks: list[tuple[bytes, Mark]] = []
        gone: dict[bytes, int] = {}
        goes_on: bytes | None = None
        looked = 0
        with self._txn().cursor(self._urls) as cursor:
            ok = cursor.set_range(low)
            while ok and (key := bytes(cursor.key())) < high:
                if len(entries) + len(marks) >= most or looked == looks:
                    goes_on = key
                    break
                looked += 1
                if stays(key):
                    ok = cursor.next()
                    continue
                host, value = host_part(key), bytes(cursor.value())
                gone[host] = gone.get(host, 0) + 1
                if value[:1] == QUEUED:
                    entries.append(decode(self._waiting.pop(key, value, retries)))
                    self._ledger.sent += entries[-1].worth
                else:
                    marks.append((key, Mark(value[:1])))
                ok = cursor.delete() and bool(cursor.key())
        self._count({host: -urls for host, urls in gone.items()})
        return Piece(entries, marks, goes_on)

    def put_in(self, marks: Iterable[tuple[bytes, Mark]]) -> list[bytes]:
        """Take over marks of URLs that are not known here; returns the keys of those that wait here."""
        txn, urls = self._txn(), self._urls
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
        """Give a URL that waits here the mark that it got elsewhere."""
        row = self._waiting.pop(key, bytes(self._txn().get(key, db=self._urls)))
        self._ledger.idle += decode(row).worth
        self._txn().put(key, mark.value, db=self._urls)

    def _count(self, changes: dict[bytes, int]) -> None:
        """Change the number of known URLs of each host."""
        txn, hosts = self._txn(), self._hosts
        for host, change in changes.items():
            count = max(int.from_bytes(txn.get(host, db=hosts) or b"", "big") + change, 0)
            txn.put(host, count.to_bytes(8, "big"), db=hosts)
