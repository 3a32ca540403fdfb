"""The frontier's tables in LMDB. See the package docstring for the life of a URL.

Invariants
- A URL has exactly one mark; QUEUED ⇔ exactly one entry in queue ∪ taken ∪ later.
- Nothing is durable before `commit`, and everything before it is: a crash falls back to the last commit.
- One writer: all calls come from one thread of one process (LMDB refuses a second by its lock).
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import IO, Any

import lmdb

from gcs.core import sortkey
from gcs.errors import DiskFullError, StoreError, UsageError
from gcs.ports.frontier.entry import Entry, Mark, decode, encode
from gcs.ports.frontier.exchange import Exchange
from gcs.ports.frontier.key import ORDER, host_part, short, split
from gcs.ports.frontier.moving import Moving, Tables
from gcs.ports.frontier.resident import Resident

#: address space reserved for the map; the file grows only as it fills
MAP_BYTES = 1 << 40
#: less free space than this is a full disk
FULL_BYTES = 1 << 20
#: changes after which a commit is due: each may hold a page of memory until then
CHANGES_PER_COMMIT = 4_000
#: look-ups after which the pages of a map of that size are given back (the kernel maps 16 of them at a time)
RELEASE_EVERY, RELEASE_BYTES = 100, 12 << 20
PAGE_BYTES = 4096
#: when a retry is due and its sequence
DUE = Struct(">QQ")

QUEUED, DONE = Mark.QUEUED.value, Mark.DONE.value


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """How much of the frontier stays in memory, and how often it becomes durable."""

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


class Frontier:
    """All known URLs of one gatherer. Give it a directory; `close` or a crash, and open it again."""

    def __init__(self, directory: Path, settings: FrontierSettings) -> None:
        self._settings = settings
        self._directory = directory
        self._lock = _lock(directory)
        self._env = _open(directory, settings.fsync)
        try:
            self._urls, self._queue, self._taken, self._later, self._hosts, self._notes = (
                self._env.open_db(name) for name in (b"urls", b"queue", b"taken", b"later", b"hosts", b"notes")
            )
            self.exchange = Exchange(self._env, lambda: self._txn)
            tables = Tables(self._urls, self._queue, self._taken, self._later, self._hosts)
            self.moving = Moving(tables, lambda: self._txn)
        except lmdb.Error as error:  # new tables are written at once
            raise _store_error(directory, error) from error
        self._resident = Resident(directory / "data.mdb")
        self._touched = self._changed = 0
        self._txn = self._env.begin(write=True)
        self._sequence = int.from_bytes(self._txn.get(b"sequence", db=self._notes) or b"", "big")
        self._restore_taken()

    # -- filling ---------------------------------------------------------------------------------------

    def insert(self, entries: Iterable[Entry], host_limit: int = 0) -> list[Entry]:
        """Queue the entries whose URLs are not known yet, and return those.

        Beyond `host_limit` known URLs of a host (0: no limit), new ones of it are dropped unseen.
        """
        put, new, counts = self._txn.put, [], dict[bytes, int]()
        for entry in entries:
            key = _key(entry.url)
            host = host_part(key)
            count = counts.get(host)
            if count is None:
                count = counts[host] = int.from_bytes(self._txn.get(host, db=self._hosts) or b"", "big")
            if host_limit and count >= host_limit:
                continue
            self._sequence += 1
            order = ORDER.pack(entry.priority, self._sequence)
            if put(key, QUEUED + order, overwrite=False, db=self._urls):
                put(host + order, encode(entry), db=self._queue)
                counts[host] = count + 1
                new.append(entry)
            self._touch(1)
        for host, count in counts.items():
            put(host, count.to_bytes(8, "big"), db=self._hosts)
        return new

    def requeue(self, entries: Iterable[Entry]) -> int:
        """Queue finished URLs again (a recrawl); returns how many. Unknown ones become known.

        The last entry of a URL counts: it takes the place of one that waits already, but not of one in flight.
        """
        count = 0
        for entry in entries:
            key = _key(entry.url)
            if (place := self._place(key)) is not None:
                if self._txn.get(place, db=self._queue) is not None:
                    self._txn.put(place, encode(entry), db=self._queue)
                continue
            self._sequence += 1
            order = ORDER.pack(entry.priority, self._sequence)
            self._txn.put(key, QUEUED + order, db=self._urls)
            self._txn.put(host_part(key) + order, encode(entry), db=self._queue)
            count += 1
        return count

    # -- emptying --------------------------------------------------------------------------------------

    def hosts(self, after: str, count: int) -> list[str]:
        """Up to `count` hosts that have queued URLs, in key order, beginning behind the host `after`."""
        found: list[str] = []
        with self._txn.cursor(self._queue) as cursor:
            ok = cursor.set_range(_host_prefix(after) + b"\xff" if after else b"")
            while ok and len(found) < count:
                prefix = cursor.key()[: -ORDER.size]
                found.append(_host_name(prefix))
                ok = cursor.set_range(prefix + b"\xff")
        return found

    def take(self, host: str, count: int) -> list[Entry]:
        """Move the first `count` queued URLs of a host into the window. Finish or retry each of them."""
        prefix = _host_prefix(host)
        entries: list[Entry] = []
        with self._txn.cursor(self._queue) as cursor:
            ok = cursor.set_range(prefix)
            while ok and len(entries) < count:
                place = cursor.key()
                if not place.startswith(prefix) or len(place) != len(prefix) + ORDER.size:
                    break
                packed = cursor.value()
                self._txn.put(place, packed, db=self._taken)
                entries.append(decode(packed))
                ok = cursor.delete() and bool(cursor.key())
        return entries

    def finish(self, url: str, mark: Mark) -> Mark | None:
        """The URL is dealt with: take it from wherever it lies and leave its mark. Returns the mark that it had."""
        key = _key(url)
        place = self._place(key)
        if place is None:
            before = self.mark(url)
        else:
            before, delete = Mark.QUEUED, self._txn.delete
            if not delete(place, db=self._taken) and not delete(place, db=self._queue):
                self._forget_retries({place})  # a record is replayed that was made after the last commit
        self._txn.put(key, mark.value, db=self._urls)
        self._touch(2)
        return before

    def retry(self, entry: Entry, due_at: float) -> None:
        """Put a taken entry (with its tries counted up) aside until `due_at`, seconds since the epoch."""
        key = _key(entry.url)
        place = self._place(key)
        if place is None:
            return
        self._txn.delete(place, db=self._taken)
        due = DUE.pack(int(due_at * 1000), ORDER.unpack(place[-ORDER.size :])[1])
        self._txn.put(due, place + encode(entry), db=self._later)

    def wake(self, now: float) -> tuple[set[str], float | None]:
        """Queue the retries that are due; returns their hosts, and when the next one is due."""
        hosts: set[str] = set()
        with self._txn.cursor(self._later) as cursor:
            ok = cursor.first()
            while ok:
                due_ms, _ = DUE.unpack(cursor.key())
                if due_ms > now * 1000:
                    return hosts, due_ms / 1000
                place, entry = split(cursor.value())
                self._txn.put(place, entry, db=self._queue)
                hosts.add(_host_name(place[: -ORDER.size]))
                ok = cursor.delete() and bool(cursor.key())
        return hosts, None

    # -- looking ---------------------------------------------------------------------------------------

    def mark(self, url: str) -> Mark | None:
        """The mark of a URL, None if it is not known."""
        value = self._txn.get(_key(url), db=self._urls)
        return None if value is None else Mark(value[:1])

    def known(self) -> int:
        """How many URLs are known, whatever their mark."""
        return int(self._txn.stat(self._urls)["entries"])

    def queued(self) -> int:
        """How many URLs wait, in the queue, in the window, in flight or for a retry."""
        return sum(int(self._txn.stat(db)["entries"]) for db in (self._queue, self._taken, self._later))

    def scan(self, low: bytes, high: bytes) -> Iterator[tuple[bytes, Mark]]:
        """All known keys in [low, high) with their marks, in order. A key over the limit ends in a hash."""
        with self._txn.cursor(self._urls) as cursor:
            ok = cursor.set_range(low)
            while ok and (key := bytes(cursor.key())) < high:
                yield key, Mark(cursor.value()[:1])
                ok = cursor.next()

    def entries(self, low: bytes, high: bytes) -> Iterator[Entry]:
        """The entries that wait in [low, high), in key order."""
        later = dict(split(packed) for _, packed in self._txn.cursor(self._later))
        for key, mark in self.scan(low, high):
            if mark is Mark.QUEUED:
                place = self._place(key) or b""
                get = self._txn.get
                yield decode(get(place, db=self._queue) or get(place, db=self._taken) or later[place])

    def put_back(self, urls: Iterable[str]) -> None:
        """Taken entries that were not requested go back to the queue, where they were."""
        for url in urls:
            place = self._place(_key(url))
            if place is not None and (packed := self._txn.pop(place, db=self._taken)) is not None:
                self._txn.put(place, packed, db=self._queue)

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
        try:
            self._txn.commit()
        except lmdb.Error as error:
            raise _store_error(self._directory, error) from error
        finally:
            self._txn = self._env.begin(write=True)
            self._changed = 0

    def close(self) -> None:
        """Drop what was not committed and release the directory."""
        self._txn.abort()
        self._env.close()
        self._lock.close()

    @property
    def wants_commit(self) -> bool:
        """Whether so much has changed since the last commit that it takes memory."""
        return self._changed > CHANGES_PER_COMMIT

    def _touch(self, lookups: int) -> None:
        """Give back the pages of the map, once in a while."""
        self._changed += lookups
        self._touched += lookups
        if self._touched >= RELEASE_EVERY:
            self._touched = 0
            size_bytes = (self._env.info()["last_pgno"] + 1) * PAGE_BYTES
            if size_bytes > RELEASE_BYTES:
                self._resident.release(size_bytes)

    def _place(self, key: bytes) -> bytes | None:
        """Where a QUEUED key's entry lies: its key in queue, taken or (as a prefix) later."""
        value = self._txn.get(key, db=self._urls)
        if value is None or value[:1] != QUEUED:
            return None
        return host_part(key) + bytes(value[1:])

    def _forget_retries(self, places: set[bytes]) -> None:
        for due, packed in list(self._txn.cursor(self._later)):
            if split(packed)[0] in places:
                self._txn.delete(due, db=self._later)

    def _restore_taken(self) -> None:
        with self._txn.cursor(self._taken) as cursor:
            for place, packed in cursor:
                self._txn.put(place, packed, db=self._queue)
        self._txn.drop(self._taken, delete=False)


