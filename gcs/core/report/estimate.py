"""The one estimate of a crawl: how far it is, how long it will take, and what limits it. Pure.

The progress line, `gcs status`, the station and the report all show the `Outlook` that `estimate` makes of the
workloads of the gatherers, so all of them say the same at the same moment.

Time left. The URLs that are queued take at least as long as the slowest host: its queue times its delay. If delays
limit the crawl, the queue takes exactly that long, because the other hosts are done before. Otherwise it takes the
queue over the rate of the last seconds, where that is longer. URLs that are not found yet (`explored`) come on top at
that rate. While URLs are still being found, the end cannot be known: then the estimate says "at least".

What limits. A crawl waits for delays, for answers or for the CPU, whichever took the time of the last seconds.

Invariant: soonest ≤ eta ≤ latest, none of them negative, none beyond a limit of the crawl; more queued URLs never make
`soonest_s` shorter.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec

from gcs.core.report.workload import SlowHost, TimeSpent, Workload

#: a longer time is no estimate
LONGEST_S = 10 * 365 * 86_400.0
#: the CPU is the limit of a gatherer that needs it for this share of the time
CPU_SHARE = 0.75
#: a gatherer that has something to do for less than this share of the time is limited by nothing
LEAST_WORK = 0.1
#: seconds after which the limit of a gatherer is known: to begin takes CPU
BEGUN_S = 3.0
#: seconds of a crawl whose end does not say what took them: the start did
SHORT_S = 10.0
#: share of the queue that must be counted by host before the slowest host alone decides
COUNTED = 0.9
#: expected finds, as a share of the queue, that are too few to speak of
FEW_FINDS = 0.02

POLITENESS, LATENCY, CPU, NOTHING = "politeness", "latency", "cpu", "nothing"
#: state of a crawl of which only what was gathered is known
STORED = "stored"
#: state of the crawl → what is said instead of the time left
NO_TIME = {
    "done": "finished",
    "limit": "ended by its limit",
    "stopped": "stopped",
    "stopping": "stopping",
    "failed": "failed",
    "paused": "paused",
    "waiting": "not started",
    STORED: "in a store",
}
#: state of a crawl whose whiteboard does not answer
AWAY = "away"
ENDED = frozenset({"done", "limit", "stopped", "failed"})


class Outlook(msgspec.Struct, frozen=True):
    """How far a crawl is, when it will end, and what limits it."""

    #: the explored share of the reachable web, with bounds
    fraction: float = 0.0
    low: float = 0.0
    high: float = 1.0
    eta_s: float | None = None
    #: if nothing more is found; and if much more is found
    soonest_s: float | None = None
    latest_s: float | None = None
    #: the share of the crawl that is done: as `fraction`, or of a limit that ends the crawl before
    progress: float = 0.0
    #: URLs are still being found, so the crawl takes `soonest_s` or longer
    at_least: bool = False
    #: politeness, latency, cpu or nothing
    limited_by: str = NOTHING
    #: for people: the share that is done, the time left, and what limits the crawl
    done: str = ""
    left: str = NO_TIME["waiting"]
    why: str = ""
    #: what the estimate was made of, at the same moment
    pages: int = 0
    known: int = 0
    queued: int = 0

    @property
    def text(self) -> str:
        """All of it in one line."""
        return ", ".join(part for part in (self.done, self.left, self.why) if part)


def estimate(works: Sequence[Workload], state: str = "running") -> Outlook:
    """The estimate of a crawl from the workloads of its gatherers; `state` is that of the crawl."""
    known, queued = (sum(getattr(work, name) for work in works) for name in ("known", "queued"))
    fraction, low, high = (round(share, 4) for share in _explored(works, known, queued))
    spent = sum((work.spent for work in works), TimeSpent())
    limited_by = _limit(works)
    end = _limits(works)
    progress = max(fraction, end.progress, 1.0 if state in ("done", "limit") else 0.0)
    done = f"{_percent(fraction)} explored"
    if end.progress > fraction:
        done = f"{_percent(end.progress)} of {end.name}"
    outlook = Outlook(
        *(fraction, low, high),
        progress=round(progress, 4),
        limited_by=limited_by,
        done=done,
        pages=sum(work.pages for work in works),
        known=known,
        queued=queued,
    )
    if state in NO_TIME or state == AWAY or not known:
        why = "waiting for Redis" if state == AWAY else _past_why(works, spent, limited_by, queued, state)
        left = NO_TIME.get(state, "" if state == AWAY else "no estimate yet" if works else NO_TIME["waiting"])
        limit = limited_by if state in ENDED else NOTHING
        return msgspec.structs.replace(outlook, left=left, why=why, limited_by=limit, **_no_time(state))
    rate = sum(work.urls_per_s for work in works)
    unknown = [max((known - queued) / share - known, 0.0) if share > 0 else math.inf for share in (fraction, low)]
    soonest = queue_s(works, limited_by) if queued else 0.0
    eta, latest = (_later(soonest, urls, rate) for urls in unknown)
    is_bound = soonest is not None and end.seconds <= soonest
    found = sum(work.found_per_s for work in works)
    at_least = queued > 0 and not is_bound and (found > 0 or unknown[0] > FEW_FINDS * queued or eta is None)
    soonest, eta, latest = (_cut(seconds, end.seconds) for seconds in (soonest, eta, latest))
    shown = soonest if at_least or eta is None else eta
    left = "no estimate yet" if queued else "ending"
    if queued and shown is not None:
        left = f"{'at least ' if at_least else ''}{span(shown)} left" + (f" until {end.name}" if is_bound else "")
    return msgspec.structs.replace(
        outlook,
        soonest_s=soonest,
        eta_s=eta,
        latest_s=latest,
        at_least=at_least,
        left=left,
        why=_why(works, spent, limited_by, queued),
    )


def queue_s(works: Sequence[Workload], limited_by: str = NOTHING) -> float | None:
    """Seconds for the URLs that are queued, if nothing more is found; None if nothing is known of the pace."""
    queued, rate = sum(work.queued for work in works), sum(work.urls_per_s for work in works)
    slowest = max((_host_s(host, _latency(works)) for host in _slow_hosts(works)), default=None)
    if slowest is not None and limited_by == POLITENESS and sum(work.counted for work in works) >= COUNTED * queued:
        return slowest
    by_rate = queued / rate if rate > 0 else None
    return max((seconds for seconds in (slowest, by_rate) if seconds is not None), default=None)


def deciding_hosts(work: Workload) -> frozenset[str]:
    """The hosts whose delays decide when a gatherer is done: they take at least half of the time that is left."""
    rest_s, latency_s = queue_s([work]), _latency([work])
    return frozenset(host.host for host in work.slow if rest_s and _host_s(host, latency_s) >= rest_s / 2)


def limit_of(work: Workload) -> str:
    """What limits one gatherer: politeness, latency, cpu or nothing; nothing as long as it has only begun."""
    return _limit([work]) if work.spent.seconds >= BEGUN_S else NOTHING


def is_at_limit(works: Sequence[Workload]) -> bool:
    """Whether a crawl has fetched for as long, or as many pages, as the user allowed."""
    return _limits(works).progress >= 1.0


def span(seconds: float) -> str:
    """A time for people."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def pace(rate: float) -> str:
    """A rate for people: two digits of a slow one, since 0.4 is not 0."""
    return f"{rate:,.0f}" if rate >= 10 or not rate else f"{rate:.2g}"


