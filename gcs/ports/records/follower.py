"""The follower: reads the records of one gatherer from a position on, also while the gatherer writes them.

`Cursor` keeps a reader's position in a small file, so that a reader that was killed goes on where it was.
`SessionReader` reads those of all gatherers, the older session first; its positions are kept by whoever reads.

Invariants
- A record is handed out only when its frame is whole in the log: it outlives a kill of the process that stored it.
- A reader that was killed gets each record again whose position was not kept; it misses none.
"""

import os
import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from gcs.core.page.values import PageRecord
from gcs.ports.records.layout import StoreLayout, store_error
from gcs.ports.records.parquet import FIELDS
from gcs.ports.records.reading import Row, rows, warn
from gcs.ports.records.record_log import BEGINNING, PAGE, Position, file_name, frames, frames_of, log_numbers, page_of
from gcs.ports.system.own_file import open_own

_POSITION = struct.Struct("<QQ")
#: characters of texts and links behind which no more records are read at a time: one page may have as many
MOST_CHARS = 16 << 20


class Stored(NamedTuple):
    """A record, and the position behind it."""

    record: PageRecord
    position: Position

    @property
    def chars(self) -> int:
        return len(self.record.text) + sum(map(len, self.record.outlinks))


class RecordFollower:
    """Reads the records of one gatherer. It must not change anything."""

    def __init__(self, directory: Path, gatherer: str, position: Position = BEGINNING) -> None:
        self._directory, self._gatherer = directory, gatherer
        self._log = StoreLayout(directory, gatherer).log
        #: behind the record that was read last
        self.position = position
        self._file: BinaryIO | None = None
        self._offset = 0
        #: the rest of a log file that has become Parquet
        self._rest: Iterator[Row] | None = None

    def read(self, most: int) -> list[Stored]:
        """The next records, up to `most`, or MOST_CHARS of them; none if nothing new is stored yet."""
        found, room = list[Stored](), MOST_CHARS
        while len(found) < most:
            is_over = self._is_closed()  # looked at first: what is read after that is all there is
            before = len(found)
            for stored in islice(self._next(), most - len(found)):
                found.append(stored)
                room -= stored.chars
                if room <= 0:
                    return found
            if len(found) == before and not is_over:
                break
            if is_over and len(found) < most:
                self._go_to(Position(self.position.file + 1, 0))
        return found

    def close(self) -> None:
        self._rest = None
        if self._file:
            self._file.close()
            self._file = None

    def _is_closed(self) -> bool:
        """Whether nothing will be added to the log file at the position: there is a later one."""
        numbers = log_numbers(self._log)
        return bool(numbers) and numbers[-1] > self.position.file

    def _go_to(self, position: Position) -> None:
        self.close()
        self.position, self._offset = position, 0

    def _next(self) -> Iterator[Stored]:
        skip = 0
        if self._file is None:
            skip = self.position.records
            try:
                self._file = (self._log / file_name(self.position.file)).open("rb")
            except FileNotFoundError:
                if self._is_closed():  # it has become Parquet, here or at the store's URL
                    yield from self._finished(skip)
                return
            except OSError as error:
                raise store_error("read", self._log, error) from error
        if os.fstat(self._file.fileno()).st_size < self._offset:  # cut back at the start after a power cut
            self._go_to(min(self.position, log_end(self._directory, self._gatherer, self.position)))
            return
        for frame in frames_of(self._file, self._offset):
            self._offset = frame.end
            if frame.kind == PAGE and skip:
                skip -= 1
            elif frame.kind == PAGE:
                yield self._stored(page_of(frame))

    def _finished(self, skip: int) -> Iterator[Stored]:
        if self._rest is None:
            key = self._gatherer, self.position.file
            found = rows(self._directory, FIELDS, lambda gatherer, number: (gatherer, number) == key, on_damage=warn)
            self._rest = islice(found, skip, None)
        for row in self._rest:
            yield self._stored(PageRecord(**dict(zip(FIELDS, row))))

    def _stored(self, record: PageRecord) -> Stored:
        self.position = Position(self.position.file, self.position.records + 1)
        return Stored(record, self.position)


