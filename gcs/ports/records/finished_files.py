"""What happens to a file when it is closed: a log file becomes Parquet, and finished files move to a URL.

`Remote` is the folder at that URL (s3://bucket/folder or any other fsspec URL), `Finisher` the jobs.
They run in one thread beside the gatherer, because an upload waits and a conversion takes most of a second.
Every job may be cut off at any instruction and done again: the next `open` of the store adds what was left.

A conversion that fails (a full disk) is raised by the next `run`; an upload that fails is tried again with
the next one and raised only by `drain`, since the crawl can go on without it.
Invariant: a log file is removed only when its Parquet file is in place, a local file only when it is at the
URL. A file that still grows is not touched.
"""

import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from gcs.errors import StoreError, UsageError
from gcs.events import Events
from gcs.ports.records.file_book import FileBook
from gcs.ports.records.layout import SUMMARIES, StoreLayout, keep_copy, set_aside, store_error
from gcs.ports.records.parquet import convert

events = Events("records")
#: seconds between the attempts of one upload
_PAUSES_S = (0.5, 2.0, 8.0)
#: seconds between two looks whether there is still time for an upload
LOOK_S = 0.2


class Remote:
    """A folder behind an fsspec URL."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._filesystem: Any = None
        self._give_up_at = math.inf

    def end_within(self, seconds: float) -> None:
        """From now on all uploads together take no longer than this: a store that is away must not hold the end."""
        self._give_up_at = time.monotonic() + seconds

    def put(self, path: Path, folder: str) -> None:
        """Copy a finished local file to URL/folder/, whole, or raise StoreError."""
        target = f"{self.url}/{folder}/{path.name}"
        for pause_s in (*_PAUSES_S, None):
            try:
                self._attempt(path, target)
                return
            except (StoreError, UsageError):
                raise
            except Exception as error:  # every filesystem has its own kinds; all mean: not there yet
                if pause_s is None:
                    raise StoreError(f"cannot upload {path} to {target}: {error}") from error
                events.warning("upload-retry", file=path, target=target, error=error)
                time.sleep(min(pause_s, max(self._give_up_at - time.monotonic(), 0.0)))

    def names(self, folder: str) -> list[str]:
        """The names of the files in URL/folder/, sorted."""
        filesystem = self.filesystem()
        try:
            filesystem.invalidate_cache()
            found = filesystem.ls(filesystem._strip_protocol(f"{self.url}/{folder}"), detail=False)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise StoreError(f"cannot list {self.url}/{folder}: {error}") from error
        return sorted(name.rstrip("/").rpartition("/")[2] for name in found)

    def open(self, folder: str, name: str) -> Any:
        """A readable, seekable file."""
        try:
            return self.filesystem().open(f"{self.url}/{folder}/{name}", "rb")
        except Exception as error:
            raise StoreError(f"cannot read {self.url}/{folder}/{name}: {error}") from error

    def filesystem(self) -> Any:
        if self._filesystem is None:
            import fsspec  # slow to load

            try:
                self._filesystem = fsspec.core.url_to_fs(self.url)[0]
            except (ImportError, ValueError) as error:  # no such protocol, or its package is missing
                raise UsageError(f"cannot use {self.url} as a store: {error}") from error
        return self._filesystem

    def _attempt(self, path: Path, target: str) -> None:
        """`_put`, in a thread of its own, which is left behind when there is no more time."""
        attempt: Future[None] = Future()

        def put() -> None:
            try:
                self._put(path, target)
                attempt.set_result(None)
            except BaseException as error:
                attempt.set_exception(error)

        threading.Thread(target=put, name="gcs-upload", daemon=True).start()
        while not wait([attempt], LOOK_S).done:
            if time.monotonic() > self._give_up_at:
                raise StoreError(f"cannot upload {path} to {target}: no answer in time")
        attempt.result()

    def _put(self, path: Path, target: str) -> None:
        filesystem = self.filesystem()
        filesystem.makedirs(filesystem._parent(target), exist_ok=True)
        filesystem.put_file(str(path), target)
        filesystem.invalidate_cache()
        size, expected = filesystem.size(target), path.stat().st_size
        if size != expected:
            raise OSError(f"{size} of {expected} bytes arrived")


class Finisher:
    """Jobs for closed files. Filled by the store, emptied by its thread."""

    def __init__(self, layout: StoreLayout, remote: Remote | None, *, summaries: bool, keep_logs: bool) -> None:
        self._layout, self._remote, self._book = layout, remote, FileBook(layout.book)
        self._summaries, self._keep_logs = summaries, keep_logs
        self._jobs: list[Callable[[], None]] = []
        self._running: list[Future[None]] = []
        self._uploads: dict[Path, str] = {}
        self._thread: ThreadPoolExecutor | None = None

    def log_closed(self, path: Path) -> None:
        """A log file that will not grow any more, synced."""
        if self._summaries:
            self._jobs.append(lambda: self._convert(path))

    def file_closed(self, path: Path, folder: str) -> None:
        """A WARC file (synced, as is the log that names its records) or a Parquet file that will not grow any more."""
        self._jobs.append(lambda: self._close(path, folder))

    def run(self) -> None:
        """Start what was handed in; raise what failed since the last time."""
        if self._jobs:
            self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="gcs-finisher")
            self._running += map(self._thread.submit, self._jobs)
            self._jobs = []
        while self._running and self._running[0].done():
            self._running.pop(0).result()

    def drain(self, within_s: float | None = None) -> None:
        """Finish everything now, or raise. `within_s`: what is not uploaded by then is left to the next `open`."""
        if self._remote and within_s is not None:
            self._remote.end_within(within_s)
        self.run()
        while self._running:
            self._running.pop(0).result()
        if self._uploads:
            self._upload_all(final=within_s is None)

    def close(self) -> None:
        """Stop after the job under way; what is left waits for the next `open`."""
        if self._thread:
            self._thread.shutdown(wait=True, cancel_futures=True)

    def _convert(self, log_path: Path) -> None:
        parquet = self._layout.parquet(int(log_path.stem))
        rows, gaps = convert(log_path, parquet)
        events.info("summaries-written", file=parquet, rows=rows)
        if gaps:
            events.warning("log-damaged", file=log_path, whole_records=rows, kept=keep_copy(log_path))
        self._close(parquet, SUMMARIES)
        _put_away(log_path, keep=self._keep_logs)

    def _close(self, path: Path, folder: str) -> None:
        self._book.note(path)
        if self._remote:
            self._upload(path, folder)

    def _upload(self, path: Path, folder: str) -> None:
        self._uploads[path] = folder
        self._upload_all(final=False)

    def _upload_all(self, *, final: bool) -> None:
        assert self._remote is not None
        for path, folder in list(self._uploads.items()):
            try:
                self._remote.put(path, folder)
            except StoreError as error:
                if final:
                    raise
                events.warning("upload-failed", file=path, error=error)
                return  # the next would wait for the same reason
            _put_away(path, keep=False)
            del self._uploads[path]


def replace_damaged(parquet: Path, book: FileBook, log: Path | None = None) -> None:
    """Set a damaged Parquet file aside, and make it again from its log file; without rows, where that is gone."""
    if parquet.exists():
        set_aside(parquet)
    convert(log or Path(os.devnull), parquet)
    book.note(parquet)


def _put_away(path: Path, *, keep: bool) -> None:
    try:
        if keep:
            path.rename(path.with_suffix(".kept"))
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise store_error("remove", path, error) from error
