"""A shift: the hours at which the owner of a machine lends it, in its own local time.

"22:00-06:00" on "mon-fri": begins on these days at 22:00 and ends at 06:00, the next morning where that is earlier.
A moment is judged by what the clock on the wall shows, so a shift is an hour longer or shorter when the clock changes.

Invariant: pure; `now` is given, naive, as the wall shows it. The day on which a shift begins is the one that counts;
it ends at most a day later.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from gcs.errors import UsageError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ALL_DAYS = frozenset(range(7))
_HOURS = re.compile(r"(\d{1,2}:\d{2})-(\d{1,2}:\d{2})")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Shift:
    """Hours of some days of the week; Monday is 0. Equal hours mean a whole day."""

    begin: time
    end: time
    days: frozenset[int] = ALL_DAYS

    def ends_at(self, now: datetime) -> datetime | None:
        """When the shift that is on ends; None if none is on."""
        for day in (now.date(), now.date() - _DAY):
            begins, ends = self._of(day)
            if day.weekday() in self.days and begins <= now < ends:
                return ends
        return None

    def next_begin(self, now: datetime) -> datetime:
        """The next moment, now or later, at which it begins."""
        days = (now.date() + ahead * _DAY for ahead in range(8))
        begins = (self._of(day)[0] for day in days if day.weekday() in self.days)
        return next(at for at in begins if at >= now)

    def __str__(self) -> str:
        days = "" if self.days == ALL_DAYS else " " + ",".join(DAYS[day] for day in sorted(self.days))
        return f"{self.begin:%H:%M}-{self.end:%H:%M}{days}"

    def _of(self, day: date) -> tuple[datetime, datetime]:
        """Begin and end of the shift that begins on this day."""
        begins, ends = datetime.combine(day, self.begin), datetime.combine(day, self.end)
        return begins, ends if ends > begins else ends + _DAY


def parse(hours: str, days: str = "") -> Shift:
    """A shift as a person writes it: "22:00-06:00"; days as "mon-fri", "sat,sun", or none for every day."""
    match = _HOURS.fullmatch(hours.strip())
    try:
        begin, end = (time.fromisoformat(part.zfill(5)) for part in match.groups()) if match else (None, None)
    except ValueError:
        begin = end = None
    if begin is None or end is None:
        raise UsageError(f"{hours!r} is no shift: write begin and end as in 22:00-06:00")
    return Shift(begin, end, _days(days))


def _days(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in filter(None, (part.strip().lower() for part in text.split(","))):
        first, _, last = part.partition("-")
        if first[:3] not in DAYS or (last or first)[:3] not in DAYS:
            raise UsageError(f"{part!r} is no day: write mon, tue … sun, with commas, or ranges as in mon-fri")
        low, high = DAYS.index(first[:3]), DAYS.index((last or first)[:3])
        found |= {day % 7 for day in range(low, high + 1 if high >= low else high + 8)}
    return frozenset(found) or ALL_DAYS
