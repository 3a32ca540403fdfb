"""A Bloom filter: which keys the last session knew, in ten bits a key, for everybody to hold.

It errs on one side: one key in a hundred that it was never given counts as known.

Invariant: a key that was added is known.
"""

from collections.abc import Iterable
from typing import Self

import msgspec
import xxhash

#: bits per key and probes per look-up: 0.9 % false
BITS, PROBES = 10, 7


class Bloom(msgspec.Struct, frozen=True):
    """The bits, eight to a byte. Without any, nothing is known."""

    bits: bytes = b""

    @classmethod
    def of(cls, keys: Iterable[bytes], count: int) -> Self:
        """A filter that knows these keys, about `count` of them."""
        bits = bytearray(max(count * BITS // 8, 8))
        size = 8 * len(bits)
        for key in keys:
            for at in _probes(key, size):
                bits[at >> 3] |= 1 << (at & 7)
        return cls(bytes(bits))

    def __contains__(self, key: bytes) -> bool:
        bits = self.bits
        return bool(bits) and all(bits[at >> 3] >> (at & 7) & 1 for at in _probes(key, 8 * len(bits)))

    def __bool__(self) -> bool:
        return bool(self.bits)


def _probes(key: bytes, size: int) -> list[int]:
    digest = xxhash.xxh3_128_intdigest(key)
    low, step = digest & 0xFFFFFFFFFFFFFFFF, digest >> 64 | 1
    return [(low + probe * step) % size for probe in range(PROBES)]
