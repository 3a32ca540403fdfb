"""Transfers to a central place: only what has changed since the last one (Cho, section 1; P6 of papers.md).

    head     msgpack: which crawl, which transfer, and which one before it
    records  msgpack: gatherer, hash of the URL, check of the base, fields

Each has its length before it (4 bytes); a length of 0 ends all. All of it is one zstd stream. Of a URL that the place
knows, only the fields go that are others than in the record that the place has of it (its *base*). A long one goes as
zstd with the old one as dictionary, where that is short. A *summary* leaves out what an index does not need.

Both sides choose the same base: of the records of earlier transfers, the newest of the URL; a check says whether they
have. `gcs export --changed` writes a transfer; `gcs merge` applies it.

Invariant: transfers, applied one after the other, leave the rows of the crawl; one that does not follow is refused. A
transfer may be applied again. Bases lie in a file without a name, so memory does not grow with the crawl.
"""

import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import xxhash
import zstandard

from gcs.core.page.values import COLUMNS, DEFAULTS, PageRecord
from gcs.errors import DamagedError
from gcs.ports.records.layout import store_error, sync_directory
from gcs.ports.records.record_log import MAX_RECORD_BYTES, Position

LEVEL, WINDOW_LOG = 10, 23
#: what a summary leaves out
_LONG = frozenset(
    {"text", "markdown", "outlinks", "anchors", "rels", "requisites", "headers", "thumbnail", "usage_raw"}
)
#: fields of so many bytes may go as their difference, if that is so many times shorter than they are when compressed
_LONG_BYTES, _SHORT = 200, 2
_LENGTH = struct.Struct("<I")
digest = xxhash.xxh3_64_intdigest
#: where both sides note the last transfer, below `state`
NOTE = "transfer"


class TransferHead(msgspec.Struct, frozen=True):
    """How a transfer begins."""

    crawl: str
    id: str
    number: int
    #: id of the transfer before it; "" if there is none
    after: str = ""
    is_summary: bool = False
    #: all records since this session, whatever was sent before; 0: since the transfer before
    session: int = 0


class TransferNote(msgspec.Struct, frozen=True):
    """The last transfer, as both sides note it in `state/transfer`."""

    head: TransferHead
    #: at the sender: gatherer → what of its log is sent
    positions: dict[str, Position] = {}
    records: int = 0


class Item(msgspec.Struct, frozen=True, array_like=True):
    """One record: as it is, or as its difference from the base."""

    gatherer: str
    #: hash of its URL
    url: int
    #: check of the base; 0 without one
    base: int
    #: column → value; None: nothing; bytes: the difference from the base
    fields: dict[str, Any]


class Bases:
    """URL → the record that the central place has of it. Filled by `offer`, for the URLs that are wanted."""

    def __init__(self, wanted: set[int], is_summary: bool) -> None:
        self._wanted, self._is_summary = wanted, is_summary
        self._db = sqlite3.connect("")
        self._db.execute("CREATE TABLE base (url BLOB PRIMARY KEY, rank BLOB, row BLOB) WITHOUT ROWID")
        self._pack, self._unpack = zstandard.ZstdCompressor(1), zstandard.ZstdDecompressor()

    def offer(self, record: PageRecord) -> None:
        """The newest one stays."""
        if (url := digest(record.url.encode())) not in self._wanted:
            return
        rank = struct.pack(">qq", record.session, round(record.fetched_at * 1e6)) + record.gatherer.encode()
        self._db.execute(
            "INSERT INTO base VALUES (?, ?, ?) ON CONFLICT (url) DO UPDATE SET rank = excluded.rank, row = excluded.row"
            " WHERE excluded.rank >= rank",
            (url.to_bytes(8, "big"), rank, self._pack.compress(encoded(record, self._is_summary))),
        )

    def close(self) -> None:
        self._db.close()

    def get(self, url: int) -> bytes | None:
        found = self._db.execute("SELECT row FROM base WHERE url = ?", (url.to_bytes(8, "big"),)).fetchone()
        return self._unpack.decompress(found[0]) if found else None


