"""Host queues: the URLs that wait at each host, those that were taken from there, and those put aside for a retry.

A *place* is where an entry lies: host NUL "/" rank sequence. It is the same key in `queue` and `taken`, and opens the
value in `later`. The best of a host is one short scan away, so politeness can ask for one host at a time.

Invariant: an entry lies in one of the three tables. What is taken when the frontier is opened goes back to `queue`.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any

from gcs.core.url import sortkey
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier.url_rows import ORDER, decode, split

#: when a retry is due and its sequence
DUE = Struct(">QQ")


class HostQueues:
    """The waiting URLs of a frontier, by host. `hosts`, `take` and `requeue_due` are described in `Frontier`."""

    def __init__(self, queue: Any, taken: Any, later: Any, txn: Callable[[], Any]) -> None:
        self.queue, self.taken, self.later = queue, taken, later
        self._txn = txn

    def hosts(self, after: str, count: int) -> list[str]:
        found: list[str] = []
        with self._txn().cursor(self.queue) as cursor:
            ok = cursor.set_range(_behind(_host_prefix(after)) if after else b"")
            while ok and len(found) < count:
                prefix = cursor.key()[: -ORDER.size]
                found.append(_host_name(prefix))
                ok = cursor.set_range(_behind(prefix))
        return found

    def take(self, host: str, count: int) -> list[QueuedUrl]:
        prefix, txn = _host_prefix(host), self._txn()
        entries: list[QueuedUrl] = []
        with txn.cursor(self.queue) as cursor:
            ok = cursor.set_range(prefix)
            while ok and len(entries) < count:
                place = cursor.key()
                if not place.startswith(prefix) or len(place) != len(prefix) + ORDER.size:
                    break
                row = cursor.value()
                txn.put(place, row, db=self.taken)
                entries.append(decode(row))
                ok = cursor.delete() and bool(cursor.key())
        return entries

    def put_back(self, place: bytes) -> None:
        """A taken entry that was not requested goes back to where it was."""
        if (row := self._txn().pop(place, db=self.taken)) is not None:
            self._txn().put(place, row, db=self.queue)

    def retry(self, place: bytes, row: bytes, due_at: float) -> None:
        """Put a taken entry aside until `due_at`, seconds since the epoch."""
        self._txn().delete(place, db=self.taken)
        due = DUE.pack(int(due_at * 1000), ORDER.unpack(place[-ORDER.size :])[1])
        self._txn().put(due, place + row, db=self.later)

    def requeue_due(self, now: float) -> tuple[set[str], float | None]:
        hosts: set[str] = set()
        with self._txn().cursor(self.later) as cursor:
            ok = cursor.first()
            while ok:
                due_ms, _ = DUE.unpack(cursor.key())
                if due_ms > now * 1000:
                    return hosts, due_ms / 1000
                place, row = split(cursor.value())
                self._txn().put(place, row, db=self.queue)
                hosts.add(_host_name(place[: -ORDER.size]))
                ok = cursor.delete() and bool(cursor.key())
        return hosts, None

    def get(self, place: bytes, retries: dict[bytes, bytes]) -> bytes:
        """The row of an entry, wherever it waits."""
        get = self._txn().get
        row = get(place, db=self.queue) or get(place, db=self.taken)
        return bytes(row) if row is not None else split(get(retries[place], db=self.later))[1]

    def pop(self, place: bytes, retries: dict[bytes, bytes] | None = None) -> bytes:
        """Remove an entry from wherever it waits; returns its row."""
        txn = self._txn()
        row = txn.pop(place, db=self.taken) or txn.pop(place, db=self.queue)
        return bytes(row) if row is not None else self._pop_retry(place, retries)

    def remove(self, place: bytes) -> None:
        """Remove an entry from wherever it waits: cheaper than `pop`."""
        delete = self._txn().delete
        if not delete(place, db=self.taken) and not delete(place, db=self.queue):
            self._pop_retry(place)

    def retries(self) -> dict[bytes, bytes]:
        """The place of every retry, with the key under which it waits."""
        return {split(packed)[0]: bytes(due) for due, packed in self._txn().cursor(self.later)}

    def restore(self) -> None:
        """Put taken entries back: the process that took them is gone."""
        txn = self._txn()
        with txn.cursor(self.taken) as cursor:
            for place, row in cursor:
                txn.put(place, row, db=self.queue)
        txn.drop(self.taken, delete=False)

    def __len__(self) -> int:
        return sum(int(self._txn().stat(table)["entries"]) for table in (self.queue, self.taken, self.later))

    def _pop_retry(self, place: bytes, retries: dict[bytes, bytes] | None = None) -> bytes:
        """Seldom: a record is replayed that was made after the last commit, or the range moves."""
        due = (self.retries() if retries is None else retries)[place]
        return split(self._txn().pop(due, db=self.later))[1]


def _host_prefix(host: str) -> bytes:
    return sortkey.host_key(host) + b"\x00/"


def _behind(prefix: bytes) -> bytes:
    """Where the queue of a host ends, whatever the ranks in it: a 0 follows the slash."""
    return bytes(prefix[:-1]) + b"0"


def _host_name(prefix: bytes) -> str:
    return sortkey.host_name(bytes(prefix[:-2]))
