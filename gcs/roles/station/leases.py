"""Leases: which helper behind the gateway holds which errand, and how many it may hold.

A token has a credit: it begins with a few errands; each page that it brings lets it hold one more, each errand that it
lets lapse halves that. So one that takes and brings nothing delays a handful of pages, whatever it says of itself.
Several machines may share a token (the pods of a Deployment do): each has its own leases, and they share the credit.

Invariant: an errand is on at most one helper's lease, and a lease here ends no later than at the whiteboard. It must
not know HTTP.
"""

import math
from collections import deque
from dataclasses import dataclass, field

from gcs.core.messages.tuples import Means, UrlTS
from gcs.ports.space.port import Taken

#: errands that a new token may hold, and that any may hold
FEW, MOST = 4, 64
#: errands of the past that are remembered of each token, so that late and double claims are known for what they are
REMEMBERED = 1000


@dataclass(slots=True)
class Lease:
    """One errand with one helper."""

    taken: Taken[UrlTS]
    #: by the clock of whoever asks
    until: float


@dataclass(slots=True)
class Credit:
    """What a token has earned."""

    #: by which the crawl knows its holder
    holder: str
    #: errands that it may hold, and that it holds or is being given
    quota: float = FEW
    used: int = 0
    strikes: int = 0
    #: errands that it has brought, or has let lapse
    past: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def room(self, wanted: int) -> int:
        """How many errands it may take now."""
        return max(0, min(wanted, math.floor(self.quota) - self.used))


@dataclass(slots=True)
class GatewayHelper:
    """A machine behind the gateway, as far as we know it."""

    name: str
    credit: Credit
    place: str
    trusted: bool
    since: float
    means: Means = Means.PLAIN
    held: dict[str, Lease] = field(default_factory=dict)
    #: errands that it does at once, as it says
    connections: int = 0
    pages: int = 0
    bytes: int = 0
    #: when it last asked for anything, by the clock of whoever is asked
    heard_at: float = 0.0

    def lease(self, leases: dict[str, Lease]) -> None:
        """It holds these, too."""
        self.held |= leases
        self.credit.used += len(leases)

    def let_go(self, errand: str) -> Lease | None:
        """It holds this no longer."""
        lease = self.held.pop(errand, None)
        if lease:
            self.credit.used -= 1
        return lease

    def has_brought(self, errand: str, size_bytes: int) -> None:
        """A page, which it held."""
        self.credit.past.append(errand)
        self.credit.quota = min(self.credit.quota + 1, MOST)
        self.pages += 1
        self.bytes += size_bytes

    def gave_up(self, errand: str) -> None:
        """It was honest, and no help."""
        self.credit.past.append(errand)

    def lapse(self, now: float) -> list[Lease]:
        """The leases that have ended without a word."""
        ended = {errand: lease for errand, lease in self.held.items() if now >= lease.until}
        for errand in ended:
            self.let_go(errand)
            self.credit.past.append(errand)
            self.credit.quota = max(1.0, self.credit.quota / 2)
        return list(ended.values())
