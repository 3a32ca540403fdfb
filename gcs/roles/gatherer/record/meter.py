"""The meter: a gatherer's own progress, for the report, the progress line and the heartbeats.

The meter holds the counters and the evidence for the explored fraction; each checkpoint writes both into the frontier's
notes. It also measures time, CPU and memory, and where the time goes. It decides nothing.
"""

from collections import deque
from dataclasses import dataclass, field

import msgspec

from gcs.core.report.counters import Counters
from gcs.core.report.explored import Explored, ExploredEvidence
from gcs.core.report.quality import sample
from gcs.core.report.report import Share
from gcs.core.report.workload import TimeSpent, Workload
from gcs.ports.frontier import Frontier
from gcs.ports.system.process import core_s, cpu_s, peak_rss_mb

#: seconds over which rates are measured, and between two of the marks that they are measured from
RATES_S, MARK_S = 10.0, 1.0
NO_WORK = Workload()


@dataclass(frozen=True, slots=True)
class _Mark:
    """What was counted at one moment; rates are the differences of two marks."""

    at: float
    pages: int = 0
    #: URLs dealt with, and URLs found
    done: int = 0
    found: int = 0
    #: seconds that requests were under way, each counted by itself
    asked_s: float = 0.0
    busy_s: float = 0.0
    spent: TimeSpent = field(default_factory=TimeSpent)


class Meter:
    """Measures one gatherer. `superpages` and `epoch` are those of its team."""

    def __init__(self, name: str, frontier: Frontier, now: float) -> None:
        self._name, self._frontier = name, frontier
        self.counters = Counters.decode(frontier.note("tally"))
        evidence = frontier.note("explored")
        self.explored = Explored(msgspec.msgpack.decode(evidence, type=ExploredEvidence) if evidence else None)
        self._started_at = self._turn_at = now
        self._asked_s, self._core_s = 0.0, core_s()
        #: filled by share, the newest last; emptied when they are old
        self._marks: deque[_Mark] = deque()
        self._before_s, self._before_cpu_s = self.counters.seconds, self.counters.cpu_s - cpu_s()

    def begin_again(self) -> None:
        """Set all counters to zero: a session begins."""
        self.counters.clear()
        self._before_s, self._before_cpu_s = 0.0, -cpu_s()
        self.explored = Explored()
        at = self._marks[-1].at if self._marks else self._started_at
        self._marks = deque([_Mark(at, asked_s=self._asked_s)])

    def running_s(self, now: float) -> float:
        return now - self._started_at

    def turn(self, now: float, *, busy: bool, asked: int = 0, delayed: int = 0, is_reading: bool = False) -> None:
        """A turn begins. Since the last one, `asked` requests were under way and `delayed` hosts waited for a delay.

        `busy`: anything was under way. `is_reading`: all processes that read texts were busy.
        """
        spent, span_s = self.counters.spent, now - self._turn_at
        self._turn_at = now
        if busy:
            self.counters.busy_s += span_s
        self._asked_s += span_s * asked
        spent.seconds += span_s
        if is_reading:
            spent.cpu_s += span_s
        if asked or delayed:
            spent.delays_s += span_s * delayed / (asked + delayed)
            spent.answers_s += span_s * asked / (asked + delayed)
        else:
            spent.idle_s += span_s
        if not self._marks:  # what was replayed before the first turn is no work of this run
            self._marks.append(self._mark(now))

    def share(self, now: float, superpages: int, epoch: int, session: int, work: Workload = NO_WORK) -> Share:
        """The gatherer's part of the report; `work` says what is not measured here, and what has left the frontier."""
        counters = self.counters
        counters.seconds = self._before_s + now - self._started_at
        counters.cpu_s = self._before_cpu_s + cpu_s()
        counters.peak_rss_mb = peak_rss_mb()
        used_s, self._core_s = core_s() - self._core_s, core_s()
        counters.spent.cpu_s += used_s
        known, queued = self._frontier.known() + work.known, self._frontier.queued() + work.queued
        explored = self.explored.estimate(queued / (known - queued) if known > queued else None)
        fractions = (explored.fraction, explored.low, explored.high)
        now_mark, then = self._recent(now)
        span_s, done = max(now - then.at, 0.001), now_mark.done - then.done
        work = msgspec.structs.replace(
            work,
            known=known,
            queued=queued,
            pages=counters.pages,
            explored=(1.0, 1.0, 1.0) if known and not queued else fractions,
            urls_per_s=round(done / span_s, 3),
            pages_per_s=round((counters.pages - then.pages) / span_s, 3),
            found_per_s=round((now_mark.found - then.found) / span_s, 3),
            spent=now_mark.spent.since(then.spent),
            latency_s=round((now_mark.asked_s - then.asked_s) / done, 4) if done else 0.0,
        )
        busy = min(counters.busy_s / counters.seconds, 1.0) if counters.seconds else 0.0
        unique = counters.pages - counters.repeated
        return Share(
            *(self._name, counters, known, queued, unique, work.explored[0], busy, superpages, epoch, session),
            work,
            sample(self.explored.evidence),
        )

    def figures(self, share: Share, under_way: int) -> dict[str, float]:
        """The figures of a heartbeat, at the moment of this share."""
        counters, then, last = self.counters, self._marks[0], self._marks[-1]
        span_s = max(last.at - then.at, 0.001)
        return {
            "queued": self._frontier.queued(),
            "known": share.known_urls,
            "in_flight": under_way,
            "pages": counters.pages,
            "bytes": counters.size_bytes,
            "busy": round(min((last.busy_s - then.busy_s) / span_s, 1.0), 3),
            "pages_per_s": round(share.work.pages_per_s, 2),
            "explored": round(share.explored_fraction, 4),
            "exchanged_urls": counters.traffic.exchanged_urls,
            "suppressed_hot": counters.traffic.suppressed_hot,
            "suppressed_cqueue": counters.traffic.suppressed_c_queue,
        }

    def _recent(self, now: float) -> tuple[_Mark, _Mark]:
        """The mark of this moment, and the one to compare it with."""
        marks, mark = self._marks, self._mark(now)
        if not marks or now - marks[-1].at >= MARK_S:
            marks.append(mark)
        while len(marks) > 2 and now - marks[1].at >= RATES_S:
            marks.popleft()
        return mark, marks[0]

    def _mark(self, now: float) -> _Mark:
        counters, evidence = self.counters, self.explored.evidence
        done = evidence.fetched + counters.denied_by_robots
        spent = counters.spent + TimeSpent()
        return _Mark(now, counters.pages, done, evidence.known, self._asked_s, counters.busy_s, spent)

    def note(self, share: Share) -> None:
        """Put everything into the frontier's notes, for the next commit."""
        self._frontier.set_note("tally", self.counters.encode())
        self._frontier.set_note("explored", msgspec.msgpack.encode(self.explored.evidence))
        self._frontier.set_note("share", msgspec.msgpack.encode(share))
