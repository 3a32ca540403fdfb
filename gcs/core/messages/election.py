"""Leases as their holders must see them: leadership and membership, pure.

The space lets a lease end `lease_s` after it received the renewal. The holder does not know that moment, only that it
was not before the renewal was sent. So the holder counts from the sending, and stops earlier by `margin`, a share of
the lease. A holder that was paused or cut off therefore stops by itself before any other can get the lease, as long as
clocks run at the same rate within the margin.

A holder that hears late of its renewals would stop between two of them. So a lease lasts for at least `TRIPS` round
trips to the space (`RoundTrips`): each holder chooses that for its own lease, which nobody else counts.

Invariant: whenever `holds(now)` is true, the space still has the lease.
"""

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from statistics import median

from gcs.core.messages.tuples import LeaderLease


@dataclass(frozen=True, slots=True)
class Tenure:
    """A lease that was granted or renewed by a request sent at `since` (the holder's own monotonic clock)."""

    since: float
    lease_s: float
    #: share of the lease that is given up for safety: clock drift, and what is in flight when it ends
    margin: float = 0.2

    @property
    def until(self) -> float:
        """When the holder must no longer act on it."""
        return self.since + self.lease_s * (1 - self.margin)

    def holds(self, now: float) -> bool:
        """Whether the holder may still act on it."""
        return now < self.until

    def due(self, now: float) -> bool:
        """Whether it is time to renew: three tries fit into a lease."""
        return now >= self.since + self.lease_s / 3


#: round trips that a lease lasts for at least: the answer to one renewal, then that to the next, must come within the
#: part of the lease that counts (0.8), so 2.5 would do if all took equally long
TRIPS = 5


class RoundTrips:
    """How long the space takes to answer one holder, by its last renewals, and how long that holder's lease lasts."""

    def __init__(self, lease_s: float) -> None:
        """`lease_s`: the lease as the settings have it."""
        self._lease_s = lease_s
        #: seconds; one answer that was late alone, because a process was stopped, changes nothing
        self._last: deque[float] = deque(maxlen=5)

    def add(self, seconds: float) -> None:
        self._last.append(seconds)

    @property
    def typical_s(self) -> float:
        return median(self._last) if self._last else 0.0

    @property
    def lease_s(self) -> float:
        """The lease to ask for."""
        return max(self._lease_s, TRIPS * self.typical_s)

    @property
    def is_too_long(self) -> bool:
        """Whether the lease of the settings is too short for the line. The first answers also open connections."""
        return len(self._last) == self._last.maxlen and self.lease_s > self._lease_s


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
