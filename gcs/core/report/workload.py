"""The workload of a gatherer: what is left to do, how fast it goes, and what takes the time. Measured, not judged.

written by: the meter of a gatherer, into its heartbeat and its share of the report
read by: `core.report.estimate`, which makes one estimate of the workloads of all gatherers
"""

from dataclasses import dataclass, fields
from typing import Self

import msgspec


@dataclass(slots=True)
class TimeSpent:
    """Where the time of a gatherer went, in seconds. The last three of them add up to `seconds`."""

    seconds: float = 0.0
    #: the process ran, or was ready to run and waited for a core; or every process that reads texts was busy
    cpu_s: float = 0.0
    #: hosts that have URLs waited for their delays
    delays_s: float = 0.0
    #: requests waited for answers
    answers_s: float = 0.0
    #: there was nothing to ask for, or nothing was allowed to start
    idle_s: float = 0.0

    def __add__(self, other: Self) -> "TimeSpent":
        return TimeSpent(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(TimeSpent)))

    def since(self, before: Self) -> "TimeSpent":
        """The time spent between two moments; never below 0, though a session may have begun in between."""
        names = [each.name for each in fields(TimeSpent)]
        return TimeSpent(*(max(getattr(self, name) - getattr(before, name), 0.0) for name in names))


class SlowHost(msgspec.Struct, frozen=True, array_like=True):
    """A host that owes its pace to its delay."""

    host: str
    #: URLs that wait for it
    queued: int
    delay_s: float
    #: where the delay comes from: "--delay 1", "crawl-delay 10", "overloaded"
    cause: str = ""
    #: seconds until it may be asked next
    wait_s: float = 0.0


class Workload(msgspec.Struct, frozen=True, array_like=True):
    """The facts of one gatherer. Rates are those of the last seconds."""

    known: int = 0
    queued: int = 0
    pages: int = 0
    #: the explored fraction by the gatherer's own evidence, with bounds
    explored: tuple[float, float, float] = (0.0, 0.0, 1.0)
    #: URLs dealt with, pages stored, and URLs found, per second
    urls_per_s: float = 0.0
    pages_per_s: float = 0.0
    found_per_s: float = 0.0
    #: where the time of the last seconds went
    spent: TimeSpent = msgspec.field(default_factory=TimeSpent)
    #: requests under way, and the mean seconds until an answer
    in_flight: int = 0
    latency_s: float = 0.0
    #: the hosts whose delays take the longest, the slowest first; and how many take at least half as long as that one
    slow: list[SlowHost] = []
    slow_hosts: int = 0
    #: queued URLs of all hosts with a delay, as far as they were counted
    counted: int = 0
    #: the limits of the crawl: pages of all gatherers, and seconds; 0 for no limit
    max_pages: int = 0
    max_seconds: float = 0.0
    seconds_left: float | None = None
    #: why no request may start ("" if requests may): the text for people
    holds: str = ""
    #: whether this gatherer would lend to helpers
    lends: bool = False
