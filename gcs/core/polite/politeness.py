"""When a host may be asked again: the rules of politeness, as values and pure functions of the time.

A host is owed one delay between the end of a request and the start of the next. The delay is the largest of the
configured one, the crawl-delay of its robots.txt (up to a limit) and the adaptive one, which doubles when the host
answers 429 or 503 and falls back slowly when it answers well. A host without a delay may be asked over several
connections at once. Where a plan shares a host among several gatherers, each of them waits that many times the delay,
in turns (`HostTurn`), so that the host sees one delay. While the owners of such a host change, nobody asks it: under
two plans, two gatherers could take the same turn.

Invariant: the time between the end of a gatherer's request to a host and the start of its next one is never below the
host's delay (`answered`). At a shared host, the starts of two owners are a delay apart, too (`next_turn`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


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


#: how much later than decided a request may leave
JITTER_S = 0.01
#: seconds that a robots.txt stays on the whiteboard for the other owners of a shared host; they believe
#: it for `robots_cache_s` since it was fetched, like one of their own
ROBOTS_NOTE_S = 3_600.0
#: statuses by which a host says that it is overloaded
OVERLOADED = frozenset({429, 503})
#: statuses that a later try may change
RETRY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 521, 522, 523, 524})


@dataclass(frozen=True, slots=True)
class HostTurn:
    """This gatherer's turn at a shared host: the index-th of count owners."""

    index: int = 0
    count: int = 1


ALONE = HostTurn()
#: the owners of the host are changing: it is nobody's turn
CLOSED = HostTurn(0, 0)


class Everywhere(Mapping[str, HostTurn]):
    """The same turn at every host there is."""

    def __init__(self, turn: HostTurn) -> None:
        self._turn = turn

    def __getitem__(self, _host: str) -> HostTurn:
        return self._turn

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(slots=True)
class HostPace:
    """How one host is paced. Changed only by the functions below."""

    crawl_delay_s: float = 0.0
    adaptive_s: float = 0.0
    #: seconds since the epoch before which no request may start
    next_at: float = 0.0
    in_flight: int = 0
    #: the gatherer's turn, where the plan shares the host
    turn: HostTurn = ALONE


def common_delay_of(pace: HostPace, rules: Politeness) -> float:
    """The part of a host's delay that all its owners know."""
    return max(rules.delay_s, min(pace.crawl_delay_s, rules.max_crawl_delay_s))


def delay_of(pace: HostPace, rules: Politeness) -> float:
    return max(common_delay_of(pace, rules), pace.adaptive_s)


def is_closed(pace: HostPace, rules: Politeness) -> bool:
    """Whether nobody may ask the host until its owners have changed."""
    return pace.turn == CLOSED and delay_of(pace, rules) > 0


def connections_of(pace: HostPace, rules: Politeness) -> int:
    """How many requests to the host may be in flight at once."""
    return 1 if delay_of(pace, rules) > 0 else rules.host_connections


def start_at(pace: HostPace, rules: Politeness, now: float) -> float:
    """The first moment from now on at which a request may start, as far as the delay goes."""
    earliest = max(now, pace.next_at)
    return earliest if pace.turn.count <= 1 else next_turn(earliest, common_delay_of(pace, rules), pace.turn)


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
    if status in OVERLOADED:
        pace.adaptive_s = min(max(2 * pace.adaptive_s, 2 * rules.delay_s, rules.overload_s), rules.max_pause_s)
    elif pace.adaptive_s and 0 < status < 500:
        pace.adaptive_s = 0.0 if pace.adaptive_s < 0.1 * rules.overload_s else pace.adaptive_s * 0.8
    pause = max(delay_of(pace, rules), min(retry_after_s, rules.max_pause_s))
    pace.next_at = max(pace.next_at, now + pause)


def next_turn(earliest: float, delay_s: float, turn: HostTurn) -> float:
    """The first moment at or after `earliest` at which this owner of a shared host may start.

    Time is cut into rounds of count slots, each a quarter longer than the delay; an owner starts only in the first
    tenth of its own slot. So two starts are a delay apart even if clocks differ, or requests leave late, by a little.
    """
    if delay_s <= 0:
        return earliest
    slot_s = 1.25 * delay_s + JITTER_S
    round_s = slot_s * turn.count
    begin = earliest - (earliest % round_s) + turn.index * slot_s
    if earliest <= begin + 0.1 * slot_s:
        return max(earliest, begin)
    return begin + round_s


def retry_at(tries: int, rules: Politeness, now: float, retry_after_s: float = 0.0) -> float | None:
    """When to try a URL again after its tries-th failure; None to give it up."""
    if tries >= rules.tries:
        return None
    wait: float = rules.retry_s * 2 ** (tries - 1)
    return now + min(max(wait, retry_after_s), rules.max_pause_s)


def retry_after_s(header: str, now: float) -> float:
    """The seconds that a Retry-After header asks for, as a number or as a date; 0 where it says nothing."""
    if header.strip().isdecimal():
        return float(header)
    from email.utils import parsedate_to_datetime  # slow to load, and seldom needed

    try:
        return max(parsedate_to_datetime(header).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return 0.0
