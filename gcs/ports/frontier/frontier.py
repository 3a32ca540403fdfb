"""The frontier: the marks of all known URLs, and what waits. See the package docstring for the life of a URL.

Invariants
- A URL has exactly one mark; QUEUED ⇔ exactly one row in pool ∪ queue ∪ taken ∪ later.
- Nothing is durable before `commit`, and everything before it is: a crash falls back to the last commit.
- One writer: all calls come from one thread of one process (LMDB refuses a second by its lock).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import lmdb

from gcs.core.ordering import BFS, GIFT, Ledger, Ordering
from gcs.core.queues.contract import Queue
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import url_of
from gcs.ports.frontier.host_queues import HostQueues
from gcs.ports.frontier.lmdb_file import MmapTrim, lock, open_environment, store_error
from gcs.ports.frontier.ordered_pool import OrderedPool
from gcs.ports.frontier.range_moves import RangeMoves
from gcs.ports.frontier.team_tables import TeamTables
from gcs.ports.frontier.url_rows import ORDER, Mark, decode, encode, host_part, is_whole, key_of, short, worth_of
from gcs.ports.frontier.waiting_urls import WaitingUrls

#: changes after which a commit is due: each may hold a page of memory until then
CHANGES_PER_COMMIT = 4_000

QUEUED = Mark.QUEUED.value


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """How much of the frontier stays in memory, and how often it becomes durable."""

    #: hosts: each host has its own queue, and hosts take turns; else one order over all hosts, kept by this queue
    queue: Literal["hosts", "quickheap", "tournament", "heap"] = "hosts"
    #: memory for that one order; what does not fit lies in a file (but a heap is always all in memory)
    queue_bytes: int = 64 << 20
    #: URLs in memory, over all hosts (the paper's window of the queue)
    window_urls: int = 10_000
    #: URLs of one host in the window
    host_window_urls: int = 100
    #: URLs looked up lately, kept in memory: they answer most links without the disk
    recent_urls: int = 30_000
    #: seconds between commits; a crash repeats at most what the record log does not hold
    checkpoint_s: float = 2.0
    #: fsync at each commit: a power cut, too, loses nothing that was committed
    fsync: bool = True


class Frontier:
    """All known URLs of one gatherer, in a directory that can be opened again after `close` or a crash.

    With `make_queue`, all URLs wait in one order, whatever their host; without it, each host has its own queue.
    """

    def __init__(
        self,
        directory: Path,
        settings: FrontierSettings,
        order: Ordering = BFS,
        make_queue: Callable[[], Queue] | None = None,
    ) -> None:
        self._directory, self.order = directory, order
        self._lock = lock(directory)
        self._env = open_environment(directory, settings.fsync)
        try:
            self._urls, queue, taken, later, self._hosts, self._notes, rows = (
                self._env.open_db(name) for name in (b"urls", b"queue", b"taken", b"later", b"hosts", b"notes", b"pool")
            )
            self.team_tables = TeamTables(self._env, lambda: self._txn)
        except lmdb.Error as error:  # new tables are written at once
            raise store_error(directory, error) from error
        self._trim = MmapTrim(self._env, directory / "data.mdb")
        self._changed = 0
        self._txn = self._env.begin(write=True)
        self._sequence = int.from_bytes(self._txn.get(b"sequence", db=self._notes) or b"", "big")
        self.ledger = Ledger.decode(self.note("ledger"))
        self._host_queues = HostQueues(queue, taken, later, lambda: self._txn)
        pool = OrderedPool(rows, lambda: self._txn, make_queue, self._trim.release)
        self._waiting = WaitingUrls(self._urls, self._host_queues, pool, order, lambda: self._txn)
        self.range_moves = RangeMoves(self._urls, self._hosts, self._waiting, self.ledger, lambda: self._txn)
        self._host_queues.restore()
        self._arrange()

    # -- filling ---------------------------------------------------------------------------------------

    def insert(self, entries: Iterable[QueuedUrl], host_limit: int = 0) -> list[QueuedUrl]:
        """Queue the entries whose URLs are not known yet, and return those entries.

        The worth of an entry whose URL is known is added to that URL. A host that has `host_limit` known URLs gets no
        more (0: no limit): its new entries are dropped without a mark.
        """
        put, new, counts = self._txn.put, [], dict[bytes, int]()
        weighs, waiting = self.order.weighs, self._waiting
        for entry in entries:
            key = key_of(entry.url)
            if weighs and self._give(key, entry):
                continue
            host = host_part(key)
            count = counts.get(host)
            if count is None:
                count = counts[host] = int.from_bytes(self._txn.get(host, db=self._hosts) or b"", "big")
            if host_limit and count >= host_limit:
                self.ledger.idle += entry.worth
                continue
            self._sequence += 1
            order = ORDER.pack(waiting.rank(entry) if weighs else entry.priority, self._sequence)
            if put(key, QUEUED + order, overwrite=False, db=self._urls):
                waiting.put(host, order, encode(entry))
                counts[host] = count + 1
                new.append(entry)
            self._touch(1)
        for host, count in counts.items():
            put(host, count.to_bytes(8, "big"), db=self._hosts)
        return new

    def renew(self) -> list[str]:
        """Begin a session: forget finished URLs and what was posted; URLs that wait go on waiting.

        Returns the refused URLs whose keys were not cut: robots.txt may allow them by now.
        """
        txn, refused, hosts = self._txn, list[bytes](), Counter[bytes]()
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
        self.team_tables.forget()
        return [url_of(key) for key in refused if is_whole(key)]

    # -- emptying --------------------------------------------------------------------------------------

    def hosts(self, after: str, count: int) -> list[str]:
        """Up to `count` hosts whose queues are not empty, in key order, beginning behind the host `after`."""
        return self._host_queues.hosts(after, count)

    def take(self, host: str, count: int) -> list[QueuedUrl]:
        """Move the first `count` URLs of a host's queue into the window. Finish or retry each of them."""
        return self._host_queues.take(host, count)

    def requeue_due(self, now: float) -> tuple[set[str], float | None]:
        """Put the retries that are due into their host queues; returns the hosts, and when the next retry is due."""
        return self._host_queues.requeue_due(now)

    @property
    def is_pooled(self) -> bool:
        """Whether all hosts share one order, out of which `extract` takes."""
        return self._waiting.pool is not None

    def pooled(self) -> int:
        """How many URLs wait in the order over all hosts."""
        return len(self._waiting.pool) if self._waiting.pool is not None else 0

    def extract(self, count: int, fits: Callable[[str], bool]) -> tuple[list[QueuedUrl], set[str]]:
        """Move the best `count` URLs into the window; those of hosts that do not fit go to their host queues.

        Returns the entries for the window, best first, and the hosts whose queues got an entry.
        """
        extracted = self._waiting.extract(count, fits)
        self._touch(2 * count)
        return extracted

    def finish(self, url: str, mark: Mark) -> Mark | None:
        """Mark a URL as finished; its worth is not given to its links. Returns the mark that it had."""
        before, worth = self.settle(url, mark)
        self.ledger.idle += worth
        return before

    def settle(self, url: str, mark: Mark) -> tuple[Mark | None, float]:
        """Mark a URL as finished, and remove it from wherever it waits. Returns its old mark and its worth."""
        key, worth = key_of(url), 0.0
        found = self._txn.get(key, db=self._urls)
        before = None
        if found is not None and found[:1] == QUEUED:
            before = Mark.QUEUED
            if self.order.weighs:
                worth = worth_of(self._waiting.pop(key, found))
            else:
                self._waiting.remove(key, found)
        elif found is not None:
            before = Mark(found)
        self._txn.put(key, mark.value, db=self._urls)
        self._touch(2)
        return before, worth

    def retry(self, entry: QueuedUrl, due_at: float) -> None:
        """Put a taken entry (with its tries counted up) aside until `due_at`, seconds since the epoch."""
        key = key_of(entry.url)
        if (mark := self._queued_mark(key)) is not None:
            self._waiting.retry(key, mark, entry, due_at)

    def put_back(self, urls: Iterable[str]) -> None:
        """Taken entries that were not requested go back to the queues of their hosts."""
        for url in urls:
            key = key_of(url)
            if (mark := self._queued_mark(key)) is not None:
                self._waiting.put_back(key, mark)

    # -- looking ---------------------------------------------------------------------------------------

    def mark(self, url: str) -> Mark | None:
        """The mark of a URL, None if it is not known."""
        value = self._txn.get(key_of(url), db=self._urls)
        return None if value is None else Mark(value[:1])

    def waits(self, key: bytes) -> bool:
        """Whether the URL of this sort key is queued."""
        return self._queued_mark(short(key)) is not None

    def known(self) -> int:
        """How many URLs are known, whatever their mark."""
        return int(self._txn.stat(self._urls)["entries"])

    def scan(self, low: bytes, high: bytes) -> Iterator[tuple[bytes, Mark]]:
        """All known keys in [low, high) with their marks, in order. A key over the limit ends in a hash."""
        with self._txn.cursor(self._urls) as cursor:
            ok = cursor.set_range(low)
            while ok and (key := bytes(cursor.key())) < high:
                yield key, Mark(cursor.value()[:1])
                ok = cursor.next()

    def queued(self) -> int:
        """How many URLs wait, in the queue, in the window, in flight or for a retry."""
        return len(self._waiting)

    def entries(self, low: bytes, high: bytes) -> Iterator[QueuedUrl]:
        """The entries that wait in [low, high), in key order."""
        retries = self._waiting.retries()
        for key, mark in self.scan(low, high):
            if mark is Mark.QUEUED:
                yield decode(self._waiting.get(key, self._txn.get(key, db=self._urls), retries))

    # -- notes -----------------------------------------------------------------------------------------

    def note(self, name: str) -> bytes | None:
        """A value kept beside the URLs, durable with them."""
        value = self._txn.get(short(name.encode()), db=self._notes)
        return None if value is None else bytes(value)

    def set_note(self, name: str, value: bytes) -> None:
        """Keep a small value beside the URLs."""
        self._txn.put(short(name.encode()), value, db=self._notes)

    # -- life ------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Make everything since the last commit durable, in one step."""
        self._txn.put(b"sequence", self._sequence.to_bytes(8, "big"), db=self._notes)
        if self.order.conserves:
            self.set_note("ledger", self.ledger.encode())
        try:
            self._txn.commit()
        except lmdb.Error as error:
            raise store_error(self._directory, error) from error
        finally:
            self._txn = self._env.begin(write=True)
            self._changed = 0

    def close(self) -> None:
        """Drop what was not committed and release the directory."""
        self._txn.abort()
        self._waiting.close()
        self._env.close()
        self._lock.close()

    @property
    def wants_commit(self) -> bool:
        """Whether so much has changed since the last commit that it takes memory."""
        return self._changed > CHANGES_PER_COMMIT

    def _give(self, key: bytes, entry: QueuedUrl) -> bool:
        """Add the worth of an entry to its URL, if the URL is known; False if the entry is to be queued."""
        mark = self._txn.get(key, db=self._urls)
        if mark is None and entry.depth != GIFT:
            return False
        self._touch(1)
        waits = mark is not None and mark[:1] == QUEUED and not entry.is_seed  # the same seed may be given twice
        if entry.worth and not (waits and self._waiting.credit(key, mark, entry.worth)):
            self.ledger.idle += entry.worth
        return True

    def _touch(self, lookups: int) -> None:
        self._changed += lookups
        self._trim.touch(lookups)

    def _queued_mark(self, key: bytes) -> bytes | None:
        """The mark of a URL that waits, with its place; None if the URL does not wait."""
        mark = self._txn.get(key, db=self._urls)
        return mark if mark is not None and mark[:1] == QUEUED else None

    def _arrange(self) -> None:
        """Put the waiting URLs into the order of this run, if the last run had another."""
        arrangement = f"{self.order.name} {'pool' if self.is_pooled else 'hosts'}".encode()
        if (self.note("arrangement") or b"bfs hosts") != arrangement:
            self._waiting.arrange()
            self.set_note("arrangement", arrangement)
        self._waiting.open()
