"""What a gatherer counts. Counters add up: over restarts, and over the gatherers of a team.

They are filled by the parts of a gatherer, which hold them by reference: `clear` empties them in place.
"""

from dataclasses import dataclass, field, fields
from typing import Any, Self

import msgspec

from gcs.core.page.change import Change
from gcs.core.report.workload import TimeSpent


@dataclass(slots=True)
class Traffic:
    """What a gatherer exchanged with the others."""

    exchanged_urls: int = 0
    exchanged_bytes: int = 0
    suppressed_hot: int = 0
    suppressed_c_queue: int = 0
    moved_urls: int = 0
    #: length of the URLs exchanged; bytes in which ranges and revisits were handed over
    named_bytes: int = 0
    moved_bytes: int = 0
    #: messages in which URLs were exchanged
    blocks: int = 0
    #: links into the parts of others, thrown away behind the firewall
    dropped: int = 0

    def clear(self) -> None:
        Traffic.__init__(self)

    def __add__(self, other: Self) -> "Traffic":
        return Traffic(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Traffic)))


@dataclass(slots=True)
class PhaseTimes:
    """Where the time of a bulk-synchronous gatherer went (`core.messages.barrier`)."""

    supersteps: int = 0
    computation_s: float = 0.0
    communication_s: float = 0.0
    waiting_s: float = 0.0

    def clear(self) -> None:
        PhaseTimes.__init__(self)

    def __add__(self, other: Self) -> "PhaseTimes":
        return PhaseTimes(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(PhaseTimes)))


@dataclass(slots=True)
class Counters:
    """All since the session began, resumed runs included."""

    pages: int = 0
    #: pages of these that were stored a second time
    repeated: int = 0
    size_bytes: int = 0
    redirects: int = 0
    #: pages that the server did not send again (304)
    revisits: int = 0
    failed: int = 0
    denied_by_robots: int = 0
    retries: int = 0
    links: int = 0
    seconds: float = 0.0
    #: seconds with at least one request or text under way
    busy_s: float = 0.0
    cpu_s: float = 0.0
    #: seconds from a request to the end of its answer, all answers together
    answer_s: float = 0.0
    peak_rss_mb: float = 0.0
    #: what became of the pages since the last session
    new: int = 0
    changed: int = 0
    same: int = 0
    gone: int = 0
    #: URLs that ended without a page, by kind ("timeout", "http-404", …)
    failures: dict[str, int] = field(default_factory=dict)
    #: URLs that helpers have dealt with, by helper
    helped: dict[str, int] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)
    #: where the time went
    spent: TimeSpent = field(default_factory=TimeSpent)
    #: pages stored as empty shells: their scripts would write what they say
    shells: int = 0
    #: what pages need (style sheets, images…), stored; and its bytes
    requisites: int = 0
    requisite_bytes: int = 0
    phases: PhaseTimes = field(default_factory=PhaseTimes)

    def clear(self) -> None:
        self.traffic.clear()
        self.phases.clear()
        Counters.__init__(self, traffic=self.traffic, phases=self.phases)

    def note(self, change: Change) -> None:
        """Count a page that was found to be new, changed, unchanged or gone."""
        self.new += change is Change.NEW
        self.changed += change is Change.CHANGED
        self.same += change is Change.SAME
        self.gone += change is Change.GONE

    def fail(self, kind: str) -> None:
        """Count a URL that ended without a page."""
        self.failed += 1
        self.failures[kind] = self.failures.get(kind, 0) + 1

    def __add__(self, other: Self) -> "Counters":
        apart: dict[str, Any] = {
            "failures": _added(self.failures, other.failures),
            "helped": _added(self.helped, other.helped),
            "peak_rss_mb": max(self.peak_rss_mb, other.peak_rss_mb),
        }
        names = [counter.name for counter in fields(Counters) if counter.name not in apart]
        return Counters(**{name: getattr(self, name) + getattr(other, name) for name in names}, **apart)

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @staticmethod
    def decode(data: bytes | None) -> "Counters":
        """From bytes; None is a crawl that begins."""
        return msgspec.msgpack.decode(data, type=Counters) if data else Counters()


def _added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in one | other}
