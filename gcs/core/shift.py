"""A shift: the hours at which the owner of a machine lends it, in its own local time.

"22:00-06:00" on "mon-fri": begins on these days at 22:00 and ends at 06:00, the next morning where that is earlier.
A moment is judged by what the clock on the wall shows, so a shift is an hour longer or shorter when the clock changes.

Invariant: pure; `now` is given, as the wall shows it. The day on which a shift begins is the one that counts;
it ends at most a day later.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gcs.errors import UsageError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ALL_DAYS = frozenset(range(7))
WHOLE_DAY = "00:00-00:00"
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Shift:
    """Hours of some days of the week; Monday is 0. If it ends when it begins, it lasts a whole day."""

    #: since midnight
    begin_min: int
    end_min: int
    days: frozenset[int] = ALL_DAYS

    @property
    def minutes(self) -> int:
        """How long it lasts."""
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
