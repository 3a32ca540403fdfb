"""The record store of one gatherer: the only way to its WARC files, record log and summaries. `layout` shows the files.

A page counts when its frame is in the log. `add_page` only takes it in; `flush` writes the WARC bytes and then
the log bytes; `sync` makes both durable and names the position that a checkpoint may refer to. After
kill -9, `open` cuts both back to where they agree and `tail` reads what came after the checkpoint.

The parts, from top to bottom: `Store`, then what it writes into: `WarcFiles` and `LogFile`, each into an `AppendFile`.

Invariant: nothing is in the log whose WARC record is not written. It must not be opened twice at a time
(a lock sees to it), and it is called from one thread.
"""

import fcntl
import os
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from operator import attrgetter
from pathlib import Path
from typing import IO, NamedTuple

from msgspec import msgpack, structs

from gcs.core.page.values import COLUMNS, PageRecord, Response
from gcs.errors import StoreError
from gcs.events import Events
from gcs.ports.records import warc
from gcs.ports.records.file_book import FileBook, differs
from gcs.ports.records.finished_files import Finisher, Remote, replace_damaged
from gcs.ports.records.layout import (
    SUMMARIES,
    WARC,
    StoreLayout,
    StoreSettings,
    check_names,
    parse_parquet_name,
    store_error,
    sync_data,
    sync_directory,
    warc_paths,
    warc_serial,
)
from gcs.ports.records.parquet import read_pages
from gcs.ports.records.record_log import (
    BEGINNING,
    FETCHED,
    MAX_FRAME_BYTES,
    MAX_RECORD_BYTES,
    OPENED,
    PAGE,
    SYNCED,
    VERSION,
    Fetched,
    Opened,
    Position,
    file_name,
    frame_head,
    log_numbers,
    pages,
)
from gcs.ports.records.recovery import Recovered, recover
from gcs.ports.records.warc import Buffer, Original
from gcs.ports.system.own_file import open_own, own_stream
from gcs.version import __version__

#: more than this does not wait in memory, however seldom `flush` is called
_MAX_PENDING_BYTES = 4 << 20
#: pieces that the system takes at a time: every system that GCS runs on has an IOV_MAX of 1,024
_MOST_PIECES = 1024
_SOFTWARE = {
    "software": f"GCS/{__version__}",
    "format": "WARC File Format 1.1",
    "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
}

events = Events("records")
_encoder = msgpack.Encoder()
_columns_of = attrgetter(*COLUMNS)