def last_note(directory: Path) -> TransferNote | None:
    """The last transfer that this directory sent, or took in."""
    try:
        return msgspec.json.decode((directory / "state" / NOTE).read_bytes(), type=TransferNote)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise DamagedError(f"{directory / 'state' / NOTE} is damaged ({error}): delete it, and send all") from error


def keep_note(directory: Path, note: TransferNote) -> None:
    """Note the last transfer, durably."""
    target = directory / "state" / NOTE
    partial = target.with_name(f".{NOTE}.part")
    try:
        with partial.open("wb") as file:
            file.write(msgspec.json.encode(note))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
        sync_directory(target.parent)
    except OSError as error:
        raise store_error("write", target, error) from error


def end(stream: Any) -> None:
    """Nothing follows."""
    stream.write(_LENGTH.pack(0))


def put(stream: Any, item: msgspec.Struct) -> None:
    packed = msgspec.msgpack.encode(item)
    stream.write(_LENGTH.pack(len(packed)) + packed)


def check(row: bytes) -> int:
    """By which both sides know that they have the same base; never 0."""
    return xxhash.xxh32_intdigest(row) or 1


def encoded(record: PageRecord, is_summary: bool) -> bytes:
    """What is sent of a record: its columns, but for those that hold nothing. Times are whole microseconds."""
    values: dict[str, Any] = {}
    for name in COLUMNS:
        value = round(record.fetched_at * 1e6) if name == "fetched_at" else getattr(record, name)
        if value != DEFAULTS.get(name) and not (is_summary and name in _LONG):
            values[name] = value
    return msgspec.msgpack.encode(values)


def fields_of(row: bytes) -> dict[str, Any]:
    return msgspec.msgpack.decode(row, type=dict[str, Any])


def difference(row: bytes, base: bytes) -> dict[str, Any]:
    """The fields of a record that are others than in its base."""
    new, old = fields_of(row), fields_of(base)
    changed: dict[str, Any] = dict.fromkeys(name for name in old if name not in new)
    for name, value in new.items():
        before = old.get(name)
        if before != value:
            changed[name] = value if before is None else _shorter(value, before)
    return changed


def restored(changed: dict[str, Any], base: bytes) -> dict[str, Any]:
    """The fields of a record from those that are others than in its base."""
    fields = fields_of(base)
    for name, value in changed.items():
        if value is None:
            fields.pop(name, None)
        else:
            fields[name] = _whole(value, fields[name]) if isinstance(value, bytes) else value
    return fields


def _shorter(value: Any, before: Any) -> Any:
    """A long value as its difference, where that is short; else as it is, for the stream to compress."""
    whole = msgspec.msgpack.encode(value)
    if len(whole) < _LONG_BYTES:
        return value
    packed = zstandard.ZstdCompressor(LEVEL, _dictionary(before)).compress(whole)
    return packed if len(packed) < len(zstandard.ZstdCompressor(LEVEL).compress(whole)) / _SHORT else value


def _whole(packed: bytes, before: Any) -> Any:
    if zstandard.get_frame_parameters(packed).content_size > MAX_RECORD_BYTES:
        raise zstandard.ZstdError("it holds too much")
    return msgspec.msgpack.decode(zstandard.ZstdDecompressor(_dictionary(before)).decompress(packed))


def _dictionary(before: Any) -> Any:
    return zstandard.ZstdCompressionDict(msgspec.msgpack.encode(before), dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def record_of(fields: dict[str, Any]) -> PageRecord:
    fields["fetched_at"] /= 1e6
    known = DEFAULTS | {name: value for name, value in fields.items() if name in COLUMNS}
    return msgspec.convert([known[name] for name in PageRecord.__struct_fields__], PageRecord)


def items_of(file: BinaryIO) -> Iterator[bytes]:
    """The parts of a transfer, none longer than a record may be."""
    stream = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).stream_reader(file, closefd=False)
    while length := _LENGTH.unpack(stream.read(_LENGTH.size))[0]:
        if length > 2 * MAX_RECORD_BYTES or len(packed := stream.read(length)) != length:
            raise zstandard.ZstdError("it ends too soon, or holds too much")
        yield packed


def item_of(packed: bytes) -> Item:
    return msgspec.msgpack.decode(packed, type=Item)
