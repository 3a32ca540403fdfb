"""The seal of a tuple: proof that somebody with the team key wrote it, for this very place on the whiteboard.

    sealed tuple = MARK, version of the seal, MAC (16 bytes, keyed BLAKE2b), then the bytes of the codec

The MAC covers the tuple and its place: the stream (crawl, inbox and type are in its name), the sender and the number.
So a tuple that is copied into another crawl, inbox, type or flow is refused. A tuple that is repeated in its own place
is not: receivers bear repetition.

A team without a key writes tuples as the codec makes them.

Invariant: pure, and the same tuple in the same place has the same bytes (conditions on the board compare them). Bytes
are decoded after they were opened.
"""

import hashlib
from hmac import compare_digest

from gcs.errors import SealError

#: the first byte of a sealed tuple: the code of no tuple type
MARK = 0xFE
#: the first two bytes: the mark, and the version of the seal
HEAD = bytes((MARK, 1))
MAC_BYTES = 16
_BODY = len(HEAD) + MAC_BYTES

NO_KEY = (
    "is sealed with a team key, and this process has none: set GCS_SPACE_KEY, or GCS_SPACE_KEY_FILE to a file that "
    "holds the key"
)
NO_SEAL = (
    "has no seal: it was written without the team key that this process has; give every process of the team the same "
    "key, or none"
)
WRONG_SEAL = (
    "has a wrong seal: it was written with another team key, or forged; give every process of the team the same key"
)


def place_of(stream: str, sender: bytes = b"", number: bytes = b"") -> bytes:
    """Where a tuple stands, in bytes that stand for one place only."""
    return b"%s\0%d\0%d\0%s%s" % (stream.encode(), len(sender), len(number), sender, number)


def bare(data: bytes) -> bytes:
    """The bytes of a tuple without the seal, right or wrong: for people to look at."""
    return data[_BODY:] if data[:1] == HEAD[:1] else data


class Seal:
    """Seals the tuples of one team, as the codec's bytes, and opens them; with the team's key or (b"") without."""

    def __init__(self, key: bytes = b"") -> None:
        self._keyed = (
            hashlib.blake2b(key=hashlib.blake2b(key).digest(), digest_size=MAC_BYTES, person=b"gcs tuple")
            if key
            else None
        )

    def close(self, data: bytes, place: bytes) -> bytes:
        """The bytes that stand at this place for a tuple."""
        return data if self._keyed is None else HEAD + self._mac(place, data) + data

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """The tuple in the bytes that stand at this place; SealError if it is not of this team or this place."""
        is_sealed = sealed[:1] == HEAD[:1]
        if self._keyed is None:
            if is_sealed:
                raise SealError(NO_KEY)
            return sealed
        if not is_sealed:
            raise SealError(NO_SEAL)
        data = sealed[_BODY:]
        if sealed[: len(HEAD)] != HEAD or not compare_digest(sealed[len(HEAD) : _BODY], self._mac(place, data)):
            raise SealError(WRONG_SEAL)
        return data

    def _mac(self, place: bytes, data: bytes) -> bytes:
        assert self._keyed is not None
        mac = self._keyed.copy()
        mac.update(b"%d\0%s" % (len(place), place))
        mac.update(data)
        return mac.digest()
