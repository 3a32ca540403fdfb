"""Tuples as bytes: one byte for the type, one for its version, then the fields as a MessagePack array.

Fields that a newer writer added at the end are skipped, missing ones with a default are filled in. Any other
version, type or damage is a CodecError that says which: the whiteboard sets such a tuple aside.

Invariant: decode(encode(t)) == t for every tuple.
"""

from typing import Any

import msgspec

from gcs.core.tuples import TUPLES, Tuple
from gcs.errors import CodecError

_encode = msgspec.msgpack.Encoder().encode
_headers = {kind: bytes((kind.code, kind.version)) for kind in TUPLES}
_decoders: dict[bytes, msgspec.msgpack.Decoder[Any]] = {
    header: msgspec.msgpack.Decoder(kind) for kind, header in _headers.items()
}
_names = {kind.code: kind.name for kind in TUPLES}


def encode(item: Tuple) -> bytes:
    """The bytes of a tuple."""
    return _headers[type(item)] + _encode(item)


def decode(data: bytes) -> Tuple:
    """The tuple in these bytes; CodecError where this program cannot read them."""
    decoder = _decoders.get(data[:2])
    if decoder is None:
        raise CodecError(_unknown(data))
    try:
        item: Tuple = decoder.decode(memoryview(data)[2:])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CodecError(f"damaged {_names[data[0]]} tuple: {error}") from error
    return item


def _unknown(data: bytes) -> str:
    if len(data) < 2:
        return f"no tuple: {len(data)} bytes"
    name = _names.get(data[0])
    if name is None:
        return f"unknown tuple type {data[0]}: written by a newer version of GCS?"
    return f"{name} tuple of unknown version {data[1]}: written by another version of GCS?"