def log_end(directory: Path, gatherer: str, most: Position) -> Position:
    """The end of a gatherer's log, if `most` lies in its last file or behind it; else `most`.

    A power cut may take records that a reader has dealt with: what is stored in their place is new.
    """
    log = StoreLayout(directory, gatherer).log
    numbers = log_numbers(log)
    if not numbers or most.file < numbers[-1]:
        return most
    return Position(numbers[-1], sum(1 for frame in frames(log / file_name(numbers[-1])) if frame.kind == PAGE))


def log_ends(directory: Path) -> dict[str, tuple[int, int]]:
    """The end of the log of each gatherer of a crawl directory."""
    beyond = Position(1 << 40, 0)
    ends = {log.parent.name: log_end(directory, log.parent.name, beyond) for log in directory.glob("state/*/log")}
    return {name: (end.file, end.records) for name, end in ends.items() if end != beyond}


class FollowedRecord(NamedTuple):
    """A record, and the crawl directory that it is of."""

    directory: Path
    record: PageRecord


class _Source(NamedTuple):
    name: str
    directory: Path
    follower: RecordFollower
    waiting: "deque[Stored]"


class SessionReader:
    """Reads the records of all gatherers of some crawl directories, also of gatherers that begin later.

    A record of a later session comes behind those of earlier sessions that are stored: so what came last of a URL is
    what is true of it, whichever gatherers asked for it.
    """

    def __init__(self, directories: Sequence[Path], positions: Mapping[str, tuple[int, int]], home: Path) -> None:
        """`home`: a log in this directory is named by its gatherer alone, so that the directory may be moved."""
        self._directories, self._home = directories, home
        #: behind what was read last, by name of the log
        self.positions = dict(positions)
        self._sources: dict[str, _Source] = {}

    def read(self, most: int, ahead: int = 64) -> list[FollowedRecord]:
        """The next records, as many as there are, up to `most`, or MOST_CHARS of them."""
        found, room = list[FollowedRecord](), MOST_CHARS
        while len(found) < most and room > 0:
            for source in self._followed():
                if not source.waiting:
                    source.waiting.extend(source.follower.read(ahead))
            ready = [source for source in self._sources.values() if source.waiting]
            if not ready:
                break
            source = min(ready, key=lambda each: each.waiting[0].record.session)
            session = source.waiting[0].record.session
            while source.waiting and len(found) < most and source.waiting[0].record.session == session and room > 0:
                room -= source.waiting[0].chars
                record, position = source.waiting.popleft()
                self.positions[source.name] = position.file, position.records
                found.append(FollowedRecord(source.directory, record))
        return found

    def close(self) -> None:
        for source in self._sources.values():
            source.follower.close()

    def _followed(self) -> list[_Source]:
        for directory in self._directories:
            for log in directory.glob("state/*/log"):
                gatherer = log.parent.name
                name = gatherer if directory == self._home else f"{directory}:{gatherer}"
                if name not in self._sources:
                    kept = Position(*self.positions.get(name, (BEGINNING.file, BEGINNING.records)))
                    begin = min(kept, log_end(directory, gatherer, kept))
                    follower = RecordFollower(directory, gatherer, begin)
                    self._sources[name] = _Source(name, directory, follower, deque())
        return list(self._sources.values())


class Cursor:
    """A reader's position, in a file of 16 bytes that one system call replaces."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._fd = open_own(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            kept = os.pread(self._fd, _POSITION.size, 0)
        except OSError as error:
            raise store_error("open", file, error) from error
        self.position = Position(*_POSITION.unpack(kept)) if len(kept) == _POSITION.size else BEGINNING

    def keep(self, position: Position) -> None:
        """Everything before this position is dealt with."""
        self.position = position
        try:
            os.pwrite(self._fd, _POSITION.pack(position.file, position.records), 0)
        except OSError as error:
            raise store_error("write", self._file, error) from error

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