def _key(url: str) -> bytes:
    return short(sortkey.sort_key(url))


def _host_prefix(host: str) -> bytes:
    return sortkey.host_key(host) + b"\x00/"


def _host_name(prefix: bytes) -> str:
    return sortkey.host_name(bytes(prefix[:-2]))


def _lock(directory: Path) -> IO[Any]:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = (directory / "lock").open("w")
    except OSError as error:
        raise _store_error(directory, error) from error
    for wait_s in (0.05, 0.2, None):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if wait_s:
                time.sleep(wait_s)  # it may be a glance, which is over at once
    handle.close()
    raise UsageError(f"{directory}: another crawl is running here; stop it or choose another -o DIR")


def _open(directory: Path, fsync: bool) -> Any:
    try:
        # readahead off: access is by key, and a read-ahead page counts as our memory
        return lmdb.open(
            os.fspath(directory), map_size=MAP_BYTES, max_dbs=9, sync=fsync, readahead=False, meminit=False
        )
    except (lmdb.Error, OSError) as error:
        raise _store_error(directory, error) from error


def _store_error(directory: Path, error: Exception) -> StoreError:
    no_room = isinstance(error, lmdb.DiskError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    if no_room or (isinstance(error, lmdb.Error) and _is_full(directory)):
        return DiskFullError(f"{directory}: the disk is full")
    if isinstance(error, OSError):
        return StoreError(f"{directory}: cannot write here ({error.strerror}); choose another -o DIR")
    return StoreError(f"{directory}: {error}")


def _is_full(directory: Path) -> bool:
    """LMDB calls a write that the disk takes only in part an input/output error."""
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize < FULL_BYTES
