"""The file of a watch (watch/watch.sqlite in the crawl directory): profiles, matches, and how far each receiver is.

A match has a number; a receiver has the number up to which it was given everything. So a queue costs nothing but the
matches themselves, and the order within a profile is the order in which pages were stored.

Invariants
- The positions in the record logs, the matches of what was read before them, and what pages said are one transaction:
  so a power cut that takes the last of them has all of it done again.
- A match stays until every receiver of its profile has it, or it is older than `KEEP_S`; and the newest `KEPT` stay.
- The file can be read by its owner alone: it holds secrets.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import xxhash
import zstandard

from gcs.core.search.searchable import Searchable
from gcs.core.watch.profile import MOST_PROFILES, Match, Profile
from gcs.core.watch.push_target import PushTarget
from gcs.errors import InUseError, StoreError, UsageError
from gcs.ports.system.own_file import open_own, refuse_links
from gcs.ports.watch import watch_file

#: matches of a profile that are kept for its feed, and seconds that one waits for a receiver at most
KEPT, KEEP_S = 1_000, 30 * 86_400.0
_WAIT_S = 30.0
_MOST_BYTES = 16 << 20
_PROFILE = msgspec.json.Decoder(Profile)
_MATCH = msgspec.json.Decoder(Match)
_PAST = msgspec.msgpack.Decoder(Searchable)
_TABLES = """
create table profile (name text primary key, spec blob not null);
create table target (
    profile text, key text, kind text, address text, secret text, passed integer, failures integer default 0,
    retry_at real default 0, problem text default '', primary key (profile, key)
);
create table match (
    seq integer primary key autoincrement, profile text, id text, body blob, at real, unique (profile, id)
);
create index match_profile on match (profile, seq);
create table position (log text primary key, file integer, records integer);
create table past (key integer primary key, session integer, doc blob);
create table fact (name text primary key, value text)
"""


class Waiting(NamedTuple):
    """A receiver to which something is to be pushed now."""

    profile: str
    target: PushTarget
    secret: str
    #: number of the match that it was given last
    passed: int
    #: tries in a row that have failed
    failures: int


class TargetState(NamedTuple):
    """How a receiver stands."""

    profile: str
    target: PushTarget
    waiting: int
    failures: int
    problem: str


class NumberedMatch(NamedTuple):
    """A match, its number, and when it was found (seconds since the epoch)."""

    seq: int
    match: Match
    at: float


@contextlib.contextmanager
def watch_lock(directory: Path) -> Iterator[None]:
    """Held by the one process that matches and pushes. Raises InUseError if there is another."""
    file = watch_file(directory).with_name("lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = open_own(file, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InUseError(f"{directory}: another gcs watch runs here") from None
        yield
    finally:
        os.close(handle)


class WatchStore(contextlib.AbstractContextManager["WatchStore"]):
    """One connection to the file. Of one thread; any number of processes have their own."""

    def __init__(self, directory: Path) -> None:
        self.path = watch_file(directory)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            refuse_links(self.path.with_name(f"{self.path.name}{end}") for end in ("", "-wal", "-shm", "-journal"))
            # only where it is not there: to close it would end the locks that SQLite has on it in this process
            with contextlib.suppress(FileExistsError):
                os.close(open_own(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._database = sqlite3.connect(self.path, _WAIT_S, isolation_level=None, check_same_thread=False)
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = normal")
            if not self._is_made():
                with self._change():
                    for statement in _TABLES.split(";") if not self._is_made() else ():
                        self._database.execute(statement)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.path}: the watch cannot be opened ({error})") from error
        self._pack, self._unpack = zstandard.ZstdCompressor(3), zstandard.ZstdDecompressor()

    def _is_made(self) -> bool:
        return bool(self._database.execute("select 1 from sqlite_master where name = 'fact'").fetchone())

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """All of the body, or nothing."""
        try:
            self._database.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._database.execute("rollback")
                raise
            self._database.execute("commit")
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: the watch cannot be written ({error})") from error

    # -- profiles --------------------------------------------------------------------------------------

    def version(self) -> int:
        """Another number when another connection has written."""
        found: int = self._database.execute("pragma data_version").fetchone()[0]
        return found

    def profiles(self) -> list[Profile]:
        return [_PROFILE.decode(spec) for (spec,) in self._database.execute("select spec from profile order by name")]

    def profile(self, name: str) -> Profile:
        row = self._database.execute("select spec from profile where name = ?", (name,)).fetchone()
        if not row:
            raise UsageError(f"there is no profile {name!r}")
        return _PROFILE.decode(row[0])

    def add(self, profile: Profile, targets: Sequence[tuple[PushTarget, str]] = ()) -> None:
        """Add a profile, or put it in the place of the one of that name; targets come with their secrets.

        A receiver that it had before goes on where it was; a new one gets what is found from now on.
        """
        profile.check()
        with self._change():
            count, last = self._database.execute(
                "select (select count(*) from profile), (select coalesce(max(seq), 0) from sqlite_sequence)"
            ).fetchone()
            if count >= MOST_PROFILES:
                raise UsageError(f"there are {count:,} profiles: no more fit")
            self._database.execute(
                "insert or replace into profile values (?, ?)", (profile.name, msgspec.json.encode(profile))
            )
            keys = [target.key for target, _ in targets]
            for (key,) in self._database.execute(
                "select key from target where profile = ?", (profile.name,)
            ).fetchall():
                if key not in keys:
                    self._database.execute("delete from target where profile = ? and key = ?", (profile.name, key))
            self._database.executemany(
                "insert into target (profile, key, kind, address, secret, passed) values (?, ?, ?, ?, ?, ?)"
                " on conflict (profile, key) do update set secret = coalesce(nullif(excluded.secret, ''), secret)",
                [(profile.name, t.key, t.kind, t.address, secret, last) for t, secret in targets],
            )

    def remove(self, name: str) -> None:
        self.profile(name)
        with self._change():
            for table, column in (("profile", "name"), ("target", "profile"), ("match", "profile")):
                self._database.execute(f"delete from {table} where {column} = ?", (name,))  # noqa: S608  our own words

    def targets(self) -> list[TargetState]:
        rows = self._database.execute(
            "select t.profile, t.kind, t.address, t.failures, t.problem,"
            " (select count(*) from match m where m.profile = t.profile and m.seq > t.passed)"
            " from target t order by t.profile, t.address"
        )
        return [
            TargetState(profile, PushTarget(kind, address), waiting, failures, problem)
            for profile, kind, address, failures, problem, waiting in rows
        ]

    # -- what is found -----------------------------------------------------------------------------------

    def positions(self) -> dict[str, tuple[int, int]]:
        return {log: (file, records) for log, file, records in self._database.execute("select * from position")}

    def begin(self, positions: Mapping[str, tuple[int, int]]) -> None:
        """Where the watch begins, if it is new: what is stored already was not waited for."""
        with self._change():
            if self._database.execute("insert or ignore into fact values ('begun', '')").rowcount:
                self._database.executemany(
                    "insert or ignore into position values (?, ?, ?)",
                    [(log, file, records) for log, (file, records) in positions.items()],
                )

    def has_past(self) -> bool:
        return bool(self._database.execute("select 1 from fact where name = 'past'").fetchone())

    def past(self, url: str) -> Searchable | None:
        """What the page said when it was stored last."""
        row = self._database.execute("select doc from past where key = ?", (_key(url),)).fetchone()
        return _PAST.decode(self._unpack.decompress(row[0], max_output_size=_MOST_BYTES)) if row else None

    def commit(
        self,
        matches: Iterable[Match],
        pages: Iterable[tuple[int, Searchable]],
        positions: Mapping[str, tuple[int, int]],
        now: float,
    ) -> int:
        """Keep what was found, what pages say now (with the session), and up to where; the number of new matches."""
        with self._change():
            before = self._database.total_changes
            self._database.executemany(
                "insert or ignore into match (profile, id, body, at) values (?, ?, ?, ?)",
                [(match.profile, match.id, msgspec.json.encode(match), now) for match in matches],
            )
            found = self._database.total_changes - before
            self._keep_past(pages)
            self._database.executemany(
                "insert or replace into position values (?, ?, ?)",
                [(log, file, records) for log, (file, records) in positions.items()],
            )
        return found

    def fill_past(self, pages: Iterable[tuple[int, Searchable]]) -> None:
        """What pages said in what was read already: for the first profile that asks for it."""
        with self._change():
            self._keep_past(pages)
            self._database.execute("insert or ignore into fact values ('past', '')")

    def _keep_past(self, pages: Iterable[tuple[int, Searchable]]) -> None:
        self._database.executemany(
            "insert into past values (?, ?, ?) on conflict (key) do update set session = excluded.session,"
            " doc = excluded.doc where excluded.session >= session",
            ((_key(page.url), session, self._pack.compress(msgspec.msgpack.encode(page))) for session, page in pages),
        )

    # -- what is pushed ------------------------------------------------------------------------------------

    def matches(
        self, profile: str | None, after: int = 0, most: int = 100, newest: bool = False
    ) -> list[NumberedMatch]:
        """Matches of a profile (None: of all) behind a number; the newest first, if asked."""
        order = "desc" if newest else "asc"
        rows = self._database.execute(
            f"select seq, body, at from match where (?1 is null or profile = ?1) and seq > ?2 order by seq {order} limit ?3",  # noqa: S608, E501
            (profile, after, most),
        )
        return [NumberedMatch(seq, _MATCH.decode(body), at) for seq, body, at in rows]

    def due(self, now: float, most: int = 10_000) -> list[Waiting]:
        """Receivers that have something to get, and whose time has come."""
        rows = self._database.execute(
            "select profile, kind, address, secret, passed, failures from target t where retry_at <= ?"
            " and exists (select 1 from match m where m.profile = t.profile and m.seq > t.passed) limit ?",
            (now, most),
        )
        return [
            Waiting(profile, PushTarget(kind, address), secret, passed, failures)
            for profile, kind, address, secret, passed, failures in rows
        ]

    def next_due(self) -> float | None:
        """When the next receiver is to be tried (seconds since the epoch); None if none waits."""
        found: float | None = self._database.execute(
            "select min(retry_at) from target t"
            " where exists (select 1 from match m where m.profile = t.profile and m.seq > t.passed)"
        ).fetchone()[0]
        return found

    def passed(self, waiting: Waiting, seq: int, retry_at: float) -> None:
        """The receiver has everything up to this number; the next push is not before `retry_at`."""
        self._note(waiting, "passed = max(passed, ?), failures = 0, problem = '', retry_at = ?", seq, retry_at)

    def failed(self, waiting: Waiting, problem: str, retry_at: float) -> None:
        self._note(waiting, "failures = failures + 1, problem = ?, retry_at = ?", problem[:200], retry_at)

    def _note(self, waiting: Waiting, what: str, *values: object) -> None:
        with self._change():
            self._database.execute(
                f"update target set {what} where profile = ? and key = ?",  # noqa: S608  our own words
                (*values, waiting.profile, waiting.target.key),
            )

    def prune(self, now: float) -> int:
        """Drop matches that every receiver has and no feed shows, and those that are too old; how many were lost."""
        with self._change():
            old = self._database.execute(
                "select count(*) from match m where at < ?1 and exists"
                " (select 1 from target t where t.profile = m.profile and t.passed < m.seq)",
                (now - KEEP_S,),
            ).fetchone()[0]
            for (name,) in self._database.execute("select distinct profile from match").fetchall():
                edge = self._database.execute(
                    "select seq from match where profile = ? order by seq desc limit 1 offset ?", (name, KEPT)
                ).fetchone()
                passed = self._database.execute("select min(passed) from target where profile = ?", (name,)).fetchone()[
                    0
                ]
                if edge:
                    limit = edge[0] if passed is None else min(edge[0], passed)
                    self._database.execute("delete from match where profile = ? and seq <= ?", (name, limit))
            self._database.execute("delete from match where at < ?", (now - KEEP_S,))
        return int(old)


def _key(url: str) -> int:
    return xxhash.xxh3_64_intdigest(url.encode("utf-8", "surrogatepass")) - (1 << 63)
