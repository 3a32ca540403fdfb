"""A Parquet file, written group by group in pure Python: the format, and nothing of page records.

    "PAR1" · row groups · footer · length of the footer (4 bytes) · "PAR1"

A row group is one chunk per column, and a chunk is one data page: a header, then levels and plain values as one zstd
frame, with a checksum. The footer says where the chunks lie. Headers and footer are Thrift structs in its compact
protocol (https://parquet.apache.org/docs/file-format).

pyarrow writes the same, but its libraries take 42 MB of a gatherer's memory, and its start tens of milliseconds.

Invariant: no value is null, and what was written is read back by every reader of Parquet. A row group is as large as
the rows that are given at a time: the caller bounds them.
"""

import sys
from array import array
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import IO, Any, NamedTuple

import zstandard
from isal.isal_zlib import crc32

from gcs.version import __version__

#: of the levels that are as fast as the fastest, the one that packs best
_ZSTD_LEVEL = 2
_MAGIC = b"PAR1"
#: kinds of Thrift fields in the compact protocol
_TRUE, _FALSE, _BYTE, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 5, 6, 8, 9, 12
#: enumerations of the format
_BOOLEAN, _INT32, _INT64, _BYTE_ARRAY = 0, 1, 2, 6
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_PLAIN, _RLE, _ZSTD = 0, 3, 6
#: definition level of an element of a list: the list has it, and it is not null
_THERE = 2


class Kind(Enum):
    """What a column holds."""

    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    UINT64 = "uint64"
    #: microseconds since the epoch
    TIME = "time"
    TEXT = "text"
    #: a list of texts
    TEXTS = "texts"


class Column(NamedTuple):
    """A column of the file."""

    name: str
    kind: Kind


