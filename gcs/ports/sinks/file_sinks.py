"""Sinks that are files: lines of JSON, a CSV table, Parquet files here or in a store.

Invariant: what `write` has stored is on the disk when it returns. A line that a killed process left half written is cut
off at the next start.
"""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gcs.core.page.spreadsheet import harmless
from gcs.errors import SettingsError
from gcs.ports.records.page import Page
from gcs.ports.sinks.page_rows import ROW_COLUMNS, as_row, as_table

_STEP_BYTES = 1 << 16


class _Lines:
    """A file to which whole lines are added."""

    def __init__(self, target: str) -> None:
        path = Path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        self._file.truncate(_end_of_last_line(self._file))

    @property
    def is_empty(self) -> bool:
        return os.fstat(self._file.fileno()).st_size == 0

    def add(self, data: bytes) -> None:
        before = os.fstat(self._file.fileno()).st_size
        try:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(before)  # the batch comes again: no half of it may stand before it
            raise

    def close(self) -> None:
        self._file.close()


def _end_of_last_line(file: io.BufferedRandom) -> int:
    at = file.seek(0, os.SEEK_END)
    while at:
        start = max(at - _STEP_BYTES, 0)
        file.seek(start)
        if (found := file.read(at - start).rfind(b"\n")) >= 0:
            return start + found + 1
        at = start
    return 0


class JsonLines:
    """A line of JSON per page."""

    def __init__(self, target: str) -> None:
        self._lines = _Lines(target)

    def write(self, pages: Sequence[Page]) -> None:
        self._lines.add(b"".join(msgspec.json.encode(as_row(page)) + b"\n" for page in pages))

    def close(self) -> None:
        self._lines.close()


class CsvTable:
    """A row per page; out-links stand in one cell, apart by spaces. No cell is a formula (see `gcs export`).

    A table that exists keeps its columns, also where a newer version of GCS has more.
    """

    def __init__(self, target: str) -> None:
        self._columns = _columns(Path(target)) or list(ROW_COLUMNS)
        if "id" not in self._columns:
            raise SettingsError(f"{target}: it is another table, without a column id: give another file")
        self._lines = _Lines(target)

    def write(self, pages: Sequence[Page]) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, self._columns, restval="", extrasaction="ignore")
        if self._lines.is_empty:
            writer.writeheader()
        for page in pages:
            writer.writerow({name: harmless(_cell(value)) for name, value in as_row(page).items()})
        self._lines.add(text.getvalue().encode("utf-8", "replace"))

    def close(self) -> None:
        self._lines.close()


def _columns(path: Path) -> list[str]:
    """The columns of a table that exists."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        return next(csv.reader([file.readline(_STEP_BYTES).decode("utf-8", "replace")]), [])


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return msgspec.json.encode(value).decode() if isinstance(value, dict | msgspec.Raw) else value


class ParquetParts:
    """Parquet files in a folder, here or at any URL that fsspec knows (s3://bucket/folder): one per batch."""

    batch_pages = 5_000
    wait_s = 30.0

    def __init__(self, target: str) -> None:
        import fsspec

        self._files, self._folder = fsspec.core.url_to_fs(target)
        self._files.makedirs(self._folder, exist_ok=True)

    def write(self, pages: Sequence[Page]) -> None:
        import pyarrow.parquet as pq

        data = io.BytesIO()
        pq.write_table(as_table(pages), data, compression="zstd")
        # the name is that of its first page: a batch that comes again takes the place of what it was
        path = f"{self._folder}/pages-{pages[0].id}.parquet"
        self._files.pipe_file(path, data.getvalue())
