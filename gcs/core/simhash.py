"""Simhash: a 64-bit signature of a text, in which texts that are nearly the same differ in few bits.

A feature is the 16 bytes that begin at a word: the word and the start of the next, so that order
counts a little. In scripts that are written without spaces every character begins a feature. Each bit
of the signature is the majority of that bit over the hashes of all features (Charikar). Pure and
stable: signatures are stored, so the constants below must not change.
"""

from typing import Any

#: bytes that make a feature: two 64-bit words
_FEATURE_BYTES = 16
#: odd constants of the mixing steps (splitmix64 and its kin)
_MIX_FIRST = 0x9E3779B97F4A7C15
_MIX_SECOND = 0xC2B2AE3D27D4EB4F
_MIX_LAST = 0xBF58476D1CE4E5B9
#: text beyond this does not count: near-duplicates show much earlier
_MAX_BYTES = 256 * 1024
#: one bit in each byte of a 64-bit word: eight counters that a sum of up to 255 words cannot overflow
_LANES = 0x0101010101010101
_ROWS = 255


def simhash(text: str) -> int:
    """The signature; 0 for a text without a word."""
    import numpy as np  # 110 ms, and `links` crawls never come here

    data = text.lower().encode("utf-8", "replace")[:_MAX_BYTES]
    padded = b"\n" + data + bytes(_FEATURE_BYTES)
    octets = np.frombuffer(padded, np.uint8)
    before, here = octets[: len(data)], octets[1 : len(data) + 1]
    starts = np.flatnonzero(((before <= 0x20) & (here > 0x20)) | (here >= 0xE0))
    if not len(starts):
        return 0
    first: Any = np.ndarray((len(data),), "<u8", padded, offset=1, strides=(1,))  # the 8 octets from each octet
    second: Any = np.ndarray((len(data),), "<u8", padded, offset=9, strides=(1,))  # the 8 after these
    hashes = first.take(starts)
    hashes *= np.uint64(_MIX_FIRST)
    hashes ^= second.take(starts) * np.uint64(_MIX_SECOND)
    hashes ^= hashes >> np.uint64(32)
    hashes *= np.uint64(_MIX_LAST)
    hashes ^= hashes >> np.uint64(29)
    return _majority(hashes)


def distance(one: int, other: int) -> int:
    """The bits in which two signatures differ: 0 to 64; up to 3 or so means near-duplicates."""
    return (one ^ other).bit_count()


def _majority(hashes: Any) -> int:
    """For each of 64 bits, whether more than half of the hashes have it."""
    import numpy as np

    count = len(hashes)
    rows = -(-count // _ROWS)
    filled = np.zeros(rows * _ROWS, np.uint64)
    filled[:count] = hashes
    bits = (filled >> np.arange(8, dtype=np.uint64)[:, None]) & np.uint64(_LANES)  # 8 positions × words
    lanes = bits.reshape(8, rows, _ROWS).sum(axis=2, dtype=np.uint64)  # 8 counters in each word
    counts = lanes.astype("<u8").view(np.uint8).reshape(8, rows, 8).sum(axis=1, dtype=np.uint32)  # [bit, octet]
    votes = 2 * counts > count
    octets = np.packbits(votes, axis=0, bitorder="little")[0]
    return int.from_bytes(octets.tobytes(), "little")
