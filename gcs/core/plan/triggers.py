"""When to rebalance: the reasons of §5.2 (idle, join, quit, locality), a call, and the user's own; and when not to.

    asked      somebody called for it: forced
    quit       a member of the plan wants to go: forced
    join       a member is not in the plan: forced, but not twice in `rebalance_s`
    idle       one has far less left to do than the mean, and there is enough to share
    locality   the present owners need far more time than others would
    trigger    the user's expression holds

What is not forced waits (`RebalancePace`): each such rebalance doubles the wait for the next, up to 16 times the
base; after a wait in which none was due it starts from the base again. An idle member that a rebalance could not help
is no reason for another until there is twice or half as much to do. Who has nothing to do, or next to nothing, waits
shorter: a plan that gives work to others does not disturb them for long.

Invariant: pure; a team that is in balance gives no reason, and an unforced one at most one per wait.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gcs.core.messages.tuples import Member
from gcs.core.plan.expression import Expression
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings

#: longest wait between two rebalances, and between two surveys, in units of `rebalance_s`
MOST_WAITS, MOST_SURVEYS = 16, 32
#: the first wait, in units of `rebalance_s`: little has to be handed over in a young crawl, and much has to be learnt
YOUNG = 0.25
#: the longest wait of a member with nothing to do, in units of `rebalance_s`; and the seconds of work, at the pace of
#: the team, that are next to nothing: URLs that others send one by one
EMPTY, NEXT_TO_NOTHING_S = 0.5, 0.5
#: a rebalance that moves a smaller share of the work has not helped
LEAST_MOVE = 0.01
#: seconds of work that must be left for an idle member: a rebalance takes about one second itself
LEAST_LEFT_S = 2.0
#: the figures of members that are added up for the user's expression
SUMS = ("queued", "in_flight", "known", "pages", "bytes", "pages_per_s", "exchanged_urls", "outbox")
#: every name that it may use
NAMES = frozenset({*SUMS, "members", "busy", "superpages", "imbalance", "urls_per_page", "epoch_s"})


@dataclass(frozen=True, slots=True)
class TeamState:
    """What a reason is looked for in."""

    plan: Plan
    #: heartbeats of the gatherers that crawl, and names of those that want to leave
    active: tuple[Member, ...]
    leaving: tuple[str, ...] = ()
    #: the caller of a rebalance, and its reason; "" if there is none
    asked: str = ""
    paused: bool = False
    #: time that all need under the present owners, as a multiple of that under better ones; 1 where not known
    locality: float = 1.0

    def left(self) -> dict[str, float]:
        """URLs that each gatherer has left to ask for. Those in flight are queued, too, but not to be given."""
        waiting = ((m.gatherer, m.figures.get("queued", 0.0) - m.figures.get("in_flight", 0.0)) for m in self.active)
        return {gatherer: max(urls, 0.0) for gatherer, urls in waiting}

    @property
    def pages_per_s(self) -> float:
        """Pages per second of all together."""
        return sum(member.figures.get("pages_per_s", 0.0) for member in self.active)

    def figures(self, epoch_s: float) -> Mapping[str, float]:
        """What the user's expression speaks of."""
        sums = {name: sum(member.figures.get(name, 0.0) for member in self.active) for name in SUMS}
        left, count = self.left().values(), max(len(self.active), 1)
        return sums | {
            "members": len(self.active),
            "busy": sum(member.figures.get("busy", 0.0) for member in self.active) / count,
            "superpages": len(self.plan.cuts),
            "imbalance": max(left) * count / sum(left) - 1 if sum(left) else 0.0,
            "urls_per_page": sums["exchanged_urls"] / sums["pages"] if sums["pages"] else 0.0,
            "epoch_s": epoch_s,
        }


