"""Leases as their holders must see them: leadership and membership, pure.

The space lets a lease end `lease_s` after it received the renewal. The holder does not know that moment, only that it
was not before the renewal was sent. So the holder counts from the sending, and stops earlier by `margin`, a share of
the lease. A holder that was paused or cut off therefore stops by itself before any other can get the lease, as long as
clocks run at the same rate within the margin.

Invariant: whenever `holds(now)` is true, the space still has the lease.
"""

from dataclasses import dataclass
from enum import Enum, auto

from gcs.core.messages.tuples import LeaderLease


@dataclass(frozen=True, slots=True)
class Tenure:
    """A lease that was granted or renewed by a request sent at `since` (the holder's own monotonic clock)."""

    since: float
    lease_s: float
    #: share of the lease that is given up for safety: clock drift, and what is in flight when it ends
    margin: float = 0.2

    def holds(self, now: float) -> bool:
        """Whether the holder may still act on it."""
        return now < self.since + self.lease_s * (1 - self.margin)

    def due(self, now: float) -> bool:
        """Whether it is time to renew: three tries fit into a lease."""
        return now >= self.since + self.lease_s / 3


class ElectionStep(Enum):
    """What a candidate does next."""

    LEAD = auto()  # its lease is fresh
    RENEW = auto()  # its lease must be renewed
    STAND = auto()  # nobody leads: try to
    FOLLOW = auto()  # somebody else leads


def decide(mine: LeaderLease | None, tenure: Tenure | None, seen: LeaderLease | None, now: float) -> ElectionStep:
    """The next step of a candidate that was granted `mine`, where the board shows `seen`.

    A LeaderLease under its name that it was not granted (an earlier run of it) counts as another's: it expires.
    """
    if mine is not None and tenure is not None:
        return ElectionStep.LEAD if not tenure.due(now) and tenure.holds(now) else ElectionStep.RENEW
    return ElectionStep.STAND if seen is None else ElectionStep.FOLLOW
