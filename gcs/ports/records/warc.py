"""WARC 1.1 records as bytes, written and read: one gzip member each (ISO 28500:2017).

Only the format: no names, no dates of its own. The block of a response is the answer as an
HTTP/1.1 message whose body is the payload as sent; headers that would contradict it (the transfer coding,
which the fetch engine removed, and a wrong length) are kept under X-GCS- names. HTTP/2 and 3 are written
as HTTP/1.1, as archives do, with the true protocol in WARC-Protocol.

Reading is for an index and for a check of wholeness: `members` says where each record lies and how it begins. Bodies
are inflated but not kept. A file may still grow: an unfinished member at its end is as if it were not there.

Invariant: every record is whole by itself: its lengths and digests are those of its block.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from http import HTTPStatus
from typing import BinaryIO, NamedTuple
from uuid import uuid4

from isal import igzip_lib, isal_zlib

from gcs.core.page.values import Response
from gcs.errors import CodecError

_GZIP, _BARE = 31, -15  # zlib's wbits for one gzip member, and for its inside alone
#: how a gzip member begins that says nothing of its file
_GZIP_HEAD = bytes((31, 139, 8, 0, 0, 0, 0, 0, 0, 255))
#: for less than a kilobyte, ISA-L's second level takes less time than its first
_HEAD_LEVEL = 2
#: bytes of a block that is stored as it is
_STORED_BYTES = 0xFFFF
#: two letters of base 32 at a time
_BASE32 = [one + other for one in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"]
_IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
#: records that hold what was cut short
_WITH_BODY = ("response", "resource")
_PROTOCOLS = {"2": "h2", "2.0": "h2", "3": "h3", "3.0": "h3"}
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_TOKEN = re.compile(r"[A-Za-z0-9-]+").fullmatch
_RECORD_END = b"\r\n\r\n"
#: of the headers of a 304, as many characters as this are kept
_ANSWER_CHARS = 1 << 14
#: bytes that are read at a time
_READ_BYTES = 1 << 15
#: WARC and HTTP headers are in here, or they are not looked at
_HEAD_BYTES = 1 << 16


#: bytes, or a part of them
Buffer = bytes | memoryview


class Original(NamedTuple):
    """The response record that holds a payload in full."""

    url: str
    fetched_at: float


def warcinfo(file_name: str, at: float, fields: dict[str, str], level: int) -> bytes:
    """The first record of a file: who made it and how."""
    block = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in fields.items()).encode()
    head = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: {record_id()}\r\nWARC-Date: {warc_date(at)}\r\n"
        f"WARC-Filename: {file_name}\r\nContent-Type: application/warc-fields\r\n"
    )
    return _member(head, block, b"", level)


def request(response: Response, response_id: str, level: int) -> bytes:
    """The request to which this is the response."""
    block = response.request_head
    if not block.endswith(b"\r\n\r\n"):
        block = block.rstrip(b"\r\n") + b"\r\n\r\n"
    head = (
        _common("request", response, record_id()) + f"WARC-Concurrent-To: {response_id}\r\n"
        "Content-Type: application/http;msgtype=request\r\n"
    )
    return _member(head, block, b"", level and max(level, _HEAD_LEVEL))


def response(response: Response, response_id: str, payload_digest: str, level: int) -> list[Buffer]:
    """The answer in full, in pieces; where no HTTP was spoken (a file, a row, an article), the content alone.

    A body that is packed already goes into the record as it is.
    """
    if not response.http_version:
        head = (
            _common("resource", response, response_id) + f"WARC-Payload-Digest: {payload_digest}\r\n"
            f"Content-Type: {response.header('content-type') or 'application/octet-stream'}\r\n"
        )
        return [_member(head, b"", response.body, level)]
    head = (
        _common("response", response, response_id) + f"WARC-Payload-Digest: {payload_digest}\r\n"
        "Content-Type: application/http;msgtype=response\r\n"
    )
    if response.header("content-encoding") is None:
        return [_member(head, http_head(response), response.body, level)]
    block = http_head(response)
    return _partly_stored(_headed(head, block, response.body), response.body, level)


def revisit(response: Response, response_id: str, payload_digest: str, original: Original, level: int) -> bytes:
    """The head of the answer alone: its payload is that of an earlier record.

    Of a 304 the payload digest may be unknown (""), and the date of the original (0). Its record has no block (WARC
    1.1, 6.7): then replay tools show the original, head and payload, where with a 304 they would show nothing. What
    the server said stands in the record's own headers.
    """
    not_modified = response.status == HTTPStatus.NOT_MODIFIED
    head = _common("revisit", response, response_id) + (
        f"WARC-Profile: {_NOT_MODIFIED if not_modified else _IDENTICAL_PAYLOAD}\r\n"
        f"WARC-Refers-To-Target-URI: {original.url}\r\nContent-Type: application/http;msgtype=response\r\n"
    )
    if original.fetched_at:
        head += f"WARC-Refers-To-Date: {warc_date(original.fetched_at)}\r\n"
    if payload_digest:
        head += f"WARC-Payload-Digest: {payload_digest}\r\n"
    if not_modified:
        return _member(head + "".join(_answer_fields(response)), b"", b"", level)
    return _member(head, http_head(response), b"", level)


def _answer_fields(response: Response) -> Iterator[str]:
    """The answer as WARC headers."""
    yield f"X-GCS-Answer: {response.status} {_one_line(response.reason)}".rstrip() + "\r\n"
    room = _ANSWER_CHARS
    for name, value in response.headers:
        room -= len(name) + len(value)
        if room < 0:
            break
        if _TOKEN(name):
            yield f"X-GCS-Answer-{name}: {_one_line(value)}\r\n"


def http_head(response: Response) -> bytes:
    """Status line and headers as an HTTP/1 message that agrees with the stored body."""
    version = "1.0" if response.http_version == "1.0" else "1.1"
    status = response.status
    lines = [f"HTTP/{version} {status} {response.reason or _PHRASES.get(status, 'Unknown')}"]
    for name, value in response.headers:
        lower = name.lower()
        if lower == "transfer-encoding" or (lower == "content-length" and _disagrees(value, response)):
            name = "X-GCS-" + name
        lines.append(f"{name}: {value}")
    text = "\r\n".join(lines)
    if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
        text = "\r\n".join(map(_one_line, lines))
    text += "\r\n\r\n"
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


def payload_digest(body: bytes) -> str:
    """The name of a payload, sha1:BASE32."""
    return _digest_text(sha1(body, usedforsecurity=False).digest())


@lru_cache(maxsize=2)  # a request and its response have the same
def warc_date(at: float) -> str:
    """2026-01-31T12:00:00.000000Z: always six digits, since readers take the fraction for microseconds.

    Rounded as the summaries round it, so that a record found there names the same date.
    """
    return datetime.fromtimestamp(round(at * 1e6) / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def record_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def _common(kind: str, response: Response, this_id: str) -> str:
    protocol = _PROTOCOLS.get(response.http_version)
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {this_id}\r\n"
        f"WARC-Date: {warc_date(response.started_at)}\r\nWARC-Target-URI: {response.request.url}\r\n"
        + (f"WARC-IP-Address: {response.ip}\r\n" if response.ip else "")
        + (f"WARC-Protocol: {protocol}\r\n" if protocol else "")
        + (f"WARC-Truncated: {response.truncated}\r\n" if response.truncated and kind in _WITH_BODY else "")
    )


def _member(head: str, block: bytes, body: bytes, level: int) -> bytes:
    """A record as one gzip member."""
    compressed: bytes = isal_zlib.compress(b"".join((_headed(head, block, body), body, _RECORD_END)), level, _GZIP)
    return compressed


def _headed(head: str, block: bytes, body: bytes) -> bytes:
    """A record up to its body."""
    digest = sha1(block, usedforsecurity=False)
    digest.update(body)
    text = _digest_text(digest.digest())
    head += f"WARC-Block-Digest: {text}\r\nContent-Length: {len(block) + len(body)}\r\n\r\n"
    return head.encode() + block


def _partly_stored(beginning: bytes, body: bytes, level: int) -> list[Buffer]:
    """One gzip member of the record, its beginning compressed and its body not."""
    deflater = isal_zlib.compressobj(level and max(level, _HEAD_LEVEL), isal_zlib.DEFLATED, _BARE)
    pieces: list[Buffer] = [_GZIP_HEAD + deflater.compress(beginning) + deflater.flush(isal_zlib.Z_SYNC_FLUSH)]
    whole = memoryview(body)
    for start in range(0, len(body), _STORED_BYTES):
        pieces += _stored(whole[start : start + _STORED_BYTES])
    pieces += _stored(_RECORD_END, is_last=True)
    check = isal_zlib.crc32(_RECORD_END, isal_zlib.crc32(body, isal_zlib.crc32(beginning)))
    length = len(beginning) + len(body) + len(_RECORD_END)
    pieces.append(check.to_bytes(4, "little") + (length & 0xFFFFFFFF).to_bytes(4, "little"))
    return pieces


def _stored(data: Buffer, *, is_last: bool = False) -> tuple[Buffer, Buffer]:
    """The head of a stored block (RFC 1951, 3.2.4), and the block."""
    size = len(data)
    return bytes((is_last,)) + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little"), data


def _digest_text(digest: bytes) -> str:
    number = int.from_bytes(digest, "big")
    return "sha1:" + "".join([_BASE32[number >> shift & 0x3FF] for shift in range(150, -1, -10)])


def _disagrees(length: str, response: Response) -> bool:
    # a 304 has no body by definition: its length is that of the copy it confirms
    return response.status != HTTPStatus.NOT_MODIFIED and length.strip() != str(len(response.body))


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


# -- reading


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
        inflater = isal_zlib.decompressobj(wbits=_GZIP)
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
