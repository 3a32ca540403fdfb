"""The backlog: how many URLs wait for each host in the window, and which hosts take the longest by their delays.

The window knows how many URLs of a host it holds; those on disk are counted once, then followed as they come and go.
The count is put right whenever a host has nothing left on disk. The backlog decides nothing.
"""

from dataclasses import dataclass, field
from heapq import nlargest

from gcs.core.polite.politeness import HostPace, Politeness, delay_of
from gcs.core.polite.window import Host, Window
from gcs.core.report.workload import SlowHost
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier import Frontier

#: slow hosts that are named
NAMED = 3
#: slow hosts that are shown to people
SHOWN = 50
#: URLs on disk that are counted in one look
COUNTED_URLS = 500_000
#: seconds until the last URL of a host, its URLs, its delay, and the host
_Wait = tuple[float, int, float, Host[QueuedUrl]]


@dataclass(frozen=True, slots=True)
class SlowHosts:
    """The hosts whose delays take the longest."""

    #: the slowest first
    named: list[SlowHost] = field(default_factory=list)
    #: hosts that take at least half as long as the slowest
    count: int = 0
    #: queued URLs of all hosts with a delay
    urls: int = 0


class Backlog:
    """The backlog of one gatherer."""

    def __init__(self, window: Window[QueuedUrl], frontier: Frontier) -> None:
        self._window, self._frontier = window, frontier

    def added(self, name: str, urls: int = 1) -> None:
        """Count URLs of a host that were put on disk."""
        host = self._window.hosts.get(name)
        if host is not None and host.on_disk >= 0:
            host.on_disk += urls

    def taken(self, host: Host[QueuedUrl], urls: int, is_all: bool) -> None:
        """Count URLs of a host that were taken from disk; `is_all`: none are left there."""
        if is_all:
            host.on_disk = 0
        elif host.on_disk >= 0:
            host.on_disk = max(host.on_disk - urls, 0)

    def slow_hosts(self, now: float) -> SlowHosts:
        """The slowest of all hosts in the window."""
        found, urls = self._waits(now)
        slowest = nlargest(NAMED, found, key=lambda each: each[0])
        return SlowHosts(
            named=self._told(slowest, now),
            count=sum(each[0] >= slowest[0][0] / 2 for each in found) if found else 0,
            urls=urls,
        )

    def paces(self, now: float) -> list[SlowHost]:
        """More of them, for people."""
        return self._told(nlargest(SHOWN, self._waits(now)[0], key=lambda each: each[0]), now)

    def _told(self, waits: list[_Wait], now: float) -> list[SlowHost]:
        rules = self._window.rules
        return [
            SlowHost(host.name, queued, delay_s, _cause(host.pace, rules), max(host.pace.next_at - now, 0.0))
            for _, queued, delay_s, host in waits
        ]

    def _waits(self, now: float) -> tuple[list[_Wait], int]:
        """The hosts that have a delay, and how many URLs wait for them."""
        rules, budget, urls = self._window.rules, COUNTED_URLS, 0
        found: list[_Wait] = []
        for host in self._window.hosts.values():
            delay_s = delay_of(host.pace, rules)
            if not delay_s:
                continue
            if host.more and host.on_disk < 0 and budget > 0 and not self._frontier.is_pooled:
                host.on_disk = self._frontier.queue_length(host.name, budget)
                budget -= host.on_disk
            queued = len(host.waiting) + host.pace.in_flight + (max(host.on_disk, 0) if host.more else 0)
            if queued:
                urls += queued
                found.append((max(host.pace.next_at - now, 0.0) + queued * delay_s, queued, delay_s, host))
        return found, urls


def _cause(pace: HostPace, rules: Politeness) -> str:
    """Where the delay of a host comes from."""
    delay_s = delay_of(pace, rules)
    if delay_s == rules.delay_s:
        return f"--delay {delay_s:g}"
    return "overloaded" if delay_s == pace.adaptive_s else f"crawl-delay {delay_s:g}"
