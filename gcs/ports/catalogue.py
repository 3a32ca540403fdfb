"""The catalogue: which URLs a crawl has records of, to be looked at a page at a time. In SQLite, beside the records.

It follows from the records: `update` reads what is new (columns of Parquet without the texts, and the open log files),
and a file that is lost or damaged is made anew. Each URL is a row, by the record that tells what was found there last;
`versions` has where each of its records is. Used by one thread at a time.

Invariant: every value of a query is a parameter; what a stranger wrote is stored and compared, never run.
"""

# ruff: noqa: S608  the texts of queries come from this module, all values are parameters

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import xxhash

from gcs.core.page.values import PageRecord, tells
from gcs.core.url.canonical import host_of_url
from gcs.errors import StoreError
from gcs.ports.records import reading
from gcs.ports.records.parquet import FIELDS
from gcs.ports.system.own_file import refuse_links

VERSION = 2
#: what is read of each record
_READ = (
    *("url", "session", "fetched_at", "status", "failure", "source", "requisite", "held_at_us", "content_type"),
    *("language", "change", "title", "bytes", "depth"),
)
#: rows that are written together; characters of a title that are kept
_BATCH_ROWS, _TITLE_CHARACTERS = 2_000, 200
_TABLES = """
create table url (
    key integer primary key, url text not null, host text not null, kind text not null, status integer not null,
    failure text not null, type text not null, language text not null, change text not null, title text not null,
    session integer not null, at real not null, bytes integer not null, depth integer not null
);
create index url_host on url (host);
create index url_at on url (at);
create table version (
    key integer, session integer, at real, tells integer, gatherer text, file integer, row integer
);
create index version_key on version (key);
create table file (gatherer text, number integer, rows integer, is_closed integer, primary key (gatherer, number));
"""
_UPSERT = """
insert into url values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (key) do update set
    kind = excluded.kind, status = excluded.status, failure = excluded.failure, type = excluded.type,
    language = excluded.language, change = excluded.change, title = excluded.title, session = excluded.session,
    at = excluded.at, bytes = excluded.bytes, depth = excluded.depth
where excluded.session > url.session or (excluded.session = url.session and excluded.at >= url.at)
"""
#: what can be asked for by an exact value
FILTERS = ("host", "kind", "status", "failure", "type", "language", "change", "session")
ORDERS = {
    "newest": "at desc, key",
    "oldest": "at, key",
    "url": "url",
    "largest": "bytes desc, key",
    "title": "title, key",
    "status": "status, key",
}


class FoundUrl(msgspec.Struct, frozen=True):
    """A URL, and what was found there last."""

    url: str
    host: str
    #: page, redirect, failure, requisite (what a page needs) or other (a sitemap)
    kind: str
    status: int
    failure: str
    type: str
    language: str
    change: str
    title: str
    session: int
    at: float
    bytes: int
    depth: int


class RecordPlace(NamedTuple):
    """Where a record is: the row of a log file, whatever has become of that."""

    session: int
    at: float
    #: whether it tells what is at the URL, and not only that an older record still holds
    tells: bool
    gatherer: str
    file: int
    row: int


class HostCount(NamedTuple):
    """What a crawl has of one host."""

    host: str
    pages: int
    failed: int
    redirects: int
    bytes: int
    first_at: float
    last_at: float


