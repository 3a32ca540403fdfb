"""What the frontier keeps of a URL while it waits, and the mark it leaves when it is finished.

And keys as LMDB can hold them: of URLs, of hosts, and of places in the queue (host NUL "/" rank sequence).
"""

from enum import Enum
from struct import Struct

import msgspec
import xxhash

from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import sort_key

#: LMDB's own limit is 511 bytes; longer sort keys end in a hash of the whole
MAX_KEY_BYTES = 480
#: rank and sequence at the end of a place: big-endian, so that bytes sort as numbers do
ORDER = Struct(">IQ")


def short(key: bytes) -> bytes:
    """The key, or its beginning and a hash. A cut key keeps its order against shorter ones: ranges need no more."""
    if len(key) <= MAX_KEY_BYTES:
        return key
    return key[: MAX_KEY_BYTES - 18] + b"\x00#" + xxhash.xxh3_64_hexdigest(key).encode()


def key_of(url: str) -> bytes:
    return short(sort_key(url))


def is_whole(key: bytes) -> bool:
    """Whether `short` has left the key as it was, so that it still tells its URL."""
    return len(key) < MAX_KEY_BYTES


def host_part(key: bytes) -> bytes:
    """The host of a URL's key: how its places begin."""
    return key[: key.index(b"\x00/") + 2]


def split(packed: bytes) -> tuple[bytes, bytes]:
    """The two halves of a value of the table `later`: the place in the queue, and the entry."""
    cut = packed.index(b"\x00/") + 2 + ORDER.size
    return bytes(packed[:cut]), bytes(packed[cut:])


class Mark(Enum):
    """State of a known URL, one byte on disk."""

    QUEUED = b"Q"  # waiting, in a window, or in flight
    DONE = b"D"  # its page is stored
    FAILED = b"F"  # tried, and given up
    REFUSED = b"R"  # robots.txt or the user forbids it: not requested


_WORTH = Struct(">d")


def worth_of(row: bytes) -> float:
    worth: float = _WORTH.unpack_from(row, len(row) - _WORTH.size)[0]
    return worth


def with_worth(row: bytes, worth: float) -> bytes:
    return row[: -_WORTH.size] + _WORTH.pack(worth)


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(QueuedUrl).decode
