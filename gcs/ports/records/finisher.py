"""What happens to a file when it is closed: a log file becomes Parquet, and finished files move to the URL.

Runs in one thread beside the gatherer, because an upload waits and a conversion takes most of a second.
Every job may be cut off at any instruction and done again: the next `open` hands in what was left.

A conversion that fails (a full disk) is raised by the next `run`; an upload that fails is tried again with
the next one and raised only by `drain`, since the crawl can go on without it.
Invariant: a log file is removed only when its Parquet file is in place, a local file only when it is at the
URL. It must not touch a file that still grows.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from gcs.errors import StoreError
from gcs.events import Events
from gcs.ports.records.appendfile import store_error
from gcs.ports.records.layout import SUMMARIES, WARC, Layout
from gcs.ports.records.remote import Remote
from gcs.ports.records.summaries import convert

events = Events("records")


class Finisher:
    """Jobs for closed files. Filled by the store, emptied by its thread."""

    def __init__(self, layout: Layout, remote: Remote | None, *, summaries: bool, keep_logs: bool) -> None:
        self._layout, self._remote = layout, remote
        self._summaries, self._keep_logs = summaries, keep_logs
        self._jobs: list[Callable[[], None]] = []
        self._running: list[Future[None]] = []
        self._uploads: dict[Path, str] = {}
        self._thread: ThreadPoolExecutor | None = None

    def log_closed(self, path: Path) -> None:
        """A log file that will not grow any more, synced."""
        if self._summaries:
            self._jobs.append(lambda: self._convert(path))

    def warc_closed(self, path: Path) -> None:
        """A WARC file that will not grow any more, synced, as is the log that names its records."""
        self._add_upload(path, WARC)

    def parquet_found(self, path: Path) -> None:
        """A Parquet file that a killed run left behind."""
        self._add_upload(path, SUMMARIES)

    def run(self) -> None:
        """Start what was handed in; raise what failed since the last time."""
        if self._jobs:
            self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="gcs-finisher")
            self._running += map(self._thread.submit, self._jobs)
            self._jobs = []
        while self._running and self._running[0].done():
            self._running.pop(0).result()

    def drain(self) -> None:
        """Finish everything now, or raise."""
        self.run()
        while self._running:
            self._running.pop(0).result()
        if self._uploads:
            self._upload_all(final=True)

    def close(self) -> None:
        """Stop after the job under way; what is left waits for the next `open`."""
        if self._thread:
            self._thread.shutdown(wait=True, cancel_futures=True)

    def _add_upload(self, path: Path, folder: str) -> None:
        if self._remote:
            self._jobs.append(lambda: self._upload(path, folder))

    def _convert(self, log_path: Path) -> None:
        parquet = self._layout.parquet(int(log_path.stem))
        if not parquet.exists():
            rows = convert(log_path, parquet)
            events.info("summaries-written", file=parquet, rows=rows)
        _put_away(log_path, keep=self._keep_logs)
        if self._remote:
            self._upload(parquet, SUMMARIES)

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


def _put_away(path: Path, *, keep: bool) -> None:
    try:
        if keep:
            path.rename(path.with_suffix(".kept"))
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise store_error("remove", path, error) from error
