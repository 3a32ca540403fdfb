"""The record log: the truth about what a gatherer has stored. Its format, and how it is read (`LogFile` writes it).

A directory of files 000001.log, 000002.log, …; only the last one grows. A file is a row of frames:

    length of the payload (4 bytes, little-endian) · CRC-32 of the payload (4 bytes) · payload
    payload = kind (1 byte) + msgpack

    O  Opened      first frame of every file: what the store looked like when the file began
    P  PageRecord  a page that counts, or a URL that ended without one
    F  Fetched     an HTTP exchange in the WARC that is no page (robots.txt, a hop)
    S  Synced      everything before this frame, and the WARC bytes it names, are on the disk

Bytes that are no whole frame are a *gap*. A reader goes on at the next whole frame behind a gap: one damaged byte costs
one record. A crash leaves a gap at the end of the file only.

Invariant: a frame is written only after the WARC bytes that it names. It must not be edited, only cut at
its end (`recovery`) or replaced as a whole file by its Parquet form (`parquet`).
"""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import msgspec
from isal.isal_zlib import crc32

from gcs.core.page.values import COLUMNS, DEFAULTS, PageRecord
from gcs.errors import CodecError
from gcs.events import Events
from gcs.ports.records.layout import store_error

VERSION = 1
#: columns that every record has: those of the first version
_REQUIRED = frozenset(COLUMNS[: COLUMNS.index("noindex")])
#: length of the payload and its checksum
FRAME_HEAD = struct.Struct("<II")
#: no frame is longer; a greater length is damage, so that none is written
MAX_FRAME_BYTES = 1 << 30
#: a longer record is written without its links and its text; those of a page have bounds far below
MAX_RECORD_BYTES = 64 << 20
#: how payloads begin: kind, and the head of a msgpack array. No text holds these bytes, because they are not UTF-8; so
#: the content of a page is never taken for a frame
_BEGINNINGS = re.compile(rb"P\xdc|F\x94|O\x95|(?<=\x01\0\0\0\xc3\xef\x60\x20)S")

events = Events("records")
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


#: before the first record
BEGINNING = Position()


class Frame(NamedTuple):
    """A whole, valid frame and where it lies."""

    kind: bytes
    body: bytes
    start: int
    end: int


_fetched_decoder = msgspec.msgpack.Decoder(Fetched)
_opened_decoder = msgspec.msgpack.Decoder(Opened)


def frames(path: Path) -> Iterator[Frame]:
    """The whole frames of a log file, in order. Where one does not begin at the end of the last one, there is a gap."""
    try:
        with path.open("rb") as file:
            yield from frames_of(file)
    except OSError as error:
        raise store_error("read", path, error) from error


def frames_of(file: BinaryIO, start: int = 0) -> Iterator[Frame]:
    """The frames of an open log file, from the byte where a frame begins; the file may still grow."""
    file.seek(start)
    while len(head := file.read(FRAME_HEAD.size)) == FRAME_HEAD.size:
        length, crc = FRAME_HEAD.unpack(head)
        kind, body = (file.read(1), file.read(length - 1)) if 0 < length <= MAX_FRAME_BYTES else (b"", b"")
        if not kind or len(body) < length - 1 or crc32(body, crc32(kind)) != crc:
            file.seek(start)
            yield from _behind_damage(file.read(), start)
            return
        end = start + FRAME_HEAD.size + length
        yield Frame(kind, body, start, end)
        start = end


def _behind_damage(data: bytes, offset: int) -> Iterator[Frame]:
    """The whole frames in bytes that do not begin with one; the bytes lie at this offset."""
    at = 0
    for found in _BEGINNINGS.finditer(data):
        begin = found.start()
        if begin - FRAME_HEAD.size < at:
            continue
        length, crc = FRAME_HEAD.unpack_from(data, begin - FRAME_HEAD.size)
        end = begin + length
        if end <= len(data) and crc32(payload := data[begin:end]) == crc:
            yield Frame(payload[:1], payload[1:], offset + begin - FRAME_HEAD.size, offset + end)
            at = end


def encoded_frame(kind: bytes, body: bytes) -> bytes:
    return frame_head(kind, body) + body


def frame_head(kind: bytes, body: bytes) -> bytes:
    """What stands before the body."""
    return FRAME_HEAD.pack(len(body) + 1, crc32(body, crc32(kind))) + kind


class LogReading:
    """One way through a log file: its whole frames, and when they are read, how many gaps there were."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: places at which the file is damaged: those behind which a whole frame lies, and the end
        self.gaps = 0

    def frames(self) -> Iterator[Frame]:
        end = 0
        for frame in frames(self._path):
            self.gaps += frame.start != end
            end = frame.end
            yield frame
        self.gaps += self._path.stat().st_size > end


def gaps(path: Path) -> int:
    """The places at which a log file is damaged."""
    log = LogReading(path)
    for _ in log.frames():
        pass
    return log.gaps


def pages(path: Path, skip: int = 0) -> Iterator[PageRecord]:
    """The page records of a log file, in order, without the first `skip`."""
    for frame in frames(path):
        if frame.kind == PAGE:
            if skip:
                skip -= 1
            else:
                yield page_of(frame)


def rows(path: Path, fields: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The chosen fields of the page records of a log file, in order; the others are not read. Warns of gaps."""
    decoder = _row_decoder(tuple(fields))
    values = attrgetter(*fields) if len(fields) > 1 else lambda row: (getattr(row, fields[0]),)
    end = 0
    for frame in frames(path):
        if frame.start != end:
            events.warning("log-damaged", file=path, at_byte=end, advice="see gcs verify")
        end = frame.end
        if frame.kind == PAGE:
            yield values(_decode(decoder, frame))


def row_decoder(fields: tuple[str, ...]) -> Callable[[Frame], Any]:
    """Decodes page records to values with these fields; the others, as far as the last of these, stay raw msgpack."""
    return partial(_decode, _row_decoder(fields))


@cache
def _row_decoder(fields: tuple[str, ...]) -> msgspec.msgpack.Decoder[Any]:
    """Decodes a page record as far as the last of the fields. Columns at the end may be missing in an older log."""
    known = {field.name: field for field in msgspec.structs.fields(PageRecord)}
    last = max(map(COLUMNS.index, fields))
    row: list[Any] = []
    for name in COLUMNS[: last + 1]:
        kind = known[name].type if name in fields else msgspec.Raw
        default = () if name in _REQUIRED else (DEFAULTS[name] if name in fields else msgspec.Raw(),)
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
