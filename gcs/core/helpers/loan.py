"""What the owner of a machine lends to a crawl: at which hours (`Shift`), how much (`Allowance`), where to (`Loan`).

The hours of a shift are the machine's own local time.

Invariant: pure; time and CPU time are given. Over any stretch, what was started is at most rate × time + 1, and the
CPU time spent is at most share × time, but for what is under way.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gcs.errors import UsageError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ALL_DAYS = frozenset(range(7))
WHOLE_DAY = "00:00-00:00"
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")
_DAY = timedelta(days=1)
#: seconds of CPU that may be spent at once after a rest
_BURST_S = 0.25


@dataclass(frozen=True, slots=True)
class Shift:
    """Hours of some days of the week; Monday is 0. If it ends when it begins, it lasts a whole day."""

    #: since midnight
    begin_min: int
    end_min: int
    days: frozenset[int] = ALL_DAYS

    @property
    def minutes(self) -> int:
        return (self.end_min - self.begin_min) % 1440 or 1440

    def ends_at(self, now: datetime) -> datetime | None:
        """When the shift that is on ends; None if none is on."""
        for begin in (self._begin_on(now), self._begin_on(now - _DAY)):
            end = begin + timedelta(minutes=self.minutes)
            if begin.weekday() in self.days and begin <= now < end:
                return end
        return None

    def began_at(self, now: datetime) -> datetime | None:
        """When the shift that is on began; None if none is on."""
        end = self.ends_at(now)
        return end - timedelta(minutes=self.minutes) if end else None

    def next_begin(self, now: datetime) -> datetime:
        """The next moment, now or later, at which it begins."""
        begins = (self._begin_on(now + ahead * _DAY) for ahead in range(8))
        return next(begin for begin in begins if begin >= now and begin.weekday() in self.days)

    def cron(self, now: datetime) -> str:
        """When it begins, as a line of cron in UTC. `now` knows its offset; where that changes, so does the line."""
        begin = self.next_begin(now)
        in_utc = begin.astimezone(UTC)
        ahead = in_utc.toordinal() - begin.toordinal()
        days = "*" if self.days == ALL_DAYS else ",".join(map(str, sorted((day + ahead + 1) % 7 for day in self.days)))
        return f"{in_utc.minute} {in_utc.hour} * * {days}"

    def __str__(self) -> str:
        hours = "-".join(f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (self.begin_min, self.end_min))
        return hours if self.days == ALL_DAYS else f"{hours} {','.join(DAYS[day] for day in sorted(self.days))}"

    def _begin_on(self, day: datetime) -> datetime:
        midnight = day.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight + timedelta(minutes=self.begin_min)


def parse(hours: str, days: str = "") -> Shift:
    """A shift as a person writes it: "22:00-06:00"; days as "mon-fri", "sat,sun", or none for every day."""
    match = _HOURS.fullmatch(hours.strip())
    if match is None:
        raise UsageError(f"{hours!r} is no shift: write begin and end as in 22:00-06:00")
    from_hour, from_minute, to_hour, to_minute = map(int, match.groups())
    return Shift(60 * from_hour + from_minute, 60 * to_hour + to_minute, _days(days))


def _days(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in filter(None, (part.strip().lower() for part in text.split(","))):
        first, dash, last = part.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            raise UsageError(f"{part!r} is no day: write mon, tue … sun, with commas, or ranges as in mon-fri")
        low, high = DAYS.index(first), DAYS.index(last or first)
        found |= {day % 7 for day in range(low, high + 1 if high >= low else high + 8)}
    return frozenset(found) or ALL_DAYS


@dataclass(frozen=True, slots=True)
class LoanLimits:
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
    limits: LoanLimits = field(default_factory=LoanLimits)
    #: the owner, too, allows private addresses; the crawl has to as well
    allow_private: bool = False
    #: URL of a station, and the token to show there
    gateway: str = ""
    token: str = ""
    #: pages that need a browser, and only those
    browser: bool = False


class Allowance:
    """What is left of the limits."""

    def __init__(self, limits: LoanLimits, now: float, cpu_s: float) -> None:
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
        if self._limits.rate:
            self._next_at = max(self._next_at, now) + errands / self._limits.rate

    def fetched(self, size_bytes: int) -> None:
        self._bytes += size_bytes

    def _account(self, now: float, cpu_s: float) -> None:
        earned = self._limits.cpu * (now - self._cpu_at)
        self._cpu_left_s = min(self._cpu_left_s + earned - (cpu_s - self._cpu_s), _BURST_S)
        self._cpu_at, self._cpu_s = now, cpu_s
