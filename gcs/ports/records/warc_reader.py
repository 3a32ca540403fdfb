"""Reads WARC files member by member: where each record lies, and how it begins.

Only what an index and a check of wholeness need; a record's body is inflated but not kept. Memory is bounded
by the size of a read. A file may still grow: an unfinished member at its end is as if it were not there.
"""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from isal import igzip_lib, isal_zlib

from gcs.errors import CodecError

_READ_BYTES = 1 << 15
#: WARC and HTTP headers are in here, or they are not looked at
_HEAD_BYTES = 1 << 16


class WarcMember(NamedTuple):
    """One gzip member: one WARC record."""

    offset: int
    size_bytes: int
    #: the beginning of the record
    head: bytes


def members(file: BinaryIO, offset: int = 0) -> Iterator[WarcMember]:
    """The whole members of a file from an offset where one begins; CodecError at damage."""
    file.seek(offset)
    data = file.read(_READ_BYTES)
    while data:
        start, head = offset, b""
        inflater = isal_zlib.decompressobj(wbits=31)
        while not inflater.eof:
            data = data or file.read(_READ_BYTES)
            if not data:
                return
            try:
                out = inflater.decompress(data)
            except igzip_lib.IsalError as error:  # type: ignore[misc]  # its stub forgets that it is a class
                raise CodecError(f"{getattr(file, 'name', file)} is damaged at byte {start}: {error}") from error
            head += out[: _HEAD_BYTES - len(head)]
            offset += len(data) - len(inflater.unused_data)
            data = inflater.unused_data
        yield WarcMember(start, offset - start, head)
        data = data or file.read(_READ_BYTES)


class WarcHead(NamedTuple):
    """The first line of a block of headers, and the headers by lower-case name (the first of each)."""

    line: str
    fields: dict[str, str]


def heads(record: bytes) -> tuple[WarcHead, WarcHead]:
    """The WARC head and the HTTP head of a record (the latter empty where the block is no HTTP message)."""
    warc, _, block = record.partition(b"\r\n\r\n")
    http = block.partition(b"\r\n\r\n")[0] if block.startswith(b"HTTP/") else b""
    return _head(warc, "utf-8"), _head(http, "latin-1")


def _head(data: bytes, encoding: str) -> WarcHead:
    line, *rest = data.decode(encoding, "replace").split("\r\n")
    fields: dict[str, str] = {}
    for text in rest:
        name, _, value = text.partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    return WarcHead(line, fields)