class Store:
    """The open record store of one gatherer. Made by `Store.open`."""

    def __init__(self, layout: StoreLayout, settings: StoreSettings, warcs: "WarcFiles", remote: Remote | None) -> None:
        self._layout, self._settings = layout, settings
        self._warcs, self._remote = warcs, remote
        self._finisher = Finisher(layout, remote, summaries=settings.summaries, keep_logs=settings.keep_logs)
        self._lock = _lock(layout.state / "records.lock")
        self._log: LogFile
        #: the end of what is durable: everything up to here survives even a power cut
        self.position = Position()
        #: records before the last checkpoint are missing: the frontier has to be made anew from the others
        self.is_damaged = False
        self._changed = False

    @classmethod
    def open(
        cls,
        directory: Path,
        settings: StoreSettings,
        gatherer: str,
        *,
        crawl: str = "gcs",
        info: Mapping[str, str] = {},
        known: Position = BEGINNING,
    ) -> "Store":
        """Open or make the store; after a crash, cut it back to its last consistent state.

        `crawl` begins the names of the WARC files; `info` goes into their warcinfo records (operator,
        http-header-user-agent, robots). `known` is the position of the last checkpoint.
        """
        check_names(gatherer, crawl)
        remote = Remote(settings.url) if settings.url else None
        if remote:
            remote.filesystem()  # first: a bad URL leaves no trace
        layout = StoreLayout(directory, gatherer, settings.url)
        layout.make()
        prefix = f"{crawl}-{gatherer}"
        warcs = WarcFiles(layout.warc, prefix, settings, {"isPartOf": crawl, **info})
        store = cls(layout, settings, warcs, remote)
        try:
            store._recover(prefix, known)
        except BaseException:
            store.close()
            raise
        return store

    def add_page(
        self, record: PageRecord, response: Response | None = None, copy_of: Original | None = None
    ) -> PageRecord:
        """Take in a page, or a URL that ended without one; the record with digest and WARC place filled in.

        `copy_of` names the stored copy that a 304 or the same payload confirms, where that is known; its digest is
        `record.digest`. A response whose body is not here goes into no WARC.
        """
        exchange = None
        if response is not None:
            # a failed record may have the digest of the copy that is held, which is not the digest of this answer
            digest = digest_of(response) if record.failure else record.digest or digest_of(response)
            record = structs.replace(record, digest=record.digest or digest)
            if self._settings.warc and response.absent is None:
                exchange = self._warcs.prepare(response, digest, copy_of)
                file, offset, size_bytes = exchange.place
                record = structs.replace(record, warc_file=file, warc_offset=offset, warc_bytes=size_bytes)
        record = self._log.append_record(record)  # first: it may refuse the record, the WARC cannot
        if exchange is not None:
            self._warcs.append(exchange)
        self._took()
        return record

    def fetched(self, response: Response) -> None:
        """Archive an exchange that is no page: robots.txt, a sitemap, a hop that is tried again."""
        if self._settings.warc and response.absent is None:
            exchange = self._warcs.prepare(response, warc.payload_digest(response.body), is_record=False)
            self._log.fetched(Fetched(response.request.url, *exchange.place))
            self._warcs.append(exchange)
            self._took()

    def flush(self) -> None:
        """Write out what waits: WARC bytes first, then the log. Closes files that have reached their size."""
        self._warcs.flush()
        self._log.file.flush()
        if self._warcs.full:
            self._close_warc()
        if self._log.records >= self._settings.log_records or self._log.file.size_bytes >= self._settings.log_bytes:
            self._close_log()
        self._finisher.run()

    def sync(self) -> Position:
        """`flush`, and wait until the disk holds it; the position that a checkpoint may now refer to."""
        self.flush()
        self._sync()
        return self.position

    def tail(self, position: Position) -> Iterator[PageRecord]:
        """The stored page records after a position, in order. For the time between `open` and the first `add_page`."""
        if position > self._log.position:
            raise StoreError(
                f"the frontier of {self._layout.directory} is ahead of its record log ({position} > "
                f"{self._log.position}): the log was damaged or replaced; restore it, or start a new directory"
            )
        for number in range(position.file, self._log.number + 1):
            yield from self._pages(number, position.records if number == position.file else 0)

    def finish(self, within_s: float | None = None) -> None:
        """End of a crawl: close all files, make the last Parquet file, upload what is to be uploaded. May wait long.

        `within_s`: what is not uploaded by then stays on the disk, and the next run uploads it.
        """
        self.flush()
        self._close_warc()
        if self._log.records:
            self._close_log()
        self._finisher.drain(within_s)

    def close(self) -> None:
        """Let go of the store. Call `sync` or `finish` first: what was not flushed is dropped."""
        self._finisher.close()
        self._warcs.close()
        if hasattr(self, "_log"):
            self._log.file.close()
        self._lock.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _took(self) -> None:
        self._changed = True
        if self._warcs.pending_bytes + self._log.file.pending_bytes > _MAX_PENDING_BYTES:
            self.flush()

    def _sync(self) -> None:
        self._warcs.sync()
        if self._changed:
            self._log.sync()
            self._changed = False
        self.position = self._log.position

    def _close_warc(self) -> None:
        self._sync()
        if path := self._warcs.close():
            self._finisher.file_closed(path, WARC)

    def _close_log(self) -> None:
        self._sync()
        old = self._log
        self._log = LogFile.create(self._layout.log, old.number + 1, self._opened())
        old.file.close()
        self.position = self._log.position
        self._finisher.log_closed(old.file.path)

    def _opened(self) -> Opened:
        return Opened(VERSION, self._layout.gatherer, *self._warcs.last, self._warcs.serial)

    def _recover(self, prefix: str, known: Position) -> None:
        layout = self._layout
        self._check_finished()
        state = recover(layout.log, layout.warc, prefix, known)
        if isinstance(state, Recovered):
            self._warcs.resume(state.warc_file, state.warc_end, state.warc_serial)
            self._log = LogFile(layout.log, state.log_number, state.records)
            self._changed = True  # what was cut back to may be in the page cache only
        else:  # a new log; what other files there are came from an older one and stay
            self._warcs.begin_after(
                max((warc_serial(path.name) for path in warc_paths(layout.warc, prefix)), default=0)
            )
            number = max([self._last_parquet(), *log_numbers(layout.log)]) + 1
            self._log = LogFile.create(layout.log, number, self._opened())
            self.is_damaged |= state is not None or self._log.position < known
        self._sync()
        for number in log_numbers(layout.log)[:-1]:
            self._finisher.log_closed(layout.log / file_name(number))
        for path in sorted(layout.summaries.glob(f"{layout.gatherer}-*")):
            if path.suffix == ".tmp":
                path.unlink()
            elif self._remote:
                self._finisher.file_closed(path, SUMMARIES)
        if self._remote:
            for path in warc_paths(layout.warc, prefix):
                if path.name != self._warcs.file_name:
                    self._finisher.file_closed(path, WARC)

    def _check_finished(self) -> None:
        """Say which finished files are missing or damaged.

        A damaged Parquet file is set aside, and its pages are fetched again. One whose log file is still here does not
        matter: it is made again.
        """
        layout, wrong = self._layout, dict[str, str]()
        book = FileBook(layout.book)
        for name, noted in book.files().items() if self._remote is None else ():
            path = (layout.summaries if noted.content_hash else layout.warc) / name
            parsed = parse_parquet_name(name)
            if parsed and (layout.log / file_name(parsed[1])).exists():
                continue
            if how := differs(path, noted):
                wrong[name] = how
                if noted.content_hash and path.is_file():
                    self.is_damaged = True
                    replace_damaged(path, book)
        if wrong:
            name, how = next(iter(wrong.items()))
            advice = f"restore them, or see gcs verify {layout.directory}"
            events.warning("files-damaged", files=len(wrong), first=f"{name} {how}", advice=advice)

    def _last_parquet(self) -> int:
        names = [path.name for path in self._layout.summaries.glob("*.parquet")]
        if self._remote:
            names += self._remote.names(SUMMARIES)
        found = (parse_parquet_name(name) for name in names)
        return max((parsed[1] for parsed in found if parsed and parsed[0] == self._layout.gatherer), default=0)

    def _pages(self, number: int, skip: int) -> Iterator[PageRecord]:
        log, parquet = self._layout.log / file_name(number), self._layout.parquet(number)
        if log.exists():
            yield from pages(log, skip)
        elif self._remote and not parquet.exists():
            with self._remote.open(SUMMARIES, parquet.name) as file:
                yield from read_pages(file, skip)
        elif not parquet.exists():
            events.warning("records-missing", file=parquet, advice="the pages that the file held are fetched again")
        else:
            yield from read_pages(parquet, skip)


