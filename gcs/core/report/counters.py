"""What a gatherer counts. A value that adds up: over restarts, and over the gatherers of a team."""

from dataclasses import dataclass, field, fields, replace
from typing import Self

import msgspec

from gcs.core.page.change import Change


@dataclass(slots=True)
class Traffic:
    """What a gatherer exchanged with the others."""

    exchanged_urls: int = 0
    exchanged_bytes: int = 0
    suppressed_hot: int = 0
    suppressed_c_queue: int = 0
    moved_urls: int = 0
    #: length of the URLs exchanged; bytes in which ranges and revisits changed hands
    named_bytes: int = 0
    moved_bytes: int = 0
    #: messages in which URLs were exchanged
    blocks: int = 0

    def clear(self) -> None:
        """Begin again at nothing; whoever counts here goes on doing so."""
        for counter in fields(Traffic):
            setattr(self, counter.name, 0)

    def __add__(self, other: Self) -> "Traffic":
        return Traffic(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Traffic)))


@dataclass(slots=True)
class Counters:
    """Tally since the session began, resumed runs included."""

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

    def clear(self) -> None:
        """Begin again at nothing."""
        traffic = self.traffic
        traffic.clear()
        for counter in fields(Counters):
            setattr(self, counter.name, getattr(Counters(), counter.name))
        self.traffic = traffic

    def note(self, change: Change) -> None:
        """One page was found to be new, changed, the same or gone."""
        if change:
            setattr(self, change.value, getattr(self, change.value) + 1)

    def fail(self, kind: str) -> None:
        """One URL ended without a page."""
        self.failed += 1
        self.failures[kind] = self.failures.get(kind, 0) + 1

    def __add__(self, other: Self) -> "Counters":
        total = replace(self, failures=dict(self.failures), helped=dict(self.helped))
        for counter in fields(Counters):
            if counter.name in ("failures", "helped"):
                counts = getattr(total, counter.name)
                for key, count in getattr(other, counter.name).items():
                    counts[key] = counts.get(key, 0) + count
            elif counter.name == "peak_rss_mb":
                total.peak_rss_mb = max(self.peak_rss_mb, other.peak_rss_mb)
            else:
                setattr(total, counter.name, getattr(self, counter.name) + getattr(other, counter.name))
        return total

    def encode(self) -> bytes:
        """As bytes, for the checkpoint."""
        return msgspec.msgpack.encode(self)

    @staticmethod
    def decode(data: bytes | None) -> "Counters":
        """From bytes; None is a crawl that begins."""
        return msgspec.msgpack.decode(data, type=Counters) if data else Counters()
