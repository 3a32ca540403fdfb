"""What was gathered as tables: pages, failures, redirects, links, requisites. Each URL once, as it was found last.

One row of `pages` is one page, and nothing else is in it; so nobody counts a redirect for a page. The tables follow
from the records: they are made on demand (`gcs export`), and may be made again or deleted.

Memory: what `reading.newest` needs to know which record is the last, and a group of rows of each table.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from gcs.errors import StoreError
from gcs.ports.records import reading
from gcs.ports.records.parquet import FIELDS, schema
from gcs.ports.system.own_file import own_stream

Row = tuple[Any, ...]
#: rows that are written together, and of one file
GROUP_ROWS, FILE_ROWS = 1_000, 250_000
#: characters of a group after which it is written
GROUP_CHARS = 4 << 20

_PLACE = ("parent", "depth", "session", "fetched_at", "warc_file", "warc_offset")


class CrawlTable(NamedTuple):
    """A table: what it holds, and how its rows come out of a record."""

    what: str
    #: column → the field of the record that it is; of `links`, also what is found in its lists
    columns: dict[str, str]
    #: whether a record (by the values of `_KIND`) is of this table
    holds: Callable[[int, str, bool, int], bool]


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


#: what tells of which table a record is
_KIND = ("status", "failure", "source", "requisite")
#: column of `links` → the list of the record that it comes from
_LISTS = {"link": "outlinks", "anchor": "anchors", "rel": "rels"}

TABLES = {
    "pages": CrawlTable(
        "a row for each page", _same(*FIELDS), lambda status, failure, source, _: _is_page(status, failure, source)
    ),
    "failures": CrawlTable(
        "a row for each URL that ended without a page",
        _same("url", "failure", "status", "content_type", "requisite", *_PLACE),
        lambda _status, failure, _source, _requisite: bool(failure),
    ),
    "redirects": CrawlTable(
        "a row for each URL that leads elsewhere",
        {"url": "url", "target": "final_url", **_same("status", "requisite", *_PLACE)},
        lambda status, failure, _source, _requisite: 300 <= status < 400 and not failure,
    ),
    "links": CrawlTable(
        "a row for each link of each page",
        {"page": "url", "depth": "depth", "session": "session", **_LISTS},
        lambda status, failure, source, _: _is_page(status, failure, source),
    ),
    "requisites": CrawlTable(
        "a row for each style sheet, image, script… that pages need (--requisites)",
        _same("url", "status", "content_type", "bytes", "digest", "requisite", *_PLACE),
        lambda status, failure, _, requisite: requisite > 0 and 200 <= status < 300 and not failure,
    ),
}


def _is_page(status: int, failure: str, source: bool) -> bool:
    return 200 <= status < 300 and not failure and not source


def table_rows(place: str | Path, name: str) -> Iterator[Row]:
    """The rows of one table, in the order of its columns."""
    table = TABLES[name]
    fields = list(dict.fromkeys(table.columns.values()))
    for row in reading.newest(place, (*_KIND, *fields)):
        if table.holds(*row[: len(_KIND)]):
            yield from _rows_of(name, dict(zip(fields, row[len(_KIND) :])))


def _rows_of(name: str, record: dict[str, Any]) -> Iterator[Row]:
    """The rows that a table has for a record."""
    columns = TABLES[name].columns
    if name != "links":
        yield tuple(map(record.__getitem__, columns.values()))
        return
    fixed = [record[field] for column, field in columns.items() if column not in _LISTS]
    for found in zip_longest(*(record[field] for field in _LISTS.values()), fillvalue=""):
        yield (*fixed, *found)


def write_tables(place: str | Path, folder: Path) -> dict[str, int]:
    """Write all tables as Parquet: FOLDER/pages/000001.parquet and so on. Returns the rows of each.

    The files of a table take the place of older ones when all are whole.
    """
    rows = dict.fromkeys(TABLES, 0)
    with ExitStack() as stack:
        writers = {name: stack.enter_context(_TableWriter(folder / name, name)) for name in TABLES}
        for values in reading.newest(place, (*_KIND, *FIELDS)):
            record = dict(zip(FIELDS, values[len(_KIND) :]))
            for name, table in TABLES.items():
                if table.holds(*values[: len(_KIND)]):
                    rows[name] += writers[name].add(_rows_of(name, record))
        for writer in writers.values():
            writer.finish()
    return rows


class _TableWriter:
    """Writes one table: into files with other names first, which `finish` renames."""

    def __init__(self, folder: Path, name: str) -> None:
        import pyarrow as pa

        self._folder, self._group, self._chars = folder, list[Row](), 0
        known = schema()
        self._schema = pa.schema(
            [
                pa.field(column, pa.string() if column in _LISTS else known.field(field).type)
                for column, field in TABLES[name].columns.items()
            ]
        )
        self._at = self._schema.get_field_index("fetched_at")
        self._files: list[Path] = []
        self._writer: Any = None
        self._rows = 0

    def __enter__(self) -> "_TableWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        for path in self._files:
            path.unlink(missing_ok=True)

    def add(self, rows: Iterable[Row]) -> int:
        """Add rows; returns how many they were."""
        count = 0
        for row in rows:
            count += 1
            self._group.append(row)
            self._chars += sum(len(value) for value in row if isinstance(value, str | list))
            if len(self._group) >= GROUP_ROWS or self._chars >= GROUP_CHARS:
                self._write()
        return count

    def finish(self) -> None:
        """Put the new files in the place of the old ones."""
        self._write()
        if not self._files:
            self._open()  # an empty table is a table
        self._close()
        try:
            for path in self._files:
                path.replace(path.with_suffix(".parquet"))
            for old in self._folder.glob("[0-9]*.parquet"):
                if old.stem.isdecimal() and int(old.stem) > len(self._files):
                    old.unlink()
        except OSError as error:
            raise StoreError(f"cannot write {self._folder}: {error.strerror or error}") from error
        self._files = []

    def _write(self) -> None:
        import pyarrow as pa

        if not self._group:
            return
        if self._writer is None or self._rows >= FILE_ROWS:
            self._close()
            self._open()
        columns: list[Sequence[Any]] = list(zip(*self._group))
        if self._at >= 0:
            columns[self._at] = [round(at * 1e6) for at in map(itemgetter(self._at), self._group)]
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema)]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows += len(self._group)
        self._group, self._chars = [], 0

    def _open(self) -> None:
        import pyarrow.parquet as pq

        path = self._folder / f"{len(self._files) + 1:06d}.new"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._stream = own_stream(path, "wb")
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
        self._files.append(path)
        self._writer, self._rows = pq.ParquetWriter(self._stream, self._schema, compression="zstd"), 0

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._writer = None
