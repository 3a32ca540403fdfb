"""The meter: what a gatherer knows of its own progress, for the report, the progress line and the heartbeats.

It holds the tally and the evidence for the explored fraction, both kept in the frontier's notes from checkpoint to
checkpoint, and measures time, CPU and memory. It decides nothing.
"""

import msgspec

from gcs.core.report.counters import Counters
from gcs.core.report.estimate import Explored, ExploredEvidence
from gcs.core.report.report import Share
from gcs.ports.frontier import Frontier
from gcs.ports.process import cpu_s, peak_rss_mb

#: seconds over which the rates of a heartbeat are measured
FIGURES_S = 5.0


class Meter:
    """Measures one gatherer. `superpages` and `epoch` are those of its team."""

    def __init__(self, name: str, frontier: Frontier, now: float) -> None:
        self._name = name
        self._frontier = frontier
        self.counters = Counters.decode(frontier.note("tally"))
        evidence = frontier.note("explored")
        self.explored = Explored(msgspec.msgpack.decode(evidence, type=ExploredEvidence) if evidence else None)
        self._started_at = self._turn_at = now
        self._rates_since = (now, self.counters.pages, self.counters.busy_s)
        self._before_s, self._before_cpu_s = self.counters.seconds, self.counters.cpu_s - cpu_s()

    def begin_again(self) -> None:
        """Count from nothing: a recrawl begins."""
        self.counters.clear()
        self._before_s, self._before_cpu_s = 0.0, -cpu_s()
        self._rates_since = (self._rates_since[0], 0, 0.0)
        self.explored = Explored()

    def running_s(self, now: float) -> float:
        """Seconds of this run."""
        return now - self._started_at

    def turn(self, now: float, busy: bool) -> None:
        """A turn begins; `busy` says whether anything was under way since the last one."""
        if busy:
            self.counters.busy_s += now - self._turn_at
        self._turn_at = now

    def share(self, now: float, superpages: int, epoch: int, session: int) -> Share:
        """This gatherer's part of the report."""
        tally = self.counters
        tally.seconds = self._before_s + now - self._started_at
        tally.cpu_s = self._before_cpu_s + cpu_s()
        tally.peak_rss_mb = peak_rss_mb()
        known, queued = self._frontier.known(), self._frontier.queued()
        fraction = 1.0 if known and not queued else self.explored.fraction()
        busy = min(tally.busy_s / tally.seconds, 1.0) if tally.seconds else 0.0
        unique = tally.pages - tally.repeated
        return Share(self._name, tally, known, queued, unique, fraction, busy, superpages, epoch, session)

    def figures(self, now: float, share: Share, under_way: int) -> dict[str, float]:
        """What the others may know of us, with each heartbeat."""
        tally, (then, pages, busy_s) = self.counters, self._rates_since
        span = max(now - then, 0.001)
        if span >= FIGURES_S:
            self._rates_since = (now, tally.pages, tally.busy_s)
        return {
            "queued": share.queued,
            "known": share.known_urls,
            "in_flight": under_way,
            "pages": tally.pages,
            "bytes": tally.size_bytes,
            "busy": round(min((tally.busy_s - busy_s) / span, 1.0), 3),
            "pages_per_s": round((tally.pages - pages) / span, 2),
            "explored": round(share.explored_fraction, 4),
            "exchanged_urls": tally.traffic.exchanged_urls,
            "suppressed_hot": tally.traffic.suppressed_hot,
            "suppressed_cqueue": tally.traffic.suppressed_c_queue,
        }

    def note(self, share: Share) -> None:
        """Put everything into the frontier's notes, for the next commit."""
        self._frontier.set_note("tally", self.counters.encode())
        self._frontier.set_note("explored", msgspec.msgpack.encode(self.explored.evidence))
        self._frontier.set_note("share", msgspec.msgpack.encode(share))
