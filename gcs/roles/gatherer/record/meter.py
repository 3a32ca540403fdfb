"""The meter: a gatherer's own progress, for the report, the progress line and the heartbeats.

The meter holds the counters and the evidence for the explored fraction; each checkpoint writes both into the frontier's
notes. It also measures time, CPU and memory. It decides nothing.
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
        self._name, self._frontier = name, frontier
        self.counters = Counters.decode(frontier.note("tally"))
        evidence = frontier.note("explored")
        self.explored = Explored(msgspec.msgpack.decode(evidence, type=ExploredEvidence) if evidence else None)
        self._started_at = self._turn_at = now
        self._rates_since = (now, self.counters.pages, self.counters.busy_s)
        self._before_s, self._before_cpu_s = self.counters.seconds, self.counters.cpu_s - cpu_s()

    def begin_again(self) -> None:
        """Set all counters to zero: a session begins."""
        self.counters.clear()
        self._before_s, self._before_cpu_s = 0.0, -cpu_s()
        self._rates_since = (self._rates_since[0], 0, 0.0)
        self.explored = Explored()

    def running_s(self, now: float) -> float:
        return now - self._started_at

    def turn(self, now: float, busy: bool) -> None:
        """A turn begins; `busy` says whether anything was under way since the last one."""
        if busy:
            self.counters.busy_s += now - self._turn_at
        self._turn_at = now

    def share(self, now: float, superpages: int, epoch: int, session: int) -> Share:
        counters = self.counters
        counters.seconds = self._before_s + now - self._started_at
        counters.cpu_s = self._before_cpu_s + cpu_s()
        counters.peak_rss_mb = peak_rss_mb()
        known, queued = self._frontier.known(), self._frontier.queued()
        fraction = 1.0 if known and not queued else self.explored.fraction()
        busy = min(counters.busy_s / counters.seconds, 1.0) if counters.seconds else 0.0
        unique = counters.pages - counters.repeated
        return Share(self._name, counters, known, queued, unique, fraction, busy, superpages, epoch, session)

    def figures(self, now: float, share: Share, under_way: int) -> dict[str, float]:
        counters, (then, pages, busy_s) = self.counters, self._rates_since
        span = max(now - then, 0.001)
        if span >= FIGURES_S:
            self._rates_since = (now, counters.pages, counters.busy_s)
        return {
            "queued": share.queued,
            "known": share.known_urls,
            "in_flight": under_way,
            "pages": counters.pages,
            "bytes": counters.size_bytes,
            "busy": round(min((counters.busy_s - busy_s) / span, 1.0), 3),
            "pages_per_s": round((counters.pages - pages) / span, 2),
            "explored": round(share.explored_fraction, 4),
            "exchanged_urls": counters.traffic.exchanged_urls,
            "suppressed_hot": counters.traffic.suppressed_hot,
            "suppressed_cqueue": counters.traffic.suppressed_c_queue,
        }

    def note(self, share: Share) -> None:
        """Put everything into the frontier's notes, for the next commit."""
        self._frontier.set_note("tally", self.counters.encode())
        self._frontier.set_note("explored", msgspec.msgpack.encode(self.explored.evidence))
        self._frontier.set_note("share", msgspec.msgpack.encode(share))
