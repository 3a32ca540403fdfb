"""When a host may be asked again: the rules of politeness, as values and pure functions of the time.

A host is owed one delay between the end of a request and the start of the next. The delay is the largest of the
configured one, the crawl-delay of its robots.txt (up to a limit) and the adaptive one, which doubles when the host
answers 429 or 503 and falls back slowly when it answers well. Answers to requests that were under way together count
once. What was asked for makes no difference: a page, a sitemap or a robots.txt. A host without a delay may be asked
over several connections at once. Where a plan shares a host among several gatherers, only the one that has the host's
baton asks it (`core.polite.batons`). While the owners of such a host change, nobody asks it: the one that owned it
alone needed no baton.

Invariant: the time between the end of a request to a host and the start of the next one is never below the host's
delay, whoever its owners are (`answered`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from enum import Enum


@dataclass(frozen=True, slots=True)
class Politeness:
    """The settings of politeness."""

    #: seconds between two requests to one host
    delay_s: float = 1.0
    #: a longer crawl-delay in robots.txt is cut to this
    max_crawl_delay_s: float = 60.0
    #: connections to one host at once, where its delay is 0
    host_connections: int = 8
    #: connections to one address at once, over all the hosts on it
    ip_connections: int = 16
    #: obey robots.txt (RFC 9309)
    robots: bool = True
    #: seconds for which a robots.txt is believed
    robots_cache_s: float = 86_400.0
    #: tries at an unreachable robots.txt before the host's URLs are given up
    robots_tries: int = 3
    #: heed rel=nofollow, meta robots and X-Robots-Tag
    nofollow: bool = True
    #: the least delay after a 429 or 503; doubled by each further one, and worn off by good answers
    overload_s: float = 1.0
    #: the longest pause that a Retry-After or the adaptive delay can impose
    max_pause_s: float = 3_600.0
    #: requests for one URL before it is given up
    tries: int = 3
    #: seconds before the first retry; doubled for each further one
    retry_s: float = 5.0
    #: pages of one host, 0 for no limit: the last guard against endless hosts
    host_pages: int = 0


#: characters of an HTTP date, generously: the library that reads it is slow on long texts
_DATE_CHARS = 100
#: seconds that a robots.txt stays on the whiteboard for the other owners of a shared host; they believe
#: it for `robots_cache_s` since they read it
ROBOTS_NOTE_S = 3_600.0
#: statuses by which a host says that it is overloaded
OVERLOADED = frozenset({429, 503})
#: statuses that a later try may change
RETRY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 521, 522, 523, 524})


class Sharing(Enum):
    """Who may ask a host."""

    ALONE = 0  # this gatherer alone
    SHARED = 1  # the gatherer that has its baton
    CLOSED = 2  # nobody: its owners are changing


class Everywhere(Mapping[str, Sharing]):
    """One kind of sharing for every host."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing

    def __getitem__(self, _host: str) -> Sharing:
        return self._sharing

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(slots=True)
class HostPace:
    """How one host is paced. Changed only by the functions below."""

    crawl_delay_s: float = 0.0
    adaptive_s: float = 0.0
    #: the time before which no request may start, by the gatherer's own clock
    next_at: float = 0.0
    in_flight: int = 0
    #: requests that were under way when the host last said that it is overloaded, and are still
    burst: int = 0
    sharing: Sharing = Sharing.ALONE


def common_delay_of(pace: HostPace, rules: Politeness) -> float:
    """The part of a host's delay that all its owners know."""
    return max(rules.delay_s, min(pace.crawl_delay_s, rules.max_crawl_delay_s))


def delay_of(pace: HostPace, rules: Politeness) -> float:
    return max(common_delay_of(pace, rules), pace.adaptive_s)


def is_closed(pace: HostPace, rules: Politeness) -> bool:
    """Whether nobody may ask the host until its owners have changed."""
    return pace.sharing is Sharing.CLOSED and delay_of(pace, rules) > 0


def needs_baton(pace: HostPace, rules: Politeness) -> bool:
    """Whether only the gatherer that has the host's baton may ask it."""
    return pace.sharing is Sharing.SHARED and common_delay_of(pace, rules) > 0


def connections_of(pace: HostPace, rules: Politeness) -> int:
    """How many requests to the host may be in flight at once."""
    return 1 if delay_of(pace, rules) > 0 else rules.host_connections


def start_at(pace: HostPace, now: float) -> float:
    """The first moment from now on at which a request may start, as far as the delay goes."""
    return max(now, pace.next_at)


def started(pace: HostPace, rules: Politeness, now: float) -> None:
    pace.in_flight += 1
    pace.next_at = now + delay_of(pace, rules)


def asked_for(pace: HostPace, rules: Politeness, crawl_delay_s: float) -> None:
    """The robots.txt asks for another delay than the one that the host was owed until now, since its last request."""
    before = delay_of(pace, rules)
    pace.crawl_delay_s = crawl_delay_s
    pace.next_at += delay_of(pace, rules) - before


def answered(pace: HostPace, rules: Politeness, now: float, status: int = 0, retry_after_s: float = 0.0) -> None:
    """A request has ended, with an HTTP status or with 0 where there was none."""
    pace.in_flight -= 1
    if pace.burst:  # its request was sent before the host could be left alone: it tells nothing new
        pace.burst -= 1
    elif status in OVERLOADED:
        pace.adaptive_s = min(max(2 * pace.adaptive_s, 2 * rules.delay_s, rules.overload_s), rules.max_pause_s)
        pace.burst = pace.in_flight
    elif pace.adaptive_s and 0 < status < 500:
        pace.adaptive_s = 0.0 if pace.adaptive_s < 0.1 * rules.overload_s else pace.adaptive_s * 0.8
    pause = max(delay_of(pace, rules), min(retry_after_s, rules.max_pause_s))
    pace.next_at = max(pace.next_at, now + pause)


def wait(pace: HostPace, rules: Politeness, seconds: float, now: float) -> None:
    """Another gatherer says for how long the host is to be left alone: at least its delay, at most what rules allow."""
    longest, delay_s = max(rules.max_pause_s, rules.max_crawl_delay_s), delay_of(pace, rules)
    pace.next_at = max(pace.next_at, now + max(min(seconds, longest), delay_s))


def retry_at(tries: int, most: int, rules: Politeness, now: float, retry_after_s: float = 0.0) -> float | None:
    """When to try again after the tries-th failure of `most`; None to give it up."""
    if tries >= most:
        return None
    wait: float = rules.retry_s * 2 ** (tries - 1)
    return now + min(max(wait, retry_after_s), rules.max_pause_s)


def retry_after_s(header: str, date: str) -> float:
    """The seconds that a Retry-After header asks for, as a number or as a date; 0 where it says nothing.

    `date` is the Date header of the same answer: a date is counted by the clock of the server that wrote it.
    """
    header = header.strip()
    if header.isdecimal():
        return float(header)
    at, now = seconds_of_date(header), seconds_of_date(date)
    return 0.0 if at is None or now is None else max(at - now, 0.0)


def seconds_of_date(header: str) -> float | None:
    """The time that an HTTP date names, in seconds since the epoch; None where the text is no date."""
    from email.utils import parsedate_to_datetime  # slow to load, and seldom needed

    try:
        at = parsedate_to_datetime(header[:_DATE_CHARS])
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, TypeError, LookupError):  # all that the library raises on a stranger's text
        return None
