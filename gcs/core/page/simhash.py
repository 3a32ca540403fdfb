"""Simhash: a 64-bit signature of a text, in which texts that are nearly the same differ in few bits.

A feature is the 16 bytes that begin at a word: the word and the start of the next, so that order
counts a little. In scripts that are written without spaces every character begins a feature. Each bit
of the signature is the majority of that bit over the hashes of all features (Charikar). Pure and
stable: signatures are stored, so the constants below must not change. Case does not count in ASCII.
"""

from functools import cache
from typing import Any, NamedTuple

#: bytes that make a feature: two 64-bit words
_FEATURE_BYTES = 16
#: text beyond this (some 1,300 words) does not count: texts that are no near-duplicates differ earlier
_MAX_BYTES = 8 * 1024
#: a lane is one byte of a 64-bit word, counts one bit, and so cannot take more words than this
_LANE_MAX = 255


class _Constants(NamedTuple):
    """numpy, and the numbers in its types: made once, since making them costs as much as using them."""

    numpy: Any
    #: odd multipliers, as in splitmix64 and its kin
    mix_first: Any
    mix_second: Any
    mix_last: Any
    half: Any
    #: 0…7, one below the other
    bits: Any
    #: the lowest bit of each lane
    lanes: Any


@cache
def _constants() -> _Constants:
    import numpy as np  # 110 ms, and crawls for links only never come here

    return _Constants(
        np,
        np.uint64(0x9E3779B97F4A7C15),
        np.uint64(0xC2B2AE3D27D4EB4F),
        np.uint64(0xBF58476D1CE4E5B9),
        np.uint64(32),
        np.arange(8, dtype=np.uint64)[:, None],
        np.uint64(0x0101010101010101),
    )


def simhash(text: str) -> int:
    """The signature; 0 for a text without a word."""
    constants = _constants()
    np = constants.numpy
    data = text[:_MAX_BYTES].encode("utf-8", "replace").lower()[:_MAX_BYTES]
    padded = b"\n" + data + bytes(_FEATURE_BYTES)
    octets = np.frombuffer(padded, np.uint8, len(data) + 1)
    space = octets <= 0x20
    begins = space[:-1] > space[1:]
    if not data.isascii():
        begins |= octets[1:] >= 0xE0  # the first octet of a letter in a script like Chinese
    starts = begins.nonzero()[0]
    if not len(starts):
        return 0
    first = np.ndarray((len(data),), "<u8", padded, offset=1, strides=(1,))  # the 8 octets from each octet
    second = np.ndarray((len(data),), "<u8", padded, offset=9, strides=(1,))  # the 8 after these
    hashes = first[starts] * constants.mix_first  # `take` would copy all of `first`
    hashes ^= second[starts] * constants.mix_second
    hashes ^= hashes >> constants.half
    hashes *= constants.mix_last
    return _majority(hashes, constants)


def _majority(hashes: Any, constants: _Constants) -> int:
    """For each of 64 bits, whether more than half of the hashes have it."""
    np = constants.numpy
    bits = (hashes >> constants.bits) & constants.lanes  # row k: bit k of every octet, each in a lane
    sums = np.add.reduceat(bits, range(0, len(hashes), _LANE_MAX), axis=1).astype("<u8", copy=False)
    counts = sums.view(np.uint8).reshape(8, -1, 8).sum(axis=1, dtype=np.uint32)  # of [bit, octet]
    votes = np.packbits(counts > len(hashes) // 2, axis=0, bitorder="little")
    return int.from_bytes(votes.tobytes(), "little")
