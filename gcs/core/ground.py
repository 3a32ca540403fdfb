"""The ground of a plan: the order in which the key space is laid out before it is cut into superpages.

    tree        as it is: the URL tree. A superpage is a subtree or an interval; neighbours share hosts and links
    site-hash   by a hash of the host: a host is one point, and hosts lie evenly spread (Cho's site-hash)
    url-hash    by a hash of the URL: pages lie evenly spread, and every host is everybody's (Cho's URL-hash)

A plan cuts whatever ground it stands on into ranges, so that owners, hand-over, lost ranges and look-back are the same
for all of them. The frontier is always in key order: on hashed ground, a range is a scattered part of it.

Invariant: the place of a key depends on the key alone; on hashed ground, on as much of it as the frontier keeps.
"""

from enum import StrEnum

import xxhash

from gcs.core.sortkey import FIRST_KEY, host_of

#: bytes of a key that are hashed: the frontier keeps longer ones cut, but no shorter than this
HASHED_BYTES = 400
_SPACE = 1 << 32


class Ground(StrEnum):
    """How keys are laid out."""

    TREE = "tree"
    SITE_HASH = "site-hash"
    URL_HASH = "url-hash"

    def place(self, key: bytes) -> bytes:
        """Where a key lies: what the cuts of a plan on this ground are compared with."""
        if self is Ground.TREE:
            return key
        name = host_of(key) if self is Ground.SITE_HASH else key[:HASHED_BYTES]
        return b"%08x" % xxhash.xxh32_intdigest(name)


def even_cuts(pieces: int) -> tuple[bytes, ...]:
    """Cuts that divide hashed ground into pieces of equal size."""
    return (FIRST_KEY, *(b"%08x" % (at * _SPACE // pieces) for at in range(1, pieces)))
