"""Content codings: from the body as sent to the bytes of the page, never past a limit.

As lenient as browsers are: a stream cut short gives what it held, bytes after its end and a wrong check sum
are overlooked, `deflate` may lack its zlib wrapper, and misplaced words (a charset, `chunked`) count as no coding.
A damaged stream and an unknown coding are errors.

Invariant: memory stays within the limit plus the body, whatever the body unfolds to.
"""

from collections.abc import Callable
from typing import cast

from isal import isal_zlib

from gcs.core.page.values import FailureKind
from gcs.errors import CodecError

#: what engines offer. Brotli and zstd are decoded where their library is installed, but not asked for
ACCEPT_ENCODING = "gzip, deflate"

#: said in Content-Encoding by real servers, meaning nothing
_NO_CODING = frozenset(
    ("", "identity", "none", "null", "utf-8", "utf8", "iso-8859-1", "binary", "8bit", "chunked", "aws-chunked")
)
#: a stack of codings higher than this is an attack
_MAX_CODINGS = 3
#: gzip members after the first are read in slices, so that a body of many tiny ones does not cost its square
_SLICE_BYTES = 1 << 16
_MAX_MEMBERS = 10_000
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW = 31, 15, -15  # wbits
_StreamError = cast(type[Exception], isal_zlib.error)  # which its stub types as an instance


class ContentError(CodecError):
    """The body cannot be decoded; `kind` says whether it is too large or damaged."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def decode(body: bytes, coding: str, limit_bytes: int) -> bytes:
    """The body with its Content-Encoding removed; the same object where there is nothing to remove."""
    names = [name for part in coding.split(",") if (name := part.strip().lower()) not in _NO_CODING]
    if len(names) > _MAX_CODINGS:
        raise ContentError(FailureKind.ENCODING, f"the answer has {len(names)} content codings: {coding[:80]!r}")
    for name in reversed(names):
        if not body:
            break
        unfold = _DECODERS.get(name)
        if unfold is None:
            raise ContentError(FailureKind.ENCODING, f"the answer has an unknown content coding: {name[:40]!r}")
        body = unfold(body, limit_bytes)
    if len(body) > limit_bytes:
        raise _too_large(limit_bytes)
    return body


def _gzip(body: bytes, limit_bytes: int) -> bytes:
    first, rest = _inflate(body, _GZIP, limit_bytes)
    if rest[:2] != _GZIP_MAGIC:
        return first
    pieces, room = [first], limit_bytes - len(first)
    stream = isal_zlib.decompressobj(wbits=_GZIP)
    members = 1
    for start in range(0, len(rest), _SLICE_BYTES):
        data = rest[start : start + _SLICE_BYTES]
        while data:
            try:
                piece = stream.decompress(data, room + 1)
            except _StreamError:  # garbage after a whole member
                return b"".join(pieces)
            room -= len(piece)
            if room < 0:
                raise _too_large(limit_bytes)
            pieces.append(piece)
            data = stream.unused_data
            if stream.eof:
                members += 1
                if members > _MAX_MEMBERS:
                    raise ContentError(FailureKind.ENCODING, f"the gzip answer has over {_MAX_MEMBERS} members")
                stream = isal_zlib.decompressobj(wbits=_GZIP)
    return b"".join(pieces)


def _deflate(body: bytes, limit_bytes: int) -> bytes:
    # RFC 9110 means the zlib format (its first two bytes are a multiple of 31); some servers send the bare stream
    wrapped = body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _inflate(body, _ZLIB if wrapped else _RAW, limit_bytes)[0]


def _inflate(body: bytes, wbits: int, limit_bytes: int) -> tuple[bytes, bytes]:
    """The first stream of the body, and what follows it."""
    stream = isal_zlib.decompressobj(wbits=wbits)
    try:
        content: bytes = stream.decompress(body, limit_bytes + 1)
    except _StreamError:
        # perhaps only the check sum at the end is wrong: without it, it is not looked at
        stream = isal_zlib.decompressobj(wbits=wbits)
        try:
            content = stream.decompress(body[: -8 if wbits == _GZIP else -4], limit_bytes + 1)
        except _StreamError as error:
            raise ContentError(FailureKind.ENCODING, f"the compressed answer is damaged ({error})") from error
    if len(content) > limit_bytes:
        raise _too_large(limit_bytes)
    if not content and not stream.eof:
        raise ContentError(FailureKind.ENCODING, "the compressed answer ends before its first byte")
    return content, stream.unused_data


def _brotli(body: bytes, limit_bytes: int) -> bytes:
    try:
        import brotli  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise ContentError(FailureKind.ENCODING, "the answer is in brotli, and no brotli library is here") from None
    try:
        content: bytes = brotli.Decompressor().process(body, output_buffer_limit=limit_bytes + 1)
    except TypeError:  # before 1.2 there is no limit: a bomb could not be stopped
        raise ContentError(FailureKind.ENCODING, "the answer is in brotli; that needs brotli 1.2 or later") from None
    except brotli.error as error:
        raise ContentError(FailureKind.ENCODING, f"the brotli answer is damaged ({error})") from error
    return content


def _zstd(body: bytes, limit_bytes: int) -> bytes:
    try:
        import zstandard  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ContentError(FailureKind.ENCODING, "the answer is in zstd, and no zstandard library is here") from None
    try:
        # 8 MB is the window that RFC 9659 allows on the web
        reader = zstandard.ZstdDecompressor(max_window_size=8 << 20).stream_reader(body, read_across_frames=True)
        content: bytes = reader.read(limit_bytes + 1)
    except zstandard.ZstdError as error:
        raise ContentError(FailureKind.ENCODING, f"the zstd answer is damaged ({error})") from error
    return content


def _too_large(limit_bytes: int) -> ContentError:
    return ContentError(FailureKind.TOO_LARGE, f"the answer unfolds to more than {limit_bytes:,} bytes")


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "x-deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
