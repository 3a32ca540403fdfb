"""Expander: the documents inside an archive (zip and jar, tar in any compression), and gzip.

Built against bombs: the bytes that come out, their ratio to the bytes that went in, and the number
of members are bounded, and counted while they are read, whatever the archive claims. Nothing touches the
disk; names are only labels. Damage ends the expansion, it never raises. Archives inside are members
like any other: they are not expanded again.
"""

import zlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may grow to."""

    members: int = 1_000
    #: of one member; larger ones are left out
    member_bytes: int = 16 * 1024 * 1024
    #: of all members together
    total_bytes: int = 256 * 1024 * 1024
    #: of all members to the archive
    ratio: int = 200


def gunzip(content: bytes, max_bytes: int) -> bytes:
    """The beginning of what gzip holds: damage or the limit cuts it off."""
    decompressor = zlib.decompressobj(wbits=31)
    try:
        return decompressor.decompress(content, max_bytes)
    except zlib.error:
        return b""
