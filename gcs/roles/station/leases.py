"""Leases: which helper behind the gateway holds which errand, and how many it may hold.

A token has a credit: it begins with a few errands. Each page that is put lets it hold one more; each errand whose lease
ends unused halves the number. So a helper that takes errands and puts nothing delays only a handful of pages. Several
machines may share a token (the pods of a Deployment do): each has its own leases, and they share the credit.

Invariant: an errand is on at most one helper's lease, and a lease here ends no later than at the whiteboard. This
module must not know HTTP.
"""

import math
from collections import deque
from dataclasses import dataclass, field

from gcs.core.messages.tuples import Means, UrlTS
from gcs.ports.space.port import Taken

#: errands that a new token may hold, and that any token may hold at most
FEW, MOST = 4, 64
#: past errands that are remembered for each token, so that late and double claims are recognised
REMEMBERED = 1000


@dataclass(slots=True)
class Lease:
    """One errand with one helper."""

    taken: Taken[UrlTS]
    #: by the gateway's clock
    until: float


@dataclass(slots=True)
class Credit:
    """How many errands a token may hold, and how many it holds."""

    #: the name under which the crawl knows the token's holder
    holder: str
    #: errands that the token may hold, and that it holds or is being given
    quota: float = FEW
    used: int = 0
    strikes: int = 0
    #: ids of errands that were put, or whose leases ended
    past: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def room(self, wanted: int) -> int:
        """How many of the wanted errands may be taken now."""
        return max(0, min(wanted, math.floor(self.quota) - self.used))


@dataclass(slots=True)
class GatewayHelper:
    """A machine behind the gateway."""

    name: str
    credit: Credit
    place: str
    trusted: bool
    since: float
    means: Means = Means.PLAIN
    held: dict[str, Lease] = field(default_factory=dict)
    #: errands that it does at once, by its own word
    connections: int = 0
    pages: int = 0
    bytes: int = 0
    #: when its last request came, by the gateway's clock
    heard_at: float = 0.0

    def lease(self, leases: dict[str, Lease]) -> None:
        self.held |= leases
        self.credit.used += len(leases)

    def let_go(self, errand: str) -> Lease | None:
        """End the lease of an errand; None if the helper does not hold it."""
        lease = self.held.pop(errand, None)
        if lease:
            self.credit.used -= 1
        return lease

    def add_page(self, size_bytes: int) -> None:
        """Count a page that was put: its token may hold one more errand."""
        self.credit.quota = min(self.credit.quota + 1, MOST)
        self.pages += 1
        self.bytes += size_bytes

    def lapse(self, now: float) -> list[Lease]:
        """End the leases whose time is over; returns them. Each one halves what the token may hold."""
        ended = {errand: lease for errand, lease in self.held.items() if now >= lease.until}
        for errand in ended:
            self.let_go(errand)
            self.credit.past.append(errand)
            self.credit.quota = max(1.0, self.credit.quota / 2)
        return list(ended.values())
