"""The leader of a simulated team: the same reasons, the same plans and the same limits of hosts as in a live crawl.

Reasons come from `core.plan.triggers`, plans from `core.plan.rebalance`. So a host that its delay limits stays whole
here, too, and no gatherer is relieved for the sake of a balance that the slowest host makes useless. What is left out:
surveys, which look for distant gatherers and hot pages.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from gcs.core.messages.tuples import Member
from gcs.core.plan.host_limits import HostLimits
from gcs.core.plan.next_plan import RoundEvidence, TeamMembers
from gcs.core.plan.plan import Plan
from gcs.core.plan.rebalance import make_plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.plan.triggers import LEAST_MOVE, RebalancePace, TeamState, reason
from gcs.core.tree.statistics import MeasuredWork, SuperpageFigures, SuperpageStatistics
from gcs.core.tree.tree import UrlTree
from gcs.sim.graph.web_graph import Ids

#: seconds from a plan to its commit: the first one, and one with ranges to hand over; measured on live teams
FIRST_COMMIT_S, COMMIT_S = 0.25, 0.45
#: seconds over which pages per second are counted
RATES_S = 10.0
#: in a long crawl, a step takes this part of the time since its start
LONG = 0.001
#: keys of queued pages in the sample that a leader gets
_SAMPLE = 4_000


@dataclass(frozen=True, slots=True)
class PageCounts:
    """What the gatherers have counted since the last plan."""

    #: the sort key of each page, and the pages that are known, and that wait
    keys: Sequence[bytes] = field(repr=False)
    known: Ids = field(repr=False)
    waiting: Ids = field(repr=False)
    #: gatherer → pages that it has stored, and the seconds that they took together
    stored: Mapping[str, tuple[Ids, float]] = field(repr=False)
    #: the superpage of each page
    superpages: Ids = field(repr=False)

    def evidence(self, plan: Plan, limits: HostLimits, random: Random) -> RoundEvidence:
        """The same as the merged replies of a live round."""
        tree, count, at = UrlTree(plan.cuts, random), len(plan.cuts), self.superpages
        for page in self.known.tolist():
            tree.visit(self.keys[page])
        stored = np.concatenate([pages for pages, _ in self.stored.values()])
        tables = [np.bincount(at[pages], minlength=count).tolist() for pages in (self.known, self.waiting, stored)]
        statistics = SuperpageStatistics(
            {place: SuperpageFigures(*figures) for place, figures in enumerate(zip(*tables)) if figures[0]}
        )
        for gatherer, (pages, seconds) in self.stored.items():
            places, amounts = np.unique(at[pages], return_counts=True)
            each_s = seconds / max(len(pages), 1)
            statistics.rates[gatherer] = {
                place: MeasuredWork(amount, amount * each_s) for place, amount in zip(places.tolist(), amounts.tolist())
            }
        sample = random.sample(self.waiting.tolist(), min(_SAMPLE, len(self.waiting)))
        statistics.waiting = sorted(self.keys[page] for page in sample)
        return RoundEvidence(tree, statistics, {}, limits)


class TimedLeader:
    """Steps twice a beat, as a live leader does, while the crawl is young."""

    def __init__(self, settings: TeamSettings, limits: HostLimits, now: float) -> None:
        self._settings, self._limits, self._random = settings, limits, Random(0)
        self._pace = RebalancePace.begin(now, settings)
        self._committed_at, self._is_new = now + FIRST_COMMIT_S, True
        self._members: tuple[Member, ...] = ()
        self._beat_at = -settings.beat_s
        #: moments of the last RATES_S, and the pages that each gatherer had stored by then
        self._marks: deque[tuple[float, Sequence[int]]] = deque()
        #: why replies were asked for; "" if no round is open
        self._why = ""

    def next_at(self, now: float) -> float:
        """When the next step is due: in a long crawl less often than live, since the seconds do not matter there."""
        return now + max(self._settings.beat_s / 2, LONG * now)

    def is_changing(self, now: float) -> bool:
        """Whether ranges are on their way to new owners."""
        return now < self._committed_at

    def step(
        self, now: float, plan: Plan, left: Sequence[int], stored: Sequence[int], counts: Callable[[], PageCounts]
    ) -> Plan | None:
        """The next plan, if there is one now. What each gatherer has left to ask for, and has stored so far."""
        if now - self._beat_at >= self._settings.beat_s:
            self._beat_at = now
            self._members = tuple(
                Member(name, "", figures={"queued": some, "pages_per_s": rate})
                for name, some, rate in zip(plan.gatherers, left, self._rates(now, stored))
            )
        if self.is_changing(now):
            return None
        if self._is_new:
            self._is_new, self._pace = False, self._pace.planned(now)
        if not self._why:
            self._why = reason(TeamState(plan, self._members), self._settings, self._pace, now)
            return None
        why, self._why = self._why, ""
        evidence = counts().evidence(plan, self._limits, self._random)
        draft = make_plan(plan, TeamMembers(plan.gatherers), evidence, self._settings)
        self._pace = self._pace.decided(why, now, self._settings, moved=draft.moved, left=sum(left))
        if draft.moved < LEAST_MOVE:
            return None
        self._committed_at, self._is_new = now + COMMIT_S, True
        return draft.plan

    def _rates(self, now: float, stored: Sequence[int]) -> list[float]:
        """The pages per second of each gatherer in the last seconds."""
        self._marks.append((now, stored))
        while len(self._marks) > 2 and now - self._marks[1][0] >= RATES_S:
            self._marks.popleft()
        then, before = self._marks[0]
        return [(pages - earlier) / max(now - then, self._settings.beat_s) for pages, earlier in zip(stored, before)]
