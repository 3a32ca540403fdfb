"""The record log: the truth about what a gatherer has stored.

A directory of files 000001.log, 000002.log, …; only the last one grows. A file is a row of frames:

    length of the payload (4 bytes, little-endian) · CRC-32 of the payload (4 bytes) · payload
    payload = kind (1 byte) + msgpack

    O  Opened      first frame of every file: what the store looked like when the file began
    P  PageRecord  a page that counts, or a URL that ended without one
    F  Fetched     an HTTP exchange in the WARC that is no page (robots.txt, a hop)
    S  Synced      everything before this frame, and the WARC bytes it names, are on the disk

Invariant: a frame is written only after the WARC bytes that it names. It must not be edited, only cut at
its end (`recovery`) or replaced as a whole file by its Parquet form (`summaries`).
"""

import struct
from collections.abc import Iterator, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import msgspec
from isal.isal_zlib import crc32

from gcs.core.page.values import COLUMNS, PageRecord
from gcs.errors import CodecError
from gcs.ports.records.append_file import AppendFile, store_error, sync_directory

VERSION = 1
#: columns that every record has: those of the first version
_REQUIRED = frozenset(COLUMNS[: COLUMNS.index("noindex")])
_HEAD = struct.Struct("<II")
#: no frame is longer; a greater length is damage
_MAX_FRAME_BYTES = 1 << 30

_T = TypeVar("_T")

OPENED, PAGE, FETCHED, SYNCED = b"O", b"P", b"F", b"S"


class Opened(msgspec.Struct, frozen=True, array_like=True):
    """The state at the beginning of a log file, so that older files are not needed to go on."""

    version: int
    gatherer: str
    #: the WARC file in use and its length, "" and 0 where there was none
    warc_file: str
    warc_end: int
    #: serial number of the newest WARC file then; a later one that no frame names is an orphan
    warc_serial: int


class Fetched(msgspec.Struct, frozen=True, array_like=True):
    """An exchange that is in the WARC, but is no page. Its place counts as used."""

    url: str
    warc_file: str
    warc_offset: int
    warc_bytes: int


class Position(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A point in the record log: after `records` page records of file number `file`.

    Counted in records, not in bytes, so that it still holds when the file has become Parquet.
    """

    file: int = 1
    records: int = 0


class Frame(NamedTuple):
    """A whole, valid frame and where it lies."""

    kind: bytes
    body: bytes
    start: int
    end: int


_encoder = msgspec.msgpack.Encoder()
_columns_of = attrgetter(*COLUMNS)
_fetched_decoder = msgspec.msgpack.Decoder(Fetched)
_opened_decoder = msgspec.msgpack.Decoder(Opened)


class LogFile:
    """The growing end of the log: one file, opened behind its last whole frame."""

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

    def append_record(self, record: PageRecord) -> None:
        try:
            body = _encoder.encode(_columns_of(record))
        except UnicodeEncodeError:  # a lone surrogate from a page's JSON or a browser
            body = _encoder.encode([_without_surrogates(value) for value in _columns_of(record)])
        self.append(PAGE, body)
        self.records += 1

    def fetched(self, fetched: Fetched) -> None:
        """Append an exchange that is no page."""
        self.append(FETCHED, _encoder.encode(fetched))

    def sync(self) -> None:
        """Write everything and a mark; the WARC must be synced already."""
        self.append(SYNCED, b"")
        self.file.sync()

    def append(self, kind: bytes, body: bytes) -> None:
        crc = crc32(body, crc32(kind))
        self.file.append(b"".join((_HEAD.pack(len(body) + 1, crc), kind, body)))

    @property
    def position(self) -> Position:
        """Behind everything appended so far."""
        return Position(self.number, self.records)


def frames(path: Path) -> Iterator[Frame]:
    """The whole, valid frames of a log file up to the first one that is not."""
    try:
        with path.open("rb") as file:
            yield from _frames(file)
    except OSError as error:
        raise store_error("read", path, error) from error


def _frames(file: BinaryIO) -> Iterator[Frame]:
    start = 0
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        length, crc = _HEAD.unpack(head)
        if not 0 < length <= _MAX_FRAME_BYTES:
            return
        payload = file.read(length)
        if len(payload) < length or crc32(payload) != crc:
            return
        end = start + _HEAD.size + length
        yield Frame(payload[:1], payload[1:], start, end)
        start = end


def pages(path: Path, skip: int = 0) -> Iterator[PageRecord]:
    """The page records of a log file, in order, without the first `skip`."""
    for frame in frames(path):
        if frame.kind == PAGE:
            if skip:
                skip -= 1
            else:
                yield page_of(frame)


def rows(path: Path, fields: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The chosen fields of the page records of a log file, in order; the others are not read."""
    decoder = _row_decoder(tuple(fields))
    values = attrgetter(*fields) if len(fields) > 1 else lambda row: (getattr(row, fields[0]),)
    return (values(_decode(decoder, frame)) for frame in frames(path) if frame.kind == PAGE)


@cache
def _row_decoder(fields: tuple[str, ...]) -> msgspec.msgpack.Decoder[Any]:
    """Decodes a page record as far as the last of the fields. Columns at the end may be missing in an older log."""
    known = {field.name: field for field in msgspec.structs.fields(PageRecord)}
    last = max(map(COLUMNS.index, fields))
    row: list[Any] = []
    for name in COLUMNS[: last + 1]:
        kind = known[name].type if name in fields else msgspec.Raw
        default = () if name in _REQUIRED else (known[name].default if name in fields else msgspec.Raw(),)
        row.append((name, kind, *default))
    return msgspec.msgpack.Decoder(msgspec.defstruct("Row", row, array_like=True))


def page_of(frame: Frame) -> PageRecord:
    return PageRecord(**msgspec.structs.asdict(_decode(_row_decoder(COLUMNS), frame)))


def exchange_of(frame: Frame) -> PageRecord | Fetched | None:
    """What names the place of an exchange in the WARC; None for a frame of another kind."""
    if frame.kind == PAGE:
        return page_of(frame)
    return _decode(_fetched_decoder, frame) if frame.kind == FETCHED else None


def opened_of(frame: Frame) -> Opened:
    opened = _decode(_opened_decoder, frame)
    if opened.version != VERSION:
        raise CodecError(f"record log version {opened.version} is unknown; this GCS reads version {VERSION}")
    return opened


def _decode(decoder: msgspec.msgpack.Decoder[_T], frame: Frame) -> _T:
    try:
        return decoder.decode(frame.body)
    except msgspec.DecodeError as error:  # the checksum holds, so another program version wrote it
        raise CodecError(f"record log frame at byte {frame.start} is not understood: {error}") from error


def file_name(number: int) -> str:
    """000001.log"""
    return f"{number:06d}.log"


def log_numbers(directory: Path) -> list[int]:
    """The numbers of the log files in a directory, ascending."""
    return sorted(int(path.stem) for path in directory.glob("*.log") if path.stem.isdecimal())


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value
