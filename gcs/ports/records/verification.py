"""Checks what one gatherer has stored: log and Parquet files, and the WARC files against them. It changes nothing.

Every record is read once, in the order in which it was stored, and so is every WARC file, side by side with the records
that name it: memory does not grow with the crawl. Each WARC record has a checksum (gzip's), which is checked.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from gcs.errors import CodecError, DamagedError
from gcs.ports.records.file_book import FileBook, differs
from gcs.ports.records.layout import StoreLayout, parse_parquet_name
from gcs.ports.records.parquet import read_rows
from gcs.ports.records.record_log import Position, file_name, gaps, log_numbers
from gcs.ports.records.record_log import rows as log_rows
from gcs.ports.records.warc import members

_FIELDS = ("url", "session", "warc_file", "warc_offset", "warc_bytes")


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Something that is wrong with a file."""

    file: Path
    what: str
    #: log, parquet or warc: says what can be done about it
    kind: str
    #: number of the log file whose records are missing or damaged; 0 if no record is
    number: int = 0


@dataclass(slots=True)
class StoreCheck:
    """The check of one gatherer's files. `run` fills it."""

    layout: StoreLayout
    #: called with URL, session and position of every record
    on_record: Callable[[str, int, Position], None]
    records: int = 0
    warc_files: int = 0
    warc_records: int = 0
    parquet_files: int = 0
    problems: list[StoreProblem] = field(default_factory=list)
    _warc: "WarcWalk | None" = None

    def run(self) -> None:
        """Read everything. Files that have moved to a URL are not read."""
        layout, noted = self.layout, FileBook(self.layout.book).files()
        logs, parquets = log_numbers(layout.log), self._parquets()
        for number in range(1, max([0, *logs, *parquets]) + 1):
            path = layout.log / file_name(number) if number in logs else layout.parquet(number)
            if number not in logs and number not in parquets:
                self._add(path, "is missing", "parquet", number)
            elif number in logs:
                if count := gaps(path):
                    self._add(path, f"is damaged at {count} places", "log", number)
                self._read(path, number)
            else:
                self.parquet_files += 1
                how = differs(path, noted[path.name]) if path.name in noted else ""
                if how or not self._read(path, number):
                    self._add(path, how or "cannot be read", "parquet", number)
        self._go_to("")
        for name, entry in noted.items():
            if not entry.content_hash and (how := differs(layout.warc / name, entry)):
                self._add(layout.warc / name, how, "warc")

    def _parquets(self) -> set[int]:
        parsed = (parse_parquet_name(path.name) for path in self.layout.summaries.glob("*.parquet"))
        return {each[1] for each in parsed if each and each[0] == self.layout.gatherer}

    def _read(self, path: Path, number: int) -> bool:
        """Read the records of a file, and the WARC records that they name; False if it cannot be read."""
        rows = log_rows(path, _FIELDS) if path.suffix == ".log" else read_rows(path, _FIELDS)
        count = 0
        try:
            for url, session, warc_file, offset, size_bytes in rows:
                count += 1
                self.on_record(url, session, Position(number, count))
                if warc_file:
                    self._go_to(warc_file)
                    assert self._warc is not None
                    self._warc.find(offset, size_bytes)
        except DamagedError:
            return False
        finally:
            self.records += count
        return True

    def _go_to(self, name: str) -> None:
        """Finish the WARC file that is being read, and begin with that one."""
        warc = self._warc
        if warc is not None and warc.path.name == name:
            return
        if warc is not None:
            warc.finish()
            self.warc_records += warc.records
            self.warc_files += warc.path.is_file()
            if warc.missing:
                what = f"lacks {warc.missing:,} of the {warc.named:,} pages that it should hold"
                self._add(warc.path, what if warc.path.is_file() else f"is missing, with {warc.named:,} pages", "warc")
            elif warc.damaged_at is not None:
                self._add(warc.path, f"is damaged at byte {warc.damaged_at:,}", "warc")
        self._warc = WarcWalk(self.layout.warc / name) if name else None

    def _add(self, file: Path, what: str, kind: str, number: int = 0) -> None:
        if all(each.file != file for each in self.problems):
            self.problems.append(StoreProblem(file, what, kind, number))


class WarcWalk:
    """Reads a WARC file from its beginning to its end, beside the records that name places in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = self.named = self.missing = 0
        self.damaged_at: int | None = None
        self._file: BinaryIO | None = path.open("rb") if path.is_file() else None
        self._members = self._from(0)
        self._last = (-1, 0)

    def find(self, offset: int, size_bytes: int) -> None:
        """Go on to the record at this place; count it as missing if there is no whole record of that size."""
        self.named += 1
        while self._last[0] < offset and self._step():
            pass
        if self._last[0] != offset and self._file is not None:  # behind a damaged record, or none begins there
            self._members = self._from(offset)
            self._step()
        self.missing += self._last != (offset, size_bytes)

    def finish(self) -> None:
        """Read the rest, and close the file."""
        while self._step():
            pass
        if self._file is not None:
            self._file.close()

    def _step(self) -> bool:
        place = next(self._members, None)
        if place is not None:
            self._last = place
            self.records += 1
        return place is not None

    def _from(self, offset: int) -> Iterator[tuple[int, int]]:
        if self._file is None:
            return
        end = offset
        try:
            for member in members(self._file, offset):
                end = member.offset + member.size_bytes
                yield member.offset, member.size_bytes
        except CodecError:
            self.damaged_at = end if self.damaged_at is None else self.damaged_at
