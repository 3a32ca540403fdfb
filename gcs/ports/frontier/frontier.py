"""The frontier: every URL that this gatherer knows, on disk, in the order of the URL tree.

Life of a URL (`urls`: sort key → mark):

    unknown ──insert──► QUEUED ──take──► (in a window, or in flight) ──finish──► DONE | FAILED | REFUSED
                           ▲                        │
                           └──── retry (later) ◄────┘

"In flight" is a place, not a mark: an entry that was taken lies in `taken` until it is finished, and
whatever lies there when the frontier is opened goes back to `queue`. So a crash loses nothing, and all
that it costs is to fetch those pages again.

A URL waits in the queue of its host (`HostQueues`). Where the crawl has one order over all hosts, it waits in the pool
(`ordered_pool`) first: the best of the pool go to the window or, if their host has its share of the window already, to
the queue of their host. `WaitingUrls` is the two together.

`Frontier` holds the marks and calls the other parts. `RangeMoves` takes ranges out for other gatherers of a team. The
other tables of a team are in `team_tables`; `url_rows` has the keys and rows on disk, `lmdb_file` the file.

Tables (LMDB), all changed inside one open transaction that `commit` closes. An entry is a `QueuedUrl`:

    urls    sort key                            → mark, and for QUEUED rank and sequence
    pool    sequence                            → rank, entry   filled by insert; emptied by extract
    queue   host NUL "/" rank sequence          → entry     the host queues; filled by insert, extract and
                                                            retries that are due; emptied by take
    taken   (same key)                          → entry     filled by take, extract; emptied by finish, retry
    later   due time, sequence                  → key in `queue`, entry   filled by retry; emptied by requeue_due
    hosts   host NUL "/"                        → number of its known URLs (the per-host budget)
    notes   name                                → bytes     robots.txt, checkpoint position, counters, plan, ledger

and for a gatherer of a team (`team_tables`):

    sent    sort key                            → nothing   the c-hit table: foreign URLs that were posted
    held    sort key                            → entry     URLs of a range whose hand-over is not complete
    outbox  number                              → destination, tuple   kept until the receiver has committed it
    serials sender, type, number                → nothing   blocks that came lately; and the own name and last number

Invariants
- A URL has exactly one mark; QUEUED ⇔ exactly one row in pool ∪ queue ∪ taken ∪ later.
- Nothing is durable before `commit`, and everything before it is: a crash falls back to the last commit.
- A frontier follows from the records. So a damaged file is set aside, and the frontier that is opened is empty.
- One writer: all calls come from one thread of one process (LMDB refuses a second by its lock).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any, Literal

import lmdb
import msgspec

from gcs.core.ordering import BEHIND, BFS, GIFT, Found, Ledger, Ordering
from gcs.core.ordering import rank as rank_by_worth
from gcs.core.queues.contract import Queue
from gcs.core.url.canonical import host_of_url
from gcs.core.url.queued_url import QueuedUrl, level_of
from gcs.core.url.sortkey import host_key, host_name, url_of
from gcs.errors import DamagedError, SettingsError
from gcs.events import Events
from gcs.ports.frontier.lmdb_file import (
    MmapTrim,
    close_environment,
    discard,
    lock,
    open_environment,
    store_error,
)
from gcs.ports.frontier.ordered_pool import OrderedPool
from gcs.ports.frontier.team_tables import TeamTables
from gcs.ports.frontier.url_rows import (
    ORDER,
    Mark,
    decode,
    encode,
    host_part,
    is_whole,
    key_of,
    short,
    split,
    with_worth,
    worth_of,
)

#: changes after which a commit is due: each may hold a page of memory until then
CHANGES_PER_COMMIT = 4_000
#: when a retry is due and its sequence
DUE = Struct(">QQ")

QUEUED = Mark.QUEUED.value
ANEW = "the frontier is made anew from the records"

events = Events("frontier")


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """How much of the frontier stays in memory, and how often it becomes durable."""

    #: hosts: each host has its own queue, and hosts take turns; else one order over all hosts, kept by this queue
    queue: Literal["hosts", "quickheap", "tournament", "heap"] = "hosts"
    #: memory for that one order; what does not fit lies in a file (but a heap is always all in memory)
    queue_bytes: int = 64 << 20
    #: with the tournament tree: so many trees, each with its part of the URLs and of that memory, on as many threads
    queue_threads: int = 1
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

    def __post_init__(self) -> None:
        if not 1 <= self.queue_threads <= 64:
            raise SettingsError(f"frontier.queue_threads is {self.queue_threads}: give 1 to 64")
        if self.queue_threads > 1 and self.queue != "tournament":
            raise SettingsError("frontier.queue_threads is for frontier.queue=tournament")


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
        try:
            self._env = _environment(directory, settings.fsync)
        except BaseException:
            self._lock.close()
            raise
        try:
            self._urls, queue, taken, later, self._hosts, self._notes, rows = (
                self._env.open_db(name) for name in (b"urls", b"queue", b"taken", b"later", b"hosts", b"notes", b"pool")
            )
            self.team_tables = TeamTables(self._env, lambda: self._txn)
        except lmdb.Error as error:  # new tables are written at once
            self._env.close()
            self._lock.close()
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

    def queue_length(self, host: str, most: int) -> int:
        """How many URLs are in the queue of a host; counts at most so many."""
        return self._host_queues.queue_length(host, most)

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

    def hasten(self, urls: Iterable[str]) -> None:
        """What was put aside of these URLs is due now: what they waited for has come."""
        retries = self._waiting.retries()
        for key in map(key_of, urls):
            if (mark := self._queued_mark(key)) is not None:
                self._waiting.hasten(key, mark, retries)

    def put_back(self, urls: Iterable[str]) -> None:
        """Taken entries that were not requested go back to the queues of their hosts."""
        for url in urls:
            key = key_of(url)
            if (mark := self._queued_mark(key)) is not None:
                self._waiting.put_back(key, mark)

    def reorder(self, url: str, priority_of: Callable[[QueuedUrl], int | None]) -> None:
        """Give a URL another priority, if it waits outside the window and the order goes by priority.

        `priority_of` may say None: it stays where it is.
        """
        key = key_of(url)
        if not self.order.weighs and (mark := self._queued_mark(key)) is not None:
            self._waiting.reorder(key, mark, priority_of)
        self._touch(2)

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
        close_environment(self._env, self._directory)
        self._lock.close()

    def clear(self) -> None:
        """Close the frontier for good: the records that it was made from have changed. Its file is set aside."""
        self.close()
        events.warning("frontier-outdated", kept=discard(self._directory), advice=ANEW)

    @property
    def had_another(self) -> bool:
        """Whether an earlier file of this frontier was set aside: then more was known here than the records tell."""
        return any(self._directory.glob("data.mdb.cut*"))

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


def _environment(directory: Path, fsync: bool) -> Any:
    """The file of a directory that is locked: a new one, if it is damaged."""
    try:
        return open_environment(directory, fsync)
    except DamagedError as error:
        events.warning("frontier-damaged", reason=error, kept=discard(directory), advice=ANEW)
        return open_environment(directory, fsync)


class WaitingUrls:
    """Where URLs wait: in the queues of their hosts, or in the pool; and how their worth moves them.

    The mark of a URL that waits is followed by its rank and sequence number (`ORDER`): with the host they name its
    place in a host queue; the sequence number alone is its place in the pool. Taken URLs are ranked again too: they may
    be put back.

    Invariant: a URL that waits has one row; in the pool its rank is that of the row, elsewhere that of the mark.
    """

    def __init__(
        self, urls: Any, host_queues: "HostQueues", pool: OrderedPool, order: Ordering, txn: Callable[[], Any]
    ) -> None:
        self._urls, self._host_queues, self._rows, self._order, self._txn = urls, host_queues, pool, order, txn
        #: where new URLs wait; None where each host has its own queue
        self.pool = pool if pool.is_used else None

    def open(self) -> None:
        """Build the queue of the pool, which is in memory only."""
        if self.pool is not None:
            self.pool.build()

    def close(self) -> None:
        """Free the queue of the pool."""
        self._rows.close()

    def __len__(self) -> int:
        return len(self._host_queues) + (len(self.pool) if self.pool else 0)

    def rank(self, entry: QueuedUrl) -> int:
        if not self._order.weighs:
            return entry.priority
        if level_of(entry.depth):
            return 0
        return self._order.rank(_found(entry), entry.worth) | entry.priority & BEHIND

    def put(self, host: bytes, order: bytes, row: bytes) -> None:
        """A URL begins to wait, at that rank and sequence number."""
        if self.pool is None:
            self._txn().put(host + order, row, db=self._host_queues.queue)
        else:
            rank, sequence = ORDER.unpack(order)
            self.pool.put(rank, sequence, row)

    def get(self, key: bytes, mark: bytes, retries: dict[bytes, bytes]) -> bytes:
        found = self.pool.get(_sequence(mark)) if self.pool is not None else None
        return found[1] if found is not None else self._host_queues.get(_place(key, mark), retries)

    def pop(self, key: bytes, mark: bytes, retries: dict[bytes, bytes] | None = None) -> bytes:
        """Remove a URL from wherever it waits, and return its row."""
        row = self.pool.pop(_sequence(mark)) if self.pool is not None else None
        return row if row is not None else self._host_queues.pop(_place(key, mark), retries)

    def remove(self, key: bytes, mark: bytes) -> None:
        """Remove a URL from wherever it waits."""
        if self.pool is None or self.pool.pop(_sequence(mark)) is None:
            self._host_queues.remove(_place(key, mark))

    def credit(self, key: bytes, mark: bytes, gift: float) -> bool:
        """A URL that waits is worth more now; False if it waits for a retry, where nothing can reach it."""
        rank_before, sequence = ORDER.unpack(mark[1:])
        found = self.pool.get(sequence) if self.pool is not None else None
        if self.pool is not None and found is not None:
            row, rank = self._raised(found[1], gift, found[0])
            self.pool.put(rank, sequence, row, found[0])
            return True
        txn, place = self._txn(), _place(key, mark)
        for table in (self._host_queues.queue, self._host_queues.taken):
            if (packed := txn.get(place, db=table)) is None:
                continue
            row, rank = self._raised(bytes(packed), gift, rank_before)
            if rank != rank_before:
                txn.delete(place, db=table)
                place = host_part(key) + ORDER.pack(rank, sequence)
                txn.put(key, QUEUED + ORDER.pack(rank, sequence), db=self._urls)
            txn.put(place, row, db=table)
            return True
        return False

    def reorder(self, key: bytes, mark: bytes, priority_of: Callable[[QueuedUrl], int | None]) -> None:
        """A URL gets another priority, unless it was taken, waits for a retry, or goes behind everything else."""
        rank_before, sequence = ORDER.unpack(mark[1:])
        found = self.pool.get(sequence) if self.pool is not None else None
        place, txn = _place(key, mark), self._txn()
        row = found[1] if found is not None else txn.get(place, db=self._host_queues.queue)
        if row is None or rank_before & BEHIND:
            return
        entry = decode(row)
        priority = priority_of(entry)
        if priority is None or priority == entry.priority:
            return
        row = encode(msgspec.structs.replace(entry, priority=priority))
        if self.pool is not None and found is not None:
            self.pool.put(priority, sequence, row, found[0])
            return
        txn.delete(place, db=self._host_queues.queue)
        order = ORDER.pack(priority, sequence)
        txn.put(key, QUEUED + order, db=self._urls)
        txn.put(host_part(key) + order, row, db=self._host_queues.queue)

    def extract(self, count: int, fits: Callable[[str], bool]) -> tuple[list[QueuedUrl], set[str]]:
        """The best `count` of the pool, best first; entries of hosts that do not fit go to their host queues.

        Returns the taken entries, and the hosts whose queues got an entry.
        """
        assert self.pool is not None
        txn, entries, queued = self._txn(), list[QueuedUrl](), set[str]()
        for rank, sequence, row in self.pool.extract(count):
            entry = decode(row)
            key, name = key_of(entry.url), host_of_url(entry.url)
            txn.put(key, QUEUED + ORDER.pack(rank, sequence), db=self._urls)
            if fits(name):
                txn.put(host_part(key) + ORDER.pack(rank, sequence), row, db=self._host_queues.taken)
                entries.append(entry)
            else:
                txn.put(host_part(key) + ORDER.pack(rank, sequence), row, db=self._host_queues.queue)
                queued.add(name)
        return entries, queued

    def retry(self, key: bytes, mark: bytes, entry: QueuedUrl, due_at: float) -> None:
        """Put a taken entry aside until `due_at`, with the worth that its URL has by now."""
        place = _place(key, mark)
        taken = self._txn().get(place, db=self._host_queues.taken)
        row = encode(entry)
        self._host_queues.retry(place, row if taken is None else with_worth(row, worth_of(taken)), due_at)

    def hasten(self, key: bytes, mark: bytes, retries: dict[bytes, bytes]) -> None:
        """An entry is due now, if it was put aside."""
        if due := retries.get(_place(key, mark)):
            self._host_queues.hasten(due)

    def put_back(self, key: bytes, mark: bytes) -> None:
        """Put a taken entry that was not requested back into the queue of its host."""
        self._host_queues.put_back(_place(key, mark))

    def retries(self) -> dict[bytes, bytes]:
        """The place of every URL that waits for a retry, with the key under which it does."""
        return self._host_queues.retries()

    def arrange(self) -> None:
        """Rank everything anew and put it where it belongs: the order or the queue of the crawl has changed."""
        txn, retries = self._txn(), self._host_queues.retries()
        with txn.cursor(self._urls) as cursor:
            for key, mark in cursor:
                if mark[:1] != QUEUED or (place := _place(key, mark)) in retries:
                    continue
                _, sequence = ORDER.unpack(mark[1:])
                entry = decode(self._rows.pop(sequence) or self._host_queues.pop(place))
                order = ORDER.pack(self.rank(entry), sequence)
                txn.put(key, QUEUED + order, db=self._urls)
                self.put(host_part(key), order, encode(entry))

    def _raised(self, row: bytes, gift: float, rank_before: int) -> tuple[bytes, int]:
        """A row that is worth more, and its rank."""
        worth = worth_of(row) + gift
        ranked = rank_by_worth(worth) if self._order.by_worth else self._order.rank(_found(decode(row)), worth)
        return with_worth(row, worth), ranked | rank_before & BEHIND


def _found(entry: QueuedUrl) -> Found:
    return Found.of(entry)


def _place(key: bytes, mark: bytes) -> bytes:
    return host_part(key) + bytes(mark[1:])


def _sequence(mark: bytes) -> int:
    sequence: int = ORDER.unpack(mark[1:])[1]
    return sequence


class HostQueues:
    """The URLs that wait at each host, those that were taken from there, and those put aside for a retry.

    A *place* is where an entry lies: host NUL "/" rank sequence. It is the same key in `queue` and `taken`, and opens
    the value in `later`. The best of a host is one short scan away, so politeness can ask for one host at a time.
    `hosts`, `take` and `requeue_due` are described in `Frontier`.

    Invariant: an entry lies in one of the three tables. What is taken when the frontier is opened goes back to `queue`.
    """

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

    def queue_length(self, host: str, most: int) -> int:
        prefix, count = _host_prefix(host), 0
        end = _behind(prefix)
        with self._txn().cursor(self.queue) as cursor:
            if cursor.set_range(prefix):
                for place in cursor.iternext(keys=True, values=False):
                    if place >= end or count == most:
                        break
                    count += 1
        return count

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

    def hasten(self, due: bytes) -> None:
        """The retry under this key is due now."""
        self._txn().put(DUE.pack(0, DUE.unpack(due)[1]), self._txn().pop(due, db=self.later), db=self.later)

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
    return host_key(host) + b"\x00/"


def _behind(prefix: bytes) -> bytes:
    """Where the queue of a host ends, whatever the ranks in it: a 0 follows the slash."""
    return bytes(prefix[:-1]) + b"0"


def _host_name(prefix: bytes) -> str:
    return host_name(bytes(prefix[:-2]))


@dataclass(frozen=True, slots=True)
class Piece:
    """What was taken out."""

    entries: list[QueuedUrl]
    #: keys of the URLs that do not wait, as the frontier has them
    marks: list[tuple[bytes, Mark]]
    #: where the range goes on; None if this was the last of it
    next: bytes | None


class RangeMoves:
    """Takes the URLs of a range out of a frontier, and puts the marks of others into it.

    A range may hold millions of URLs, so it is taken out piece by piece, and the gatherer works on between two pieces.
    One pass over the range: marks, entries and the counts of its hosts leave together.

    Invariant: what `take_out` returned is nowhere in the frontier any more, in the same transaction.
    """

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
