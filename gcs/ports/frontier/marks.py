"""The marks of all known URLs, by sort key: looking at them, and forgetting those of the last session.

Invariant: a URL has exactly one mark, and its host counts it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from gcs.ports.frontier.entry import Mark, host_part, key_of, short

QUEUED = Mark.QUEUED.value


class Marks:
    """What the frontier knows of every URL; and how many it knows of each host."""

    def __init__(self, urls: Any, hosts: Any, txn: Callable[[], Any]) -> None:
        self._urls, self._hosts, self._txn = urls, hosts, txn

    def mark(self, url: str) -> Mark | None:
        """The mark of a URL, None if it is not known."""
        value = self._txn().get(key_of(url), db=self._urls)
        return None if value is None else Mark(value[:1])

    def waits(self, key: bytes) -> bool:
        """Whether the URL of this sort key is queued."""
        value = self._txn().get(short(key), db=self._urls)
        return value is not None and value[:1] == QUEUED

    def known(self) -> int:
        """How many URLs are known, whatever their mark."""
        return int(self._txn().stat(self._urls)["entries"])

    def scan(self, low: bytes, high: bytes) -> Iterator[tuple[bytes, Mark]]:
        """All known keys in [low, high) with their marks, in order. A key over the limit ends in a hash."""
        with self._txn().cursor(self._urls) as cursor:
            ok = cursor.set_range(low)
            while ok and (key := bytes(cursor.key())) < high:
                yield key, Mark(cursor.value()[:1])
                ok = cursor.next()

    def renew(self) -> list[bytes]:
        """Forget all that is finished; returns the keys of what was refused."""
        txn, refused, hosts = self._txn(), list[bytes](), Counter[bytes]()
        with txn.cursor(self._urls) as cursor:
            ok = cursor.first()
            while ok and (key := bytes(cursor.key())):
                mark = cursor.value()[:1]
                if mark == QUEUED:
                    hosts[host_part(key)] += 1
                    ok = cursor.next()
                    continue
                if mark == Mark.REFUSED.value:
                    refused.append(key)
                ok = cursor.delete()
        txn.drop(self._hosts, delete=False)
        for host, count in hosts.items():
            txn.put(host, count.to_bytes(8, "big"), db=self._hosts)
        return refused