def _percent(share: float) -> str:
    """A share for people; 100 % only if it is all."""
    return f"{math.floor(100 * share + 1e-9)} %"


# -- how far -----------------------------------------------------------------------------------------------


def _explored(works: Sequence[Workload], known: int, queued: int) -> tuple[float, float, float]:
    """The explored share of all gatherers together: each counts by what it knows."""
    done = known - queued
    if not known or not done:
        return 0.0, 0.0, 1.0
    if not queued:
        return 1.0, 1.0, 1.0
    fraction, low, _ = (sum(work.known * work.explored[at] for work in works) / known for at in range(3))
    high = done / known  # for certain
    fraction = min(max(fraction, 0.0), high)
    return fraction, min(max(low, 0.0), fraction), high


class _End(msgspec.Struct, frozen=True):
    """The limit that the user set and that ends the crawl first."""

    seconds: float = math.inf
    progress: float = 0.0
    name: str = ""


def _limits(works: Sequence[Workload]) -> _End:
    ends = []
    if most := max((work.max_pages for work in works), default=0):
        pages, rate = (sum(getattr(work, name) for work in works) for name in ("pages", "pages_per_s"))
        left = max(most - pages, 0)
        left_s = left / rate if rate > 0 else math.inf if left else 0.0
        ends.append(_End(left_s, min(pages / most, 1.0), f"{most:,} pages"))
    if lefts := [work.seconds_left for work in works if work.seconds_left is not None]:
        left_s, most_s = max(min(lefts), 0.0), max(work.max_seconds for work in works)
        ends.append(_End(left_s, max(1 - left_s / most_s, 0.0) if most_s else 0.0, span(most_s)))
    return min(ends, key=lambda end: end.seconds, default=_End())


def _later(soonest: float | None, urls: float, rate: float) -> float | None:
    """The time with so many URLs more."""
    if soonest is None or (urls and rate <= 0):
        return None
    return soonest + (urls / rate if urls else 0.0)


