"""The frontier: the marks of all known URLs, and what waits. See the package docstring for the life of a URL.

Invariants
- A URL has exactly one mark; QUEUED ⇔ exactly one row in pool ∪ queue ∪ taken ∪ later.
- Nothing is durable before `commit`, and everything before it is: a crash falls back to the last commit.
- One writer: all calls come from one thread of one process (LMDB refuses a second by its lock).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import lmdb

from gcs.core.ordering import BFS, GIFT, Ledger, Ordering
from gcs.core.queues.contract import Queue
from gcs.core.url.sortkey import url_of
from gcs.ports.frontier.entry import ORDER, Entry, Mark, decode, encode, host_part, is_whole, key_of, short, worth_of
from gcs.ports.frontier.host_queues import HostQueues
from gcs.ports.frontier.lmdb_file import MmapTrim, lock, open_environment, store_error
from gcs.ports.frontier.marks import Marks
from gcs.ports.frontier.ordered_pool import OrderedPool
from gcs.ports.frontier.range_moves import RangeMoves
from gcs.ports.frontier.team_tables import TeamTables
from gcs.ports.frontier.waiting_urls import WaitingUrls

# -- The settings of a frontier.


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """How much of the frontier stays in memory, and how often it becomes durable."""

    #: what waits: each host in its own order, and hosts take turns; or all in one order, kept by one of these queues
    queue: Literal["hosts", "quickheap", "tournament", "heap"] = "hosts"
    #: memory for such a queue: of many millions of URLs that wait, most lie in a file (a heap is all in memory)
    queue_bytes: int = 64 << 20
    #: URLs in memory, over all hosts (the paper's window of the queue)
    window_urls: int = 10_000
    #: URLs of one host in the window
    host_window_urls: int = 100
    #: URLs judged lately, which answer most links without the disk
    recent_urls: int = 30_000
    #: seconds between commits; a crash repeats at most what the record log does not hold
    checkpoint_s: float = 2.0
    #: fsync at each commit: a power cut, too, loses nothing that was committed
    fsync: bool = True


#: changes after which a commit is due: each may hold a page of memory until then
CHANGES_PER_COMMIT = 4_000

QUEUED = Mark.QUEUED.value


class Frontier:
    """All known URLs of one gatherer. Give it a directory; `close` or a crash, and open it again.

    With `make_queue` all that waits is in one order, whatever its host; without, each host has its own shelf.
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
            self.exchange = TeamTables(self._env, lambda: self._txn)
        except lmdb.Error as error:  # new tables are written at once
            raise store_error(directory, error) from error
        self._resident = MmapTrim(self._env, directory / "data.mdb")
        self._changed = 0
        self._txn = self._env.begin(write=True)
        self._sequence = int.from_bytes(self._txn.get(b"sequence", db=self._notes) or b"", "big")
        self.ledger = Ledger.decode(self.note("ledger"))
        shelves = HostQueues(queue, taken, later, lambda: self._txn)
        pool = OrderedPool(rows, lambda: self._txn, make_queue, self._resident.release)
        self._waiting = WaitingUrls(self._urls, shelves, pool, order, lambda: self._txn)
        self._marks = Marks(self._urls, self._hosts, lambda: self._txn)
        self.mark, self.known, self.scan = self._marks.mark, self._marks.known, self._marks.scan
        self.waits = self._marks.waits
        self.hosts, self.take, self.wake = shelves.hosts, shelves.take, shelves.wake
        self.moving = RangeMoves(self._urls, self._hosts, self._waiting, self.ledger, lambda: self._txn)
        shelves.restore()
        self._arrange()

    # -- filling ---------------------------------------------------------------------------------------

    def insert(self, entries: Iterable[Entry], host_limit: int = 0) -> list[Entry]:
        """Queue the entries whose URLs are not known yet, and return those; what others are worth goes to their URLs.

        Beyond `host_limit` known URLs of a host (0: no limit), new ones of it are dropped unseen.
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
        """A new session: all that is finished is forgotten, what waits goes on waiting, nothing counts as posted.

        Returns the URLs that were refused, as far as they can be told: robots.txt may allow them by now.
        """
        refused = self._marks.renew()
        self.exchange.forget()
        return [url_of(key) for key in refused if is_whole(key)]

    # -- emptying: `hosts`, `take` and `wake` are those of the shelves ---------------------------------

    @property
    def is_pooled(self) -> bool:
        """Whether all hosts share one order, out of which `extract` takes."""
        return self._waiting.pool is not None

    def pooled(self) -> int:
        """How many URLs wait in that order."""
        return len(self._waiting.pool) if self._waiting.pool is not None else 0

    def extract(self, count: int, fits: Callable[[str], bool]) -> tuple[list[Entry], set[str]]:
        """Take the best `count` URLs into the window, but those of hosts that do not fit, which go to their shelves.

        Returns what was taken, best first, and the hosts that have something on their shelves now.
        """
        extracted = self._waiting.extract(count, fits)
        self._touch(2 * count)
        return extracted

    def finish(self, url: str, mark: Mark) -> Mark | None:
        """The URL is dealt with and gives nothing to others. Returns the mark that it had."""
        before, worth = self.settle(url, mark)
        self.ledger.idle += worth
        return before

    def settle(self, url: str, mark: Mark) -> tuple[Mark | None, float]:
        """The URL is dealt with: take it from wherever it lies, leave its mark. Returns its old mark, and its worth."""
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

    def retry(self, entry: Entry, due_at: float) -> None:
        """Put a taken entry (with its tries counted up) aside until `due_at`, seconds since the epoch."""
        key = key_of(entry.url)
        if (mark := self._queued_mark(key)) is not None:
            self._waiting.retry(key, mark, entry, due_at)

    def put_back(self, urls: Iterable[str]) -> None:
        """Taken entries that were not requested go to the shelves of their hosts."""
        for url in urls:
            key = key_of(url)
            if (mark := self._queued_mark(key)) is not None:
                self._waiting.put_back(key, mark)

    # -- looking: `mark`, `waits`, `known` and `scan` are those of the marks ---------------------------

    def queued(self) -> int:
        """How many URLs wait, in the queue, in the window, in flight or for a retry."""
        return len(self._waiting)

    def entries(self, low: bytes, high: bytes) -> Iterator[Entry]:
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

    def _give(self, key: bytes, entry: Entry) -> bool:
        """Add what an entry is worth to its URL, if that is known; False if it is to be queued."""
        mark = self._txn.get(key, db=self._urls)
        if mark is None and entry.depth != GIFT:
            return False
        self._touch(1)
        waits = mark is not None and mark[:1] == QUEUED and not entry.is_seed  # seeds may be told twice
        if entry.worth and not (waits and self._waiting.credit(key, mark, entry.worth)):
            self.ledger.idle += entry.worth
        return True

    def _touch(self, lookups: int) -> None:
        self._changed += lookups
        self._resident.touch(lookups)

    def _queued_mark(self, key: bytes) -> bytes | None:
        """The mark of a URL that waits, with its place; None if it does not."""
        mark = self._txn.get(key, db=self._urls)
        return mark if mark is not None and mark[:1] == QUEUED else None

    def _arrange(self) -> None:
        """Put what waits in the order of this run, if the last one had another."""
        arrangement = f"{self.order.name} {'pool' if self.is_pooled else 'hosts'}".encode()
        if (self.note("arrangement") or b"bfs hosts") != arrangement:
            self._waiting.arrange()
            self.set_note("arrangement", arrangement)
        self._waiting.open()