class ParquetWriter:
    """Writes row groups into an open file. `close` makes it a Parquet file."""

    def __init__(self, file: IO[bytes], columns: Sequence[Column]) -> None:
        self._file, self._columns = file, columns
        self._packer = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
        self._groups: list[bytes] = []
        self._rows, self._offset = 0, 0
        self._write(_MAGIC)

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write a row group. Texts are strings, or buffers of UTF-8. OverflowError: a number has no place."""
        chunks, plain, packed = [], 0, 0
        for column, values in zip(self._columns, zip(*rows)):
            page = _page(column.kind, values)
            data = self._packer.compress(page.data)
            header = _page_header(page, data)
            sizes = len(header) + len(page.data), len(header) + len(data)
            chunks.append(_chunk(column, page, self._offset, *sizes))
            plain, packed = plain + sizes[0], packed + sizes[1]
            self._write(header)
            self._write(data)
        group = ((1, _LIST, _list(_STRUCT, chunks)), _i64(2, plain), _i64(3, len(rows)), _i64(6, packed))
        self._groups.append(_struct(*group))
        self._rows += len(rows)

    def close(self) -> None:
        """Write the footer. The file stays open."""
        footer = _struct(
            _i32(1, 2),
            (2, _LIST, _list(_STRUCT, _schema(self._columns))),
            _i64(3, self._rows),
            (4, _LIST, _list(_STRUCT, self._groups)),
            _text(6, f"GCS version {__version__}"),
            (7, _LIST, _list(_STRUCT, [_struct((1, _STRUCT, _struct()))] * len(self._columns))),
        )
        self._write(footer + len(footer).to_bytes(4, "little") + _MAGIC)

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._offset += len(data)


# -- pages


class _Page(NamedTuple):
    """Levels and values of a chunk, not yet compressed."""

    data: bytes
    #: values; of a column of lists, their elements and the empty lists
    entries: int
    #: the least and the greatest number; nothing of other kinds
    bounds: tuple[bytes, bytes] | None = None


def _page(kind: Kind, values: Sequence[Any]) -> _Page:
    if kind is Kind.TEXT:
        return _Page(b"".join(_texts(values)), len(values))
    if kind is Kind.TEXTS:
        elements = list(chain.from_iterable(values))
        levels, entries = _levels(values)
        return _Page(b"".join((levels, *_texts(elements))), entries)
    if kind is Kind.BOOL:
        bits = "".join(["1" if value else "0" for value in reversed(values)])
        return _Page(int(bits, 2).to_bytes((len(values) + 7) // 8, "little"), len(values))
    code = {Kind.INT32: "i", Kind.UINT64: "Q"}.get(kind, "q")
    return _Page(_numbers(code, values), len(values), (_numbers(code, [min(values)]), _numbers(code, [max(values)])))


def _numbers(code: str, values: Sequence[int]) -> bytes:
    numbers = array(code, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


class _Lengths(dict[int, bytes]):
    """Length → its four bytes: most texts are short, and many equally long."""

    def __missing__(self, length: int) -> bytes:
        data = length.to_bytes(4, "little")
        if length < 1 << 12:
            self[length] = data
        return data


_LENGTHS = _Lengths()


def _texts(values: Sequence[Any]) -> Iterable[Any]:
    """Each text behind its length. The loops run in C: a page has a hundred links."""
    data = [value.encode() if type(value) is str else value for value in values]
    return chain.from_iterable(zip(map(_LENGTHS.__getitem__, map(len, data)), data))


def _levels(lists: Sequence[Sequence[str]]) -> tuple[bytes, int]:
    """Repetition and definition levels of lists, and how many of each."""
    repetition, definition, entries = bytearray(), bytearray(), 0
    for length in map(len, lists):
        repeated, defined = _levels_of(length)
        repetition += repeated
        definition += defined
        entries += length or 1
    return _leveled(repetition) + _leveled(definition), entries


@lru_cache(maxsize=4096)
def _levels_of(length: int) -> tuple[bytes, bytes]:
    """Of one list. Repetition: 0 where it begins, 1 where it goes on. Definition: what is there."""
    if not length:
        return _run(1, 0), _run(1, 0)
    return _run(1, 0) + (_run(length - 1, 1) if length > 1 else b""), _run(length, _THERE)


def _leveled(runs: bytes | bytearray) -> bytes:
    return len(runs).to_bytes(4, "little") + runs


def _run(count: int, level: int) -> bytes:
    return _varint(count << 1) + bytes((level,))


def _page_header(page: _Page, packed: bytes) -> bytes:
    sum_of_bits = crc32(packed)
    return _struct(
        _i32(1, 0),  # a data page
        _i32(2, len(page.data)),
        _i32(3, len(packed)),
        _i32(4, sum_of_bits - (sum_of_bits >> 31 << 32)),
        (5, _STRUCT, _struct(_i32(1, page.entries), _i32(2, _PLAIN), _i32(3, _RLE), _i32(4, _RLE))),
    )


# -- footer


def _chunk(column: Column, page: _Page, offset: int, plain: int, packed: int) -> bytes:
    path = (column.name, "list", "element") if column.kind is Kind.TEXTS else (column.name,)
    meta: tuple[_Field, ...] = (
        _i32(1, _physical(column.kind)),
        (2, _LIST, _list(_I32, [_zigzag(_PLAIN), _zigzag(_RLE)])),
        (3, _LIST, _list(_BINARY, [_binary(name.encode()) for name in path])),
        _i32(4, _ZSTD),
        _i64(5, page.entries),
        _i64(6, plain),
        _i64(7, packed),
        _i64(9, offset),
    )
    if page.bounds:
        least, greatest = map(_binary, page.bounds)
        meta += ((12, _STRUCT, _struct(_i64(3, 0), (5, _BINARY, greatest), (6, _BINARY, least))),)
    return _struct(_i64(2, offset), (3, _STRUCT, _struct(*meta)))


def _schema(columns: Sequence[Column]) -> list[bytes]:
    """The tree of the columns, its root first."""
    elements = [_struct(_text(4, "schema"), _i32(5, len(columns)))]
    for name, kind in columns:
        if kind is Kind.TEXTS:
            elements += [
                _struct(_i32(3, _REQUIRED), _text(4, name), _i32(5, 1), _i32(6, 3), _union(10, 3)),
                _struct(_i32(3, _REPEATED), _text(4, "list"), _i32(5, 1)),
                _struct(_i32(1, _BYTE_ARRAY), _i32(3, _OPTIONAL), _text(4, "element"), _i32(6, 0), _union(10, 1)),
            ]
        else:
            elements.append(_struct(_i32(1, _physical(kind)), _i32(3, _REQUIRED), _text(4, name), *_logical(kind)))
    return elements


def _physical(kind: Kind) -> int:
    return {Kind.BOOL: _BOOLEAN, Kind.INT32: _INT32, Kind.TEXT: _BYTE_ARRAY, Kind.TEXTS: _BYTE_ARRAY}.get(kind, _INT64)


def _logical(kind: Kind) -> tuple["_Field", ...]:
    """What a physical type stands for, in the words of older readers and of newer ones."""
    if kind is Kind.TEXT:
        return _i32(6, 0), _union(10, 1)
    if kind is Kind.UINT64:
        return _i32(6, 14), _union(10, 10, (1, _BYTE, b"\x40"), (2, _FALSE, b""))
    if kind is Kind.TIME:
        return _i32(6, 10), _union(10, 8, (1, _TRUE, b""), _union(2, 2))  # UTC, microseconds
    return ()


# -- Thrift's compact protocol

#: number, kind and encoded value of a field
_Field = tuple[int, int, bytes]


def _struct(*fields: _Field) -> bytes:
    data, before = bytearray(), 0
    for number, kind, value in fields:
        data.append((number - before) << 4 | kind)
        data += value
        before = number
    data.append(0)
    return bytes(data)


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    head = bytes((len(items) << 4 | kind,)) if len(items) < 15 else bytes((0xF0 | kind,)) + _varint(len(items))
    return b"".join((head, *items))


def _union(number: int, member: int, *fields: _Field) -> _Field:
    return number, _STRUCT, _struct((member, _STRUCT, _struct(*fields)))


def _i32(number: int, value: int) -> _Field:
    return number, _I32, _zigzag(value)


def _i64(number: int, value: int) -> _Field:
    return number, _I64, _zigzag(value)


def _text(number: int, value: str) -> _Field:
    return number, _BINARY, _binary(value.encode())


def _binary(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _zigzag(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)