def _cut(seconds: float | None, end_s: float) -> float | None:
    """A time that ends with the limits of the crawl; None if it is too long to be told."""
    shortest = min(end_s if seconds is None else seconds, end_s)
    return round(shortest, 1) if shortest < LONGEST_S else None


def _no_time(state: str) -> dict[str, float]:
    return dict.fromkeys(("eta_s", "soonest_s", "latest_s"), 0.0) if state in ("done", "limit") else {}


# -- what limits -------------------------------------------------------------------------------------------


def _limit(works: Sequence[Workload]) -> str:
    """What took most of the time in which the gatherers had something to do."""
    total: dict[str, float] = {}
    for spent in (work.spent for work in works):
        work_s = spent.seconds - spent.idle_s
        if work_s <= LEAST_WORK * spent.seconds:
            continue
        limit = POLITENESS if spent.delays_s >= spent.answers_s else LATENCY
        limit = CPU if spent.cpu_s >= CPU_SHARE * spent.seconds else limit
        total[limit] = total.get(limit, 0.0) + work_s
    return max(total, key=lambda limit: total[limit], default=NOTHING)


def _past_why(works: Sequence[Workload], spent: TimeSpent, limited_by: str, queued: int, state: str) -> str:
    """What took the time of a crawl that has ended; of a short one that says nothing."""
    if state not in ENDED or spent.seconds < SHORT_S:
        return ""
    past = [msgspec.structs.replace(work, slow=[], in_flight=0) for work in works]  # what was slow at last is done
    return _why(past, spent, limited_by, queued)


def _why(works: Sequence[Workload], spent: TimeSpent, limited_by: str, queued: int) -> str:
    if limited_by == POLITENESS:
        return f"limited by {_hosts(works)}"
    if limited_by == CPU:
        return "limited by the CPU"
    if limited_by == LATENCY:
        under_way, latency_s = sum(work.in_flight for work in works), _latency(works)
        if not under_way:
            return "most of the time went into waiting for answers"
        return f"waiting for answers ({under_way:,} requests, {latency_s:.2g} s each)"
    if held := next((work.holds for work in works if work.holds), ""):
        return held
    return f"waiting to ask again for {queued:,} URLs" if queued and spent.seconds else ""


def _hosts(works: Sequence[Workload]) -> str:
    """The hosts whose delays decide when the crawl ends: how many, and how fast they may be asked."""
    hosts = _slow_hosts(works)
    if not hosts:
        return "the delays of hosts"
    latency_s = _latency(works)
    slowest = max(hosts, key=lambda host: _host_s(host, latency_s))
    half_s = _host_s(slowest, latency_s) / 2
    slow = [work for work in works if work.slow and _host_s(work.slow[0], latency_s) >= half_s]
    named = [host.host for work in slow for host in work.slow]
    twice = len(named) - len(set(named))  # a host may have several owners
    count = max(sum(work.slow_hosts for work in slow) - twice, 1)
    pace = _pace(slowest.delay_s)
    each = " each" if count > 1 else ""
    cause = f" ({slowest.cause})" if slowest.cause else ""
    return f"{count:,} host{'s' if count > 1 else ''} at {pace}{each}{cause}"


def _pace(delay_s: float) -> str:
    if delay_s > 1:
        return f"1 page in {delay_s:.3g} s"
    rate = 1 / delay_s if delay_s else math.inf
    return f"{rate:.3g} page{'' if rate == 1 else 's'}/s"


def _slow_hosts(works: Iterable[Workload]) -> list[SlowHost]:
    """The slowest hosts, each once: what several gatherers have queued for one host is added up."""
    found: dict[str, SlowHost] = {}
    for host in (host for work in works for host in work.slow):
        known = found.get(host.host)
        if known is not None:
            queued, wait_s = known.queued + host.queued, max(known.wait_s, host.wait_s)
            longer = max(known, host, key=lambda each: each.delay_s)
            host = msgspec.structs.replace(longer, queued=queued, wait_s=wait_s)
        found[host.host] = host
    return list(found.values())


def _host_s(host: SlowHost, latency_s: float) -> float:
    """Seconds until all that is queued for a host is answered."""
    return host.wait_s + max(host.queued * (host.delay_s + latency_s) - host.delay_s, 0.0)


def _latency(works: Sequence[Workload]) -> float:
    """The mean seconds until an answer."""
    measured = [(work.urls_per_s, work.latency_s) for work in works if work.urls_per_s > 0]
    rate = sum(weight for weight, _ in measured)
    return sum(weight * latency_s for weight, latency_s in measured) / rate if rate else 0.0
