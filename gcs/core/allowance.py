"""An allowance: how much of a machine its owner lends to a helper.

Invariant: pure; time and CPU time are given. Over any stretch, what was started is at most rate × time + 1, and the
CPU time spent is at most share × time, but for what is under way.
"""

from dataclasses import dataclass, field

from gcs.errors import UsageError

#: seconds of CPU that may be spent at once after a rest
_BURST_S = 0.25


@dataclass(frozen=True, slots=True)
class Limits:
    """What the owner allows; 0 for no limit."""

    #: errands done at once
    connections: int = 4
    #: errands started a second
    rate: float = 0.0
    #: share of one core, 0 to 1
    cpu: float = 0.0
    #: bytes fetched in all; then it ends
    max_bytes: int = 0

    def __post_init__(self) -> None:
        if self.connections < 1 or self.rate < 0 or not self.cpu >= 0 or self.max_bytes < 0:
            raise UsageError("the limits of a helper must be above 0: leave out what is not to be limited")


@dataclass(frozen=True, slots=True)
class Loan:
    """What the owner of a machine lends, and where to."""

    #: URL of the whiteboard; "" where the gateway is meant
    space: str
    crawl: str = "crawl"
    place: str = ""
    limits: Limits = field(default_factory=Limits)
    #: the owner, too, allows private addresses; the crawl has to as well
    allow_private: bool = False
    #: URL of a station, and the token to show there
    gateway: str = ""
    token: str = ""
    #: pages that need a browser, and only those
    browser: bool = False


class Allowance:
    """What is left of the limits."""

    def __init__(self, limits: Limits, now: float, cpu_s: float) -> None:
        self._limits = limits
        self._next_at = now
        self._cpu_at, self._cpu_s, self._cpu_left_s = now, cpu_s, _BURST_S
        self._bytes = 0

    @property
    def is_spent(self) -> bool:
        """Nothing more may be fetched, ever."""
        return 0 < self._limits.max_bytes <= self._bytes

    def starts(self, now: float, cpu_s: float, doing: int) -> int:
        """How many errands may be started now, with so many under way."""
        if self.is_spent:
            return 0
        free = self._limits.connections - doing
        if self._limits.cpu:
            self._account(now, cpu_s)
            free = free if self._cpu_left_s > 0 else 0
        if self._limits.rate:
            free = min(free, 1 if now >= self._next_at else 0)
        return max(free, 0)

    def started(self, now: float, errands: int) -> None:
        """So many were started."""
        if self._limits.rate:
            self._next_at = max(self._next_at, now) + errands / self._limits.rate

    def fetched(self, size_bytes: int) -> None:
        """So much came over the wire."""
        self._bytes += size_bytes

    def _account(self, now: float, cpu_s: float) -> None:
        earned = self._limits.cpu * (now - self._cpu_at)
        self._cpu_left_s = min(self._cpu_left_s + earned - (cpu_s - self._cpu_s), _BURST_S)
        self._cpu_at, self._cpu_s = now, cpu_s
