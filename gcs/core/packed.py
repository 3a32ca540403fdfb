"""Values of the core as bytes: one byte for the version, then their MessagePack, compressed.

For what is large, rare and repetitive: plans, copies of the URL tree, statistics. What is small and frequent is a
tuple and goes through `core.codec`.

Invariant: unpack(kind, version, pack(version, value)) == value; anything else is a CodecError that says what was wrong.
"""

import zlib
from typing import TypeVar

import msgspec

from gcs.errors import CodecError

T = TypeVar("T")


def pack(version: int, value: object) -> bytes:
    """The bytes of a value."""
    # a quarter of the time that level 6 takes, for a quarter more of bytes
    return bytes((version,)) + zlib.compress(msgspec.msgpack.encode(value), 1)


def unpack(kind: type[T], version: int, data: bytes) -> T:
    """The value in these bytes; CodecError where this program cannot read them."""
    if data[:1] != bytes((version,)):
        held = f"version {data[0]}" if data else "no bytes"
        raise CodecError(f"{kind.__name__}: {held}, this program reads version {version}: mixed versions of GCS?")
    try:
        return msgspec.msgpack.decode(zlib.decompress(data[1:]), type=kind)
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise CodecError(f"{kind.__name__}: damaged ({error})") from error
