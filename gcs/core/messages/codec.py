"""Tuples and values of the core as bytes.

A tuple (`encode`, `decode`): one byte for the type, one for its version, then the fields as a MessagePack array. An
array that is not short is deflated if that makes it smaller, and the top bit of the version says so. A block of URLs
shrinks to a third or a fourth; the time that this takes is won back in sockets, scripts and the append-only file.
Fields that a newer writer added at the end are skipped, missing ones with a default are filled in. Another
version is an UnknownVersionError: the whiteboard leaves such a tuple for a program that can read it. Another type or
damage is a CodecError that says which: such a tuple is set aside.

Any other value, such as a plan (`pack`, `unpack`): one byte for the version, then its MessagePack, compressed.

Invariant: decode(encode(t)) == t for every tuple.
"""

import hashlib
import zlib
from typing import Any, TypeVar, cast

import msgspec
from isal import isal_zlib

from gcs.core.messages.tuples import TUPLES, Tuple
from gcs.errors import CodecError, UnknownVersionError

T = TypeVar("T")

#: shorter arrays are left as they are
DEFLATE_BYTES = 1000
DEFLATED = 0x80
#: of isal: the fastest, which is 2 to 3 times faster than zlib's and nearly as small
LEVEL = 0
#: the most that a tuple may hold: bodies of pages and blocks of URLs are bounded far below
MOST_BYTES = 256 << 20
#: no header of zlib: only GCS reads the format
WINDOW_BITS = -15

_encode = msgspec.msgpack.Encoder().encode
_compress = isal_zlib.compress
_DAMAGED = cast("type[Exception]", isal_zlib.error)  # its stub takes the class for an instance
_headers = {kind: (bytes((kind.code, kind.version)), bytes((kind.code, kind.version | DEFLATED))) for kind in TUPLES}
_decoders: dict[bytes, msgspec.msgpack.Decoder[Any]] = {
    header: msgspec.msgpack.Decoder(kind) for kind, headers in _headers.items() for header in headers
}
_names = {kind.code: kind.name for kind in TUPLES}
#: tells programs apart that can read different tuples
DIALECT = hashlib.sha256(b"".join(sorted(_decoders))).hexdigest()[:8]


def encode(item: Tuple) -> bytes:
    plain, deflated = _headers[type(item)]
    body = _encode(item)
    if len(body) > DEFLATE_BYTES:
        small = _compress(body, LEVEL, WINDOW_BITS)
        if len(small) < len(body):
            return deflated + small
    return plain + body


def decode(data: bytes) -> Tuple:
    """The tuple in these bytes; CodecError where this program cannot read them."""
    decoder = _decoders.get(data[:2])
    if decoder is None:
        raise _unknown(data)
    body = memoryview(data)[2:]
    try:
        item: Tuple = decoder.decode(_inflated(body) if data[1] & DEFLATED else body)
    except (msgspec.DecodeError, _DAMAGED, ValueError, RecursionError) as error:
        raise CodecError(f"damaged {_names[data[0]]} tuple: {error}") from error
    return item


def decode_as(kind: type[Tuple], data: bytes) -> Tuple:
    """As `decode`, from a place where only tuples of this type are."""
    if data[:1] != bytes((kind.code,)):
        raise CodecError(f"no {kind.name} tuple: {len(data)} bytes that begin with {data[:1].hex() or 'nothing'}")
    return decode(data)


def _inflated(body: memoryview) -> bytes:
    """Decompress, but not without limit: a few bytes of a stranger may stand for gigabytes."""
    stream = isal_zlib.decompressobj(WINDOW_BITS)
    content: bytes = stream.decompress(body, MOST_BYTES)
    if not stream.eof:
        raise ValueError("it is cut off, or holds too much")
    return content


def _unknown(data: bytes) -> CodecError:
    if len(data) < 2:
        return CodecError(f"no tuple: {len(data)} bytes")
    name = _names.get(data[0])
    if name is None:
        return UnknownVersionError(f"unknown tuple type {data[0]}: written by a newer version of GCS?")
    version = data[1] & ~DEFLATED
    return UnknownVersionError(f"{name} tuple of unknown version {version}: written by another version of GCS?")


def pack(version: int, value: object) -> bytes:
    # a quarter of the time that level 6 takes, for a quarter more of bytes
    return bytes((version,)) + zlib.compress(msgspec.msgpack.encode(value), 1)


def unpack(kind: type[T], version: int, data: bytes) -> T:
    """The value in these bytes; CodecError where this program cannot read them."""
    if data[:1] != bytes((version,)):
        held = f"version {data[0]}" if data else "no bytes"
        raise UnknownVersionError(
            f"{kind.__name__}: {held}, this program reads version {version}: mixed versions of GCS?"
        )
    try:
        return msgspec.msgpack.decode(zlib.decompress(data[1:]), type=kind)
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise CodecError(f"{kind.__name__}: damaged ({error})") from error