def digest_of(response: Response) -> str:
    """The digest of a payload; "" of a 304, which has none."""
    if response.status == HTTPStatus.NOT_MODIFIED:
        return ""
    return response.absent[1] if response.absent else warc.payload_digest(response.body)


def _lock(path: Path) -> IO[str]:
    """Held until the file is closed or the process dies. A record lock, which a forked child does not inherit."""
    try:
        file = own_stream(path, "a")
    except OSError as error:
        raise store_error("open", path, error) from error
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise StoreError(f"{path.parent} is in use by another process: stop it, or choose another directory") from error
    return file


class WarcPosition(NamedTuple):
    """Where the response (or revisit) record of an exchange lies."""

    file: str
    offset: int
    size_bytes: int


class HttpExchange(NamedTuple):
    """The records of one exchange, made but not yet appended, and where they will lie."""

    pieces: list[Buffer]
    place: WarcPosition


class WarcFiles:
    """The WARC files of one gatherer: NAME-GATHERER-yyyymmddhhmmss-SERIAL.warc.gz, one growing at a time.

    Opens a file when the first exchange comes, and another when one is closed. An exchange becomes a request record
    and, behind it, a response record, or a revisit record where the payload is stored already. Its place is that of the
    latter, so the end of the place is the end of everything that belongs to the exchange.

    Invariant: a file begins with its warcinfo record and holds whole records only. It must not decide what is kept
    after a crash: that is `recovery`, by the log.
    """

    def __init__(self, directory: Path, prefix: str, settings: StoreSettings, info: dict[str, str]) -> None:
        self._directory, self._prefix = directory, prefix
        self._level, self._limit_bytes = settings.warc_level, settings.warc_bytes
        self._digests = RecentDigests(settings.warc_digests) if settings.warc_digests else None
        self._info = info
        #: of the newest file
        self.serial = 0
        #: name and length of the file closed last
        self._closed = ("", 0)
        self._file: AppendFile | None = None
        self._new_name = False

    def begin_after(self, serial: int) -> None:
        """Begin a file of its own, numbered behind those that are there."""
        self.serial = serial

    def resume(self, file_name: str, end: int, serial: int) -> None:
        """Go on behind the last exchange that the log names, where its file is still here as it was left."""
        self.serial, self._closed = serial, (file_name, end)
        path = self._directory / file_name
        if file_name and end < self._limit_bytes and path.is_file() and path.stat().st_size == end:
            self._file = AppendFile(path)

    def prepare(
        self, response: Response, digest: str, known: Original | None = None, is_record: bool = True
    ) -> HttpExchange:
        """Make the records of an exchange. `known` and `digest` name the copy that it confirms, if one is known.

        `is_record`: a record of the log names its place. Only the payload of such a one can be found by its digest.
        """
        file = self._file or self._open()
        response_id = warc.record_id()
        url = response.request.url
        original = known
        if known is None and response.status == HTTPStatus.NOT_MODIFIED:
            original = Original(url, 0.0)
        elif known is None and self._digests and response.body and response.http_version:
            original = self._digests.get(digest, is_record)
        asked = [warc.request(response, response_id, self._level)] if response.request_head else []
        if original:
            answer: list[Buffer] = [warc.revisit(response, response_id, digest, original, self._level)]
        else:
            answer = warc.response(response, response_id, digest, self._level)
            if self._digests and response.body:
                self._digests.put(digest, Original(url, response.started_at), is_record)
        start, size_bytes = file.end + sum(map(len, asked)), sum(map(len, answer))
        return HttpExchange([*asked, *answer], WarcPosition(file.path.name, start, size_bytes))

    def append(self, exchange: HttpExchange) -> None:
        """Take in what `prepare` made, before anything else is prepared."""
        assert self._file is not None
        self._file.append(*exchange.pieces)

    @property
    def full(self) -> bool:
        """Whether the growing file is to be closed."""
        return self._file is not None and self._file.end >= self._limit_bytes

    @property
    def last(self) -> tuple[str, int]:
        """Name and length of the growing file, or of the one closed last."""
        return (self._file.path.name, self._file.end) if self._file else self._closed

    @property
    def pending_bytes(self) -> int:
        return self._file.pending_bytes if self._file else 0

    @property
    def file_name(self) -> str:
        """The growing file, or "" where there is none."""
        return self._file.path.name if self._file else ""

    def flush(self) -> None:
        if self._file:
            self._file.flush()

    def sync(self) -> None:
        """Make what was appended, and the name of its file, durable."""
        if self._file:
            self._file.sync()
            if self._new_name:
                sync_directory(self._directory)
                self._new_name = False

    def close(self) -> Path | None:
        """Close the growing file and name it. The next exchange opens another."""
        if self._file is None:
            return None
        self._closed = self.last
        self._file.close()
        path, self._file = self._file.path, None
        return path

    def _open(self) -> "AppendFile":
        at = time.time()
        stamp = datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S")
        name = f"{self._prefix}-{stamp}-{self.serial + 1:05d}.warc.gz"
        file = AppendFile(self._directory / name, exclusive=True)
        file.append(warc.warcinfo(name, at, _SOFTWARE | self._info, self._level))
        self._file, self._new_name = file, True
        self.serial += 1
        return file