class Catalogue:
    """The catalogue of one crawl, in a file of its own."""

    def __init__(self, place: Path | str, file: Path) -> None:
        self._place, self._file = place, file
        #: log file → rows that were read when its size was this
        self._sizes: dict[tuple[str, int], int] = {}
        self._database = self._open()

    def close(self) -> None:
        self._database.close()

    def update(self, seconds: float) -> bool:
        """Take in what is new, for about so long; returns whether that was all."""
        give_up_at = time.monotonic() + seconds
        known = {(name, number): told for name, number, *told in self._ask("select * from file")}
        keys = reading.log_keys(self._place)
        last = dict(keys)  # they are sorted
        for key in keys:
            is_open, (rows, is_closed) = last[key[0]] == key[1], known.get(key, (0, 0))
            size = reading.log_size(self._place, key) if is_open else -1
            if (is_closed and not is_open) or (size >= 0 and self._sizes.get(key) == size):
                continue
            if not self._take_in(key, rows, is_open, give_up_at):
                return False
            self._sizes[key] = size
        return True

    def find(
        self, filters: dict[str, str | int], text: str, order: str, offset: int, limit: int
    ) -> tuple[int, list[FoundUrl]]:
        """How many URLs there are for these filters, and some of them. `text` is in the URL or the title."""
        where, values = _where(filters, text)
        total = self._ask(f"select count(*) from url {where}", values)[0][0]
        columns = ", ".join(FoundUrl.__struct_fields__)
        query = f"select {columns} from url {where} order by {ORDERS[order]} limit ? offset ?"
        return total, [FoundUrl(*row) for row in self._ask(query, (*values, limit, offset))]

    def row(self, url: str) -> FoundUrl | None:
        columns = ", ".join(FoundUrl.__struct_fields__)
        found = self._ask(f"select {columns} from url where key = ? and url = ?", (_key(url), url))
        return FoundUrl(*found[0]) if found else None

    def rows_of(self, urls: Sequence[str]) -> dict[str, FoundUrl]:
        """Those of these URLs that there are records of."""
        return {url: row for url in urls if (row := self.row(url))}

    def facet(self, column: str, most: int) -> list[tuple[Any, int]]:
        """The values of a filter, and how many URLs have each; the most frequent first."""
        if column not in FILTERS:
            raise ValueError(column)
        query = f"select {column}, count(*) from url group by 1 order by 2 desc, 1 limit ?"
        return [(value, count) for value, count in self._ask(query, (most,)) if value not in ("", None)]

    def hosts(self, text: str, offset: int, limit: int) -> tuple[int, list[HostCount]]:
        """The hosts whose names hold this text, those with most pages first; and how many they are."""
        where, values = ("where instr(host, ?)", (text.lower(),)) if text else ("", ())
        total = self._ask(f"select count(distinct host) from url {where}", values)[0][0]
        query = f"""
            select host, sum(kind = 'page'), sum(kind = 'failure'), sum(kind = 'redirect'), sum(bytes), min(at), max(at)
            from url {where} group by host order by 2 desc, 3 desc, host limit ? offset ?"""
        return total, [HostCount(*row) for row in self._ask(query, (*values, limit, offset))]

    def host(self, name: str) -> HostCount:
        """One host."""
        query = """
            select sum(kind = 'page'), sum(kind = 'failure'), sum(kind = 'redirect'), sum(bytes), min(at), max(at)
            from url where host = ?"""
        return HostCount(name, *(value or 0 for value in self._ask(query, (name,))[0]))

    def failing_hosts(self, most: int) -> list[tuple[str, int, str, str, float]]:
        """The hosts with most failures: name, failures, and of the last of them its kind, URL and time."""
        query = """
            select host, count(*), failure, url, max(at) from url
            where kind = 'failure' group by host order by 2 desc, host limit ?"""
        return self._ask(query, (most,))

    def failures_of(self, host: str) -> dict[str, int]:
        """The failures of a host, by kind."""
        query = "select failure, count(*) from url where host = ? and kind = 'failure' group by 1 order by 2 desc"
        return dict(self._ask(query, (host,)))

    def fetched_since(self, at: float) -> dict[str, int]:
        """Records of each host since then."""
        return dict(self._ask("select host, count(*) from url where at >= ? group by 1", (at,)))

    def pace(self, steps: int) -> list[tuple[float, int, int]]:
        """The pages and bytes of the newest session over time: the ends of so many spans, and what each brought."""
        (session,) = self._ask("select max(session) from url")[0]
        first, last = self._ask("select min(at), max(at) from url where session = ?", (session,))[0]
        if first is None:
            return []
        span = max((last - first) / steps, 1.0)
        query = """
            select cast((at - ?) / ? as integer), count(*), sum(bytes) from url
            where session = ? and kind = 'page' group by 1 order by 1"""
        return [(first + (at + 1) * span, pages, size) for at, pages, size in self._ask(query, (first, span, session))]

    def versions(self, url: str) -> list[RecordPlace]:
        """Where the records of a URL are, the oldest first."""
        query = "select session, at, tells, gatherer, file, row from version where key = ? order by session, at"
        return [RecordPlace(*row) for row in self._ask(query, (_key(url),))]

    def record(self, url: str, session: int = 0, fields: Sequence[str] = FIELDS) -> PageRecord | None:
        """The record that tells what was at a URL after a session (0: the last one); None if there is none.

        `fields`: those that are read. The others are as by default, so those without a default must be read.
        """
        places = [place for place in self.versions(url) if not session or place.session <= session]
        telling = [place for place in places if place.tells]
        if not places:
            return None
        at = (telling or places)[-1]
        found = reading.rows(self._place, fields, lambda *key: key == (at.gatherer, at.file), on_damage=reading.warn)
        row = next(islice(found, at.row, None), None)
        return PageRecord(**dict(zip(fields, row))) if row else None

    # -- its making ------------------------------------------------------------------------------------

    def _take_in(self, key: tuple[str, int], skip: int, is_open: bool, give_up_at: float) -> bool:
        """Take in the rows of a log file from `skip` on; returns False if time is over before its end."""
        found = reading.rows(self._place, _READ, lambda *each: each == key, on_damage=reading.warn)
        passed = sum(1 for _ in islice(found, skip))
        if passed < skip:  # a power cut has taken records: what comes in their place is new
            self._ask("delete from version where gatherer = ? and file = ? and row >= ?", (*key, passed))
        at = min(passed, skip)
        while batch := list(islice(found, _BATCH_ROWS)):
            with self._transaction():
                self._add(key, at, batch)
                at += len(batch)
                self._ask("insert or replace into file values (?, ?, ?, 0)", (*key, at))
            if time.monotonic() > give_up_at:
                return False
        self._ask("insert or replace into file values (?, ?, ?, ?)", (*key, at, not is_open))
        return True

    def _add(self, key: tuple[str, int], first: int, batch: Sequence[reading.Row]) -> None:
        rows, versions = [], []
        for row, values in enumerate(batch, first):
            url, session, at, status, failure, source, requisite, held_at_us, content_type, *more = values
            language, change, title, size_bytes, depth = more
            number = _key(url)
            is_told = tells(status, failure, held_at_us)
            versions.append((number, session, at, is_told, *key, row))
            if not is_told:
                continue
            kind = kind_of(status, failure, source, requisite)
            media = content_type.partition(";")[0].strip().lower()[:100]
            what = (number, url, host_of_url(url), kind, status, failure, media, language, change)
            rows.append((*what, title[:_TITLE_CHARACTERS], session, at, size_bytes, depth))
        self._database.executemany(_UPSERT, rows)
        self._database.executemany("insert into version values (?, ?, ?, ?, ?, ?, ?)", versions)

    def _open(self) -> sqlite3.Connection:
        with contextlib.suppress(sqlite3.Error):
            return self._connected()
        for end in ("", "-wal", "-shm", "-journal"):  # damaged, or of another version: it follows from the records
            self._file.with_name(self._file.name + end).unlink(missing_ok=True)
        try:
            return self._connected()
        except sqlite3.Error as error:
            raise StoreError(f"{self._file}: the catalogue cannot be made ({error})") from error

    def _connected(self) -> sqlite3.Connection:
        refuse_links(self._file.with_name(self._file.name + end) for end in ("", "-wal", "-shm", "-journal"))
        database = sqlite3.connect(self._file, 30.0, isolation_level=None, check_same_thread=False)
        try:
            (version,) = database.execute("pragma user_version").fetchone()
            if version not in (0, VERSION):
                raise sqlite3.DatabaseError("another version")
            database.execute("pragma journal_mode = wal")
            database.execute("pragma synchronous = off")  # what is lost is read again
            if not version:
                for statement in (*_TABLES.split(";"), f"pragma user_version = {VERSION}"):
                    database.execute(statement)
        except BaseException:
            database.close()
            raise
        return database

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._ask("begin immediate")
        try:
            yield
        except BaseException:
            self._ask("rollback")
            raise
        self._ask("commit")

    def _ask(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self._file}: {error}") from error


def kind_of(status: int, failure: str, source: bool, requisite: int) -> str:
    """What a record is: see `FoundUrl.kind`."""
    if failure:
        return "failure"
    if requisite:
        return "requisite"
    if 300 <= status < 400:
        return "redirect"
    return "other" if source or not 200 <= status < 300 else "page"


def _where(filters: dict[str, str | int], text: str) -> tuple[str, tuple[object, ...]]:
    terms, values = [], list[object]()
    for name, value in filters.items():
        if name not in FILTERS:
            raise ValueError(name)
        terms.append(f"{name} = ?")
        values.append(value)
    if text:
        terms.append("(instr(url, ?) or instr(lower(title), ?))")
        values += [text, text.lower()]
    return f"where {' and '.join(terms)}" if terms else "", tuple(values)


def _key(url: str) -> int:
    return xxhash.xxh3_64_intdigest(url.encode("utf-8", "surrogatepass")) - (1 << 63)