@dataclass(frozen=True, slots=True)
class RebalancePace:
    """How long it is since the last plan, and how long to wait."""

    planned_at: float
    #: between a plan and the next one that is not forced
    wait_s: float
    surveyed_at: float
    survey_s: float
    #: what was left to do when a rebalance for an idle member did not help; None if it did
    futile: float | None = None

    @classmethod
    def begin(cls, now: float, settings: TeamSettings) -> "RebalancePace":
        return cls(now, YOUNG * settings.rebalance_s, now, 2 * settings.rebalance_s)

    def is_open(self, now: float, most_s: float = math.inf) -> bool:
        """Whether a rebalance that is not forced may begin, after so many seconds at most."""
        return now - self.planned_at >= min(self.wait_s, most_s)

    def is_survey_due(self, now: float) -> bool:
        """Whether it is time to ask for statistics without any reason: for locality and hot pages."""
        return now - max(self.surveyed_at, self.planned_at) >= self.survey_s

    def planned(self, now: float) -> "RebalancePace":
        """There is a new plan, for whatever reason."""
        return replace(self, planned_at=now)

    def surveyed(self, now: float, settings: TeamSettings) -> "RebalancePace":
        """Statistics came; they change less and less."""
        longest = MOST_SURVEYS * settings.rebalance_s
        return replace(self, surveyed_at=now, survey_s=min(2 * self.survey_s, longest))

    def decided(self, why: str, now: float, settings: TeamSettings, *, moved: float, left: float) -> "RebalancePace":
        """A rebalance for this reason has come to a decision."""
        if is_forced(why):
            return replace(self, planned_at=now, futile=None)
        base = settings.rebalance_s
        before = base if now - self.planned_at >= 2 * self.wait_s else self.wait_s
        if why.startswith("idle") and moved < LEAST_MOVE:  # nothing was disturbed
            return replace(self, planned_at=now, futile=left)
        return replace(self, planned_at=now, wait_s=min(2 * before, MOST_WAITS * base), futile=None)


def is_forced(why: str) -> bool:
    """Whether a reason brooks no delay, and a plan is due even if little moves."""
    return why.partition(":")[0] in ("asked", "quit", "join")


def reason(
    state: TeamState, settings: TeamSettings, pace: RebalancePace, now: float, trigger: Expression | None = None
) -> str:
    """Why there should be a rebalance now: the kind, a colon, and the gatherers or figures; "" without a reason."""
    if not state.active:
        return ""
    if state.asked:
        return f"asked: {state.asked}"
    if state.leaving:
        return f"quit: {', '.join(state.leaving)}"
    joining = [member.gatherer for member in state.active if member.gatherer not in state.plan.gatherers]
    if joining and now - pace.planned_at >= settings.rebalance_s:
        return f"join: {', '.join(joining)}"
    if joining or state.paused or state.plan.static or len(state.active) < 2:
        return ""
    idle = _idle(state, settings, pace)
    if idle and pace.is_open(now, EMPTY * settings.rebalance_s if _is_empty(state, idle) else math.inf):
        return f"idle: {idle}"
    if not pace.is_open(now):
        return ""
    if state.locality > settings.locality:
        return f"locality: {state.locality:.2f}"
    if trigger is not None and trigger.holds(state.figures(now - pace.planned_at)):
        return f"trigger: {trigger.text}"
    return ""


def _is_empty(state: TeamState, member: str) -> bool:
    """Whether a member has nothing to do, or next to nothing."""
    return state.left()[member] <= NEXT_TO_NOTHING_S * state.pages_per_s / len(state.active)


def _idle(state: TeamState, settings: TeamSettings, pace: RebalancePace) -> str:
    """The gatherer with least to do, if it has far less than the mean and there is enough to share; else ""."""
    left = state.left()
    total, count = sum(left.values()), len(left)
    idlest = min(left, key=lambda name: (left[name], name))
    if total < settings.idle_urls * count or left[idlest] >= settings.idle_share * total / count:
        return ""
    if total < LEAST_LEFT_S * state.pages_per_s:
        return ""
    if pace.futile is not None and pace.futile / 2 < total < pace.futile * 2:
        return ""
    return idlest