class RecentDigests:
    """Payload digest (sha1:BASE32) → the record that holds it: what makes a revisit record possible.

    Payloads of exchanges that no record of the log names (robots.txt, a page that a browser is to render) are apart:
    only one of their own kind may refer to them. The last `limit` payloads, in memory; the least recently met is
    forgotten first. Filled and read by `WarcFiles`.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._originals: OrderedDict[tuple[str, bool], Original] = OrderedDict()

    def get(self, digest: str, is_record: bool) -> Original | None:
        for key in ((digest, True), (digest, is_record)):
            if original := self._originals.get(key):
                self._originals.move_to_end(key)
                return original
        return None

    def put(self, digest: str, original: Original, is_record: bool) -> None:
        self._originals[digest, is_record] = original
        if len(self._originals) > self._limit:
            self._originals.popitem(last=False)


class LogFile:
    """The growing end of the record log: one file, opened behind its last whole frame."""

    def __init__(self, directory: Path, number: int, records: int) -> None:
        self.number = number
        #: page records in the file, those that wait in memory included
        self.records = records
        self.file = AppendFile(directory / file_name(number))

    @classmethod
    def create(cls, directory: Path, number: int, opened: Opened) -> "LogFile":
        """A new file whose first frame is on disk when this returns."""
        log = cls(directory, number, 0)
        log.append(OPENED, _encoder.encode(opened))
        log.file.sync()
        sync_directory(directory)
        return log

    def append_record(self, record: PageRecord) -> PageRecord:
        """Returns the record as it will be read: one that is too long has no links and no text."""
        try:
            body = _encoder.encode(_columns_of(record))
        except UnicodeEncodeError:  # a lone surrogate from a page's JSON or a browser
            body = _encoder.encode([_without_surrogates(value) for value in _columns_of(record)])
        if len(body) > MAX_RECORD_BYTES and (record.outlinks or record.text):
            events.warning("too-long", url=record.url, bytes=len(body))
            return self.append_record(structs.replace(record, outlinks=[], text="", requisites=[]))
        self.append(PAGE, body)
        self.records += 1
        return record

    def fetched(self, fetched: Fetched) -> None:
        """Append an exchange that is no page."""
        self.append(FETCHED, _encoder.encode(fetched))

    def sync(self) -> None:
        """Write everything and a mark; the WARC must be synced already."""
        self.append(SYNCED, b"")
        self.file.sync()

    def append(self, kind: bytes, body: bytes) -> None:
        assert len(body) < MAX_FRAME_BYTES, "nobody could read it, nor what comes after it"
        self.file.append(frame_head(kind, body), body)

    @property
    def position(self) -> Position:
        """Behind everything appended so far."""
        return Position(self.number, self.records)


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


class AppendFile:
    """A file that only grows, by whole flushes. `size_bytes` is what is on disk, `end` counts what waits too.

    What is appended waits in memory until `flush` writes it in one go. If the write fails half way (a full disk, a
    quota), the file is cut back to its length before the flush and the bytes keep waiting, so that what was stored
    stays valid and a later flush may still succeed.

    Invariant: the file on disk is the concatenation of whole flushes.
    """

    def __init__(self, path: Path, *, exclusive: bool = False) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0)
        try:
            self._fd = open_own(path, flags)
            self.size_bytes = os.lseek(self._fd, 0, os.SEEK_END)
        except OSError as error:
            raise store_error("open", path, error) from error
        self.path = path
        self.pending_bytes = 0
        self._pending: list[Buffer] = []
        self._dirty = True  # what an earlier process wrote may not be on the disk yet

    @property
    def end(self) -> int:
        """Where the next append will lie."""
        return self.size_bytes + self.pending_bytes

    def append(self, *pieces: Buffer) -> None:
        """Take bytes in; nothing is written before `flush`."""
        self._pending += pieces
        self.pending_bytes += sum(map(len, pieces))

    def flush(self) -> None:
        """Write out all that waits, or nothing of it."""
        if not self._pending:
            return
        self._dirty = True
        try:
            for start in range(0, len(self._pending), _MOST_PIECES):
                self._write(self._pending[start : start + _MOST_PIECES])
        except OSError as error:
            os.ftruncate(self._fd, self.size_bytes)  # back to where it was before
            os.lseek(self._fd, self.size_bytes, os.SEEK_SET)
            raise store_error("write", self.path, error) from error
        self.size_bytes += self.pending_bytes
        self.pending_bytes = 0
        self._pending.clear()

    def _write(self, pieces: list[Buffer]) -> None:
        written = os.writev(self._fd, pieces)
        if written < sum(map(len, pieces)):  # the disk is full, or a signal came
            rest = memoryview(b"".join(pieces))[written:]
            while rest:
                rest = rest[os.write(self._fd, rest) :]

    def sync(self) -> None:
        """`flush`, then wait until the disk holds it."""
        self.flush()
        if self._dirty:
            try:
                sync_data(self._fd)
            except OSError as error:
                raise store_error("write", self.path, error) from error
            self._dirty = False

    def close(self) -> None:
        """Close the file. What was not flushed is dropped."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
