"""Leases: which helper behind the gateway holds which errand, and how many it may hold.

A helper begins with a few; each page that it brings lets it hold one more, each errand that it lets lapse halves that.
So one that takes and brings nothing delays a handful of pages, whatever it says of itself.

Invariant: an errand is on at most one helper's lease, and a lease here ends no later than at the whiteboard. It must
not know HTTP.
"""

import math
from collections import deque
from dataclasses import dataclass, field

from gcs.core.tuples import Means, UrlTS
from gcs.ports.space.port import Taken

#: errands that a new helper may hold, and that any may hold
FEW, MOST = 4, 64
#: errands of the past that are remembered of each helper, so that late and double claims are known for what they are
REMEMBERED = 1000


@dataclass(slots=True)
class Lease:
    """One errand with one helper."""

    taken: Taken[UrlTS]
    #: by the clock of whoever asks
    until: float


@dataclass(slots=True)
class Helper:
    """A helper behind the gateway, as far as we know it."""

    name: str
    place: str
    trusted: bool
    since: float
    means: Means = Means.PLAIN
    #: errands that it may hold
    quota: float = FEW
    held: dict[str, Lease] = field(default_factory=dict)
    #: errands that are being taken for it
    asked: int = 0
    pages: int = 0
    bytes: int = 0
    strikes: int = 0
    #: when it last asked for anything, by the clock of whoever is asked
    heard_at: float = 0.0
    #: errands that it has brought, or has let lapse
    past: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def room(self, wanted: int) -> int:
        """How many errands it may take now."""
        return max(0, min(wanted, math.floor(self.quota) - len(self.held) - self.asked))

    def has_brought(self, errand: str, size_bytes: int) -> None:
        """A page."""
        self._let_go(errand)
        self.quota = min(self.quota + 1, MOST)
        self.pages += 1
        self.bytes += size_bytes

    def gave_up(self, errand: str) -> None:
        """It was honest, and no help."""
        self._let_go(errand)

    def lapse(self, now: float) -> list[Lease]:
        """The leases that have ended without a word."""
        ended = {errand: lease for errand, lease in self.held.items() if now >= lease.until}
        for errand in ended:
            self._let_go(errand)
            self.quota = max(1.0, self.quota / 2)
        return list(ended.values())

    def _let_go(self, errand: str) -> None:
        self.held.pop(errand, None)
        self.past.append(errand)
