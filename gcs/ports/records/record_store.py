"""The record store of one gatherer: the only way to its WARC files, record log and summaries. `layout` shows the files.

A page counts when its frame is in the log. `page` only takes it in; `flush` writes the WARC bytes and then
the log bytes; `sync` makes both durable and names the position that a checkpoint may refer to. After
kill -9, `open` cuts both back to where they agree and `tail` reads what came after the checkpoint.

Invariant: nothing is in the log whose WARC record is not written. It must not be opened twice at a time
(a lock sees to it), and it is called from one thread.
"""

import fcntl
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TextIO

from msgspec import structs

from gcs.core.page.values import PageRecord, Response
from gcs.errors import StoreError
from gcs.ports.records import warc
from gcs.ports.records.append_file import store_error
from gcs.ports.records.finished_files import Finisher, Remote
from gcs.ports.records.layout import SUMMARIES, WARC, StoreLayout, StoreSettings, check_names, parse_parquet_name
from gcs.ports.records.parquet import read_pages
from gcs.ports.records.record_log import VERSION, Fetched, LogFile, Opened, Position, file_name, log_numbers, pages
from gcs.ports.records.recovery import recover
from gcs.ports.records.warc import Original
from gcs.ports.records.warc_files import WarcFiles, files_of, serial_of

#: more than this does not wait in memory, however seldom `flush` is called
_MAX_PENDING_BYTES = 4 << 20


class Store:
    """The open record store of one gatherer. Made by `Store.open`."""

    def __init__(self, layout: StoreLayout, settings: StoreSettings, warcs: WarcFiles, remote: Remote | None) -> None:
        self._layout, self._settings = layout, settings
        self._warcs, self._remote = warcs, remote
        self._finisher = Finisher(layout, remote, summaries=settings.summaries, keep_logs=settings.keep_logs)
        self._lock = _lock(layout.state / "records.lock")
        self._log: LogFile
        #: the end of what is durable: everything up to here survives even a power cut
        self.position = Position()
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
    ) -> "Store":
        """Open or make the store; after a crash, cut it back to its last consistent state.

        `crawl` begins the names of the WARC files; `info` goes into their warcinfo records (operator,
        http-header-user-agent, robots).
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
            store._recover(prefix)
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
        self._log.append_record(record)  # first: it may refuse the record, the WARC cannot
        if exchange is not None:
            self._warcs.append(exchange)
        self._took()
        return record

    def fetched(self, response: Response) -> None:
        """Archive an exchange that is no page: robots.txt, a sitemap, a hop that is tried again."""
        if self._settings.warc and response.absent is None:
            exchange = self._warcs.prepare(response, warc.payload_digest(response.body))
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
        """The stored page records after a position, in order. For the time between `open` and the first `page`."""
        if position > self._log.position:
            raise StoreError(
                f"the frontier of {self._layout.directory} is ahead of its record log ({position} > "
                f"{self._log.position}): the log was damaged or replaced; restore it, or start a new directory"
            )
        for number in range(position.file, self._log.number + 1):
            yield from self._pages(number, position.records if number == position.file else 0)

    def finish(self) -> None:
        """End of a crawl: close all files, make the last Parquet file, upload what is to be uploaded. May wait long."""
        self.flush()
        self._close_warc()
        if self._log.records:
            self._close_log()
        self._finisher.drain()

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

    def _recover(self, prefix: str) -> None:
        layout = self._layout
        state = recover(layout.log, layout.warc, prefix)
        if state is None:  # a new log; what other files there are came from an older one and stay
            self._warcs.serial = max((serial_of(path.name) for path in files_of(layout.warc, prefix)), default=0)
            self._log = LogFile.create(layout.log, self._last_parquet() + 1, self._opened())
        else:
            self._warcs.resume(state.warc_file, state.warc_end, state.warc_serial)
            self._log = LogFile(layout.log, state.log_number, state.records)
            self._changed = True  # what was cut back to may be in the page cache only
        self._sync()
        for number in log_numbers(layout.log)[:-1]:
            self._finisher.log_closed(layout.log / file_name(number))
        for path in sorted(layout.summaries.glob(f"{layout.gatherer}-*")):
            if path.suffix == ".tmp":
                path.unlink()
            elif self._remote:
                self._finisher.file_closed(path, SUMMARIES)
        if self._remote:
            for path in files_of(layout.warc, prefix):
                if path.name != self._warcs.file_name:
                    self._finisher.file_closed(path, WARC)

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
        elif parquet.exists():
            yield from read_pages(parquet, skip)
        elif self._remote:
            with self._remote.open(SUMMARIES, parquet.name) as file:
                yield from read_pages(file, skip)
        else:
            raise StoreError(f"the record log lacks {log} and {parquet}: restore one of them, or start a new directory")


def digest_of(response: Response) -> str:
    """The digest of a payload; "" of a 304, which has none."""
    if response.status == HTTPStatus.NOT_MODIFIED:
        return ""
    return response.absent[1] if response.absent else warc.payload_digest(response.body)


def _lock(path: Path) -> TextIO:
    """Held until the file is closed or the process dies. A record lock, which a forked child does not inherit."""
    try:
        file = path.open("a")
    except OSError as error:
        raise store_error("open", path, error) from error
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise StoreError(f"{path.parent} is in use by another process: stop it, or choose another directory") from error
    return file
