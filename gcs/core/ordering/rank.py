"""Ranks: an importance as a whole number that sorts as bytes do.

A rank has 32 bits, smaller goes first. The upper half is for what goes behind everything else (a foreign URL in
cross-over mode). An importance is a float, larger is better; as a rank it keeps 23 bits of its fraction, so that
back-link counts are told apart up to eight million.

Invariant: rank(a) <= rank(b) wherever a >= b.
"""

from struct import Struct

#: added to the rank of what goes behind everything else
BEHIND = 1 << 31
#: the largest importance that is told apart from a larger one
MOST = 3.0e38

_FLOAT, _BITS = Struct(">f"), Struct(">I")
_SIGN, _ALL = 0x80000000, 0xFFFFFFFF


def rank(importance: float) -> int:
    """The rank of an importance: the greater, the sooner."""
    # + 0.0 makes a zero of the negative one, which has other bits
    (bits,) = _BITS.unpack(_FLOAT.pack(min(max(importance, -MOST), MOST) + 0.0))
    ascending = bits ^ (_ALL if bits & _SIGN else _SIGN)
    return int(_ALL - ascending) >> 1
