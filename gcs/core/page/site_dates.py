"""The dates that a site gives, and how far they are believed: `lastmod` of sitemaps, dates of feeds, Last-Modified.

A date of a page is later than the copy that is held, or before it; where it is not exact enough to tell, it says
nothing. So it *claims* that the page has changed, or that it has not. When the page is asked for all the same, the
claim proves true or false. A site's dates are believed as far as they proved true (Laplace: with nothing known, half),
apart for claims of change and of rest, and for listed dates and those of HTTP: a site whose sitemap says "today" of
every page is soon not believed when it says that, and still when it says that a page has not changed.

    chance of a change = belief · (1 or 0) + (1 - belief) · what earlier visits make likely

Invariant: pure; reading a date takes linear time, and a date that cannot be is none.
"""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

import msgspec

from gcs.core.polite.politeness import seconds_of_date

#: ISO 8601 as W3C profiles it, and as it is found: year, month, day, and perhaps the time and its zone
_ISO = re.compile(
    r"\s{0,9}(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?)?)?)?\s{0,9}",
    re.IGNORECASE,
)
#: as it is kept: exact to the second in UTC, to the day, the month or the year
_KEPT = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d):(\d\d)Z)?)?)?")
_UNAVAILABLE = re.compile(r"unavailable_after\s{0,9}:\s{0,9}", re.IGNORECASE)
_DIRECTIVE_CHARS = 200
_DAY_S = 86_400.0
_EPOCH = datetime(1970, 1, 1)
#: proofs that count: after so many the older half weighs half, so that a site can mend its ways
_MOST_PROOFS = 200


class Trust(msgspec.Struct, array_like=True):
    """How often the claims of one kind proved true and false."""

    true: float = 0.0
    false: float = 0.0

    @property
    def belief(self) -> float:
        """Between 0 and 1: how far the next claim is believed."""
        return (self.true + 1) / (self.true + self.false + 2)

    def note(self, is_true: bool) -> None:
        if self.true + self.false >= _MOST_PROOFS:
            self.true, self.false = self.true / 2, self.false / 2
        self.true, self.false = self.true + is_true, self.false + (not is_true)


class SiteTrust(msgspec.Struct, array_like=True):
    """How far the dates of one host are believed."""

    #: claims of listed dates (sitemaps, feeds) that a page has changed, and that it has not
    listed_change: Trust = msgspec.field(default_factory=Trust)
    listed_rest: Trust = msgspec.field(default_factory=Trust)
    #: Last-Modified: that the page was last changed when it says so
    http: Trust = msgspec.field(default_factory=Trust)

    def listed(self, has_changed: bool) -> Trust:
        return self.listed_change if has_changed else self.listed_rest


def kept_date(text: str) -> str:
    """A date as it is kept, as exact as it is given: 2026, 2026-05, 2026-05-04, 2026-05-04T08:00:00Z; "" for none."""
    match = _ISO.fullmatch(text[:60])
    if not match:
        return ""
    year, month, day, hour, minute, second, zone = match.groups()
    try:
        at = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0))
        if hour is not None:
            return f"{(at - _offset(zone)).isoformat()}Z"
    except (ValueError, OverflowError):
        return ""
    return at.date().isoformat()[: 10 if day else 7 if month else 4]


def kept_moment(seconds: float | None) -> str:
    """A moment (seconds since the epoch) as it is kept; "" for none, and for one beyond what dates can say."""
    if seconds is None:
        return ""
    try:
        return f"{(_EPOCH + timedelta(seconds=int(seconds))).isoformat()}Z"
    except (ValueError, OverflowError):
        return ""


def span_of(kept: str) -> tuple[float, float] | None:
    """The first and the last moment that a kept date may mean, in seconds since the epoch; None where it is no date."""
    match = _KEPT.fullmatch(kept)
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part) if part else None for part in match.groups())
    try:
        first = datetime(year or 1, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC)
    except ValueError:
        return None
    start = first.timestamp()
    if hour is not None:
        return start, start
    days = 1 if day else monthrange(first.year, first.month)[1] if month else 365 + (monthrange(first.year, 2)[1] == 29)
    # a day may be meant in any time zone
    return start - _DAY_S / 2, start + (days + 0.5) * _DAY_S


def claim(kept: str, copy_at_s: float) -> bool | None:
    """Whether a date claims that the page has changed since the copy was made; None where it does not tell."""
    span = span_of(kept)
    if span is None:
        return None
    if span[0] > copy_at_s:
        return True
    return False if span[1] <= copy_at_s else None


def believed(chance: float, has_changed: bool, trust: Trust) -> float:
    """The chance that a page has changed, after a claim of its site."""
    return trust.belief * has_changed + (1 - trust.belief) * chance


def chance_by_age(modified_s: float, copy_at_s: float, now_s: float) -> float | None:
    """The chance that a page has changed since its copy was made, if it changes as often as its age says.

    A page that was a year old when it was fetched is not likely to have changed within a day. None where the dates
    cannot be true.
    """
    age_s, since_s = copy_at_s - modified_s, now_s - copy_at_s
    if age_s < 0 or since_s < 0:
        return None
    return since_s / (since_s + age_s) if since_s else 0.0


def http_proof(before: str, now: str, has_changed: bool) -> bool | None:
    """Whether two Last-Modified dates tell truly if the page has changed; None where there are not two."""
    if not before or not now:
        return None
    return (before != now) == has_changed


def unavailable_after(directives: str) -> float | None:
    """The end that robots directives set to a page, in seconds since the epoch; None where they set none.

    The date may be ISO 8601, or as mails write it, with a comma of its own; other directives may follow.
    """
    found = _UNAVAILABLE.search(directives)
    if not found:
        return None
    parts = directives[found.end() :][:_DIRECTIVE_CHARS].split(",")
    for text in (",".join(parts[:2]), parts[0]):
        if span := span_of(kept_date(text)):
            return span[1]
        if (at := seconds_of_date(text)) is not None:
            return at
    return None


def _offset(zone: str | None) -> timedelta:
    if not zone or zone in "Zz":
        return timedelta()
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if zone[0] == "-" else offset
