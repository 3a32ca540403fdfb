"""The leader's decision: from the plan of one epoch, and what its gatherers have counted, the plan of the next one.

Four plans can follow. `first_plan` begins a crawl. `make_plan` is the paper's round (§5.2, §5.3): merge, superpages,
partition. `refreshed` changes the hot pages only. `recovered` gives away what a dead gatherer owned when its disk
cannot be reached; it touches nothing else, so that hand-overs between the living go on under it.

A superpage weighs what is left to do: its queued URLs, and a small share of the seen ones, so that parts of which
much is known are spread although nothing of them is queued. Superpage Creation counts visits; where the queue is
denser than the visits (late in a crawl), what is too heavy a piece of the queue is cut once more.

Invariant: pure, and the epoch is provisional: the whiteboard gives the final one. A plan's `moves` are all ranges that
change hands with it, or still do from the plan before.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from random import Random

import msgspec
import numpy as np

from gcs.core import ranges
from gcs.core.evidence import Evidence
from gcs.core.graph import Floats, Links
from gcs.core.leaf import Leaf
from gcs.core.partition import greedy, sticky
from gcs.core.partition.problem import GONE, URLS_PER_PAGE_TIME, Owners, Problem
from gcs.core.plan import ExchangeMode, Plan, diff
from gcs.core.sortkey import FIRST_KEY, LAST_KEY, sort_key
from gcs.core.statistics import Statistics, project
from gcs.core.superpages import NOBODY, Superpages, create, expand, inherit, threshold, weigh
from gcs.core.team import TeamSettings
from gcs.core.tree import Cuts, Tree

#: what a URL that is seen and done weighs, of one that is queued
SEEN_SHARE = 0.02
#: and what a superpage weighs of which nothing is known, of an average one
_UNKNOWN = 1e-3
#: pieces heavier than so many times Δ are cut again
_HEAVY = 2.0
#: fetched pages per gatherer below which rates say nothing about locality
_MEASURED = 50


@dataclass(frozen=True, slots=True)
class Team:
    """For whom a plan is made."""

    #: who gets superpages, in order
    running: tuple[str, ...]
    #: who is to be relieved of everything
    leavers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan that may be published, and what it would change."""

    plan: Plan
    #: share of the weight that changes its owner
    moved: float
    #: time that all need together under the present owners, as a multiple of that under the plan; 1 where not measured
    locality: float = 1.0


def first_plan(running: tuple[str, ...], cuts: Cuts, settings: TeamSettings, heir: str | None = None) -> Plan:
    """The superpages of the user's expansion, round-robin, or all to one who has begun the crawl alone.

    Nobody has anything to hand over.
    """
    owners = [at % len(running) if heir is None else running.index(heir) for at in range(len(cuts))]
    return Plan(
        epoch=1,
        gatherers=running,
        cuts=cuts,
        owners=tuple(owners),
        mode=ExchangeMode(settings.mode),
        lost=((FIRST_KEY, LAST_KEY),),
    )


def make_plan(old: Plan, team: Team, evidence: Evidence, settings: TeamSettings, *, fresh: bool = False) -> Draft:
    """The next plan: with as little to hand over as can be, or `fresh`, as if nobody owned anything."""
    pages = _superpages(old, evidence, len(team.running), settings)
    current = _heirs(old, pages, team.running)
    problem = replace(_problem(old, pages, evidence.statistics, team.running, settings), current=current)
    if fresh:
        owners = (greedy.partition_i if problem.links is None else greedy.partition_ii)(problem)
    else:
        owners = sticky.partition(problem)
    plan = Plan(
        epoch=old.epoch + 1,
        gatherers=team.running,
        cuts=pages.cuts,
        owners=tuple(owners.tolist()),
        hot_pages=hot_pages(old, evidence, settings.hot_pages),
        mode=ExchangeMode(settings.mode),
        leavers=team.leavers,
    )
    plan = msgspec.structs.replace(plan, moves=tuple(diff(old, plan)))
    moved = float(problem.work[owners != current].sum() / problem.work.sum())
    return Draft(plan, moved, _locality(problem, current, owners, evidence.statistics))


def refreshed(old: Plan, hot: tuple[str, ...]) -> Plan:
    """The same plan with other hot pages; nothing changes hands."""
    return msgspec.structs.replace(old, epoch=old.epoch + 1, hot_pages=hot, lost=(), moves=(), leavers=())


def recovered(old: Plan, running: Sequence[str], dead: Collection[str], *, committed: bool) -> Plan:
    """The same plan without the dead: what they owned, or had to hand over, is lost and begun anew by others.

    `committed`: all that the old plan moves is handed over. If not, what the living owe one another stays due.
    """
    due = () if committed else old.moves
    lost = [(low, high) for low, high, owner in old.ranges() if owner in dead]
    lost += [(move.low, move.high) for move in due if move.loser in dead]
    lost += [] if committed else old.lost
    gatherers = tuple(sorted({*running, *old.gatherers} - set(dead)))
    owners = [old.gatherers[owner] for owner in old.owners]
    held = {name: owners.count(name) for name in running}
    for at, owner in enumerate(owners):
        if owner in dead:
            owners[at] = min(held, key=lambda name: (held[name], name))
            held[owners[at]] += 1
    gone = ranges.unite(lost)
    return Plan(
        epoch=old.epoch + 1,
        gatherers=gatherers,
        cuts=old.cuts,
        owners=tuple(map(gatherers.index, owners)),
        # their new owners have never heard of the hot ones
        hot_pages=tuple(url for url in old.hot_pages if not ranges.contains(gone, sort_key(url))),
        mode=old.mode,
        lost=gone,
        moves=tuple(move for move in due if not {move.loser, move.winner} & set(dead)),
        leavers=() if committed else tuple(name for name in old.leavers if name not in dead),
    )


def hot_pages(old: Plan, evidence: Evidence, most: int) -> tuple[str, ...]:
    """The most linked candidates; those of the old plan first, as long as they are candidates."""
    known, counts = set(old.hot_pages), evidence.hot
    ranked = sorted(counts, key=lambda url: (url not in known, -counts[url], url))
    return tuple(ranked[:most])


def _superpages(old: Plan, evidence: Evidence, gatherers: int, settings: TeamSettings) -> Superpages:
    tree, statistics = evidence.tree, evidence.statistics
    if not tree.visits:
        return Superpages(old.cuts, (0.0,) * len(old.cuts), ())
    pages = create(tree, threshold(tree.visits, gatherers, settings.delta), old.owners)
    old_work, work = _work(statistics, len(old.cuts)), _work(project(statistics, old.cuts, pages), len(pages.cuts))
    share = float(work.sum()) / (gatherers * settings.delta)
    heavy = set(np.flatnonzero(work > max(_HEAVY * share, 1.0)).tolist())
    cuts = set(pages.cuts)
    leaves = dict(tree.leaves())
    for at in sorted({before for before, after, _ in pages.shares if after in heavy}):
        if old_work[at]:
            limit = leaves[at].visits * share / float(old_work[at])
            cuts.update(cut for cut in _finer(leaves[at], tree.range_of(at), limit) if pages.locate(cut) in heavy)
    return weigh(tree, tuple(sorted(cuts))) if heavy else pages


def _finer(leaf: Leaf, place: tuple[bytes, bytes], limit: float) -> list[bytes]:
    """Superpage Creation inside one superpage, with a limit of its own."""
    low, high = place
    alone = Tree(tuple(sorted({FIRST_KEY, low, high} - {LAST_KEY})), Random(0))
    alone.put(alone.cuts.index(low), leaf)
    return [cut for cut in expand(alone, max(limit, 1.0)).cuts if low < cut < high]


def _work(statistics: Statistics, superpages: int) -> Floats:
    """What is left to do in each superpage."""
    work = np.zeros(superpages)
    for at, figures in statistics.superpages.items():
        work[at] = max(figures.queued, 0) + SEEN_SHARE * max(figures.seen, 0)
    return work


def _heirs(old: Plan, pages: Superpages, running: Sequence[str]) -> Owners:
    """Who of the running has most of each new superpage now, or GONE."""
    number = {name: at for at, name in enumerate(running)}
    heirs = zip(pages.cuts, inherit(pages, old.owners))
    now = (old.gatherers[old.owners[old.locate(cut)] if heir == NOBODY else heir] for cut, heir in heirs)
    return np.array([number.get(name, GONE) for name in now], np.int64)


def _problem(
    old: Plan, pages: Superpages, before: Statistics, running: Sequence[str], settings: TeamSettings
) -> Problem:
    statistics = project(before, old.cuts, pages)
    work = _work(statistics, len(pages.cuts))
    work += _UNKNOWN * work.mean() if work.any() else 1.0
    # a piece is as fast as the whole was: dividing what was measured would only make it less certain
    rates = before.rate_table(running, len(old.cuts))[:, _origins(old, pages)]
    links, communication_rates = None, np.full(len(running), URLS_PER_PAGE_TIME * float(rates.mean()))
    if settings.partition == "links":
        sources, targets, counts = statistics.link_table()
        fetched = sum(figures.pages for figures in statistics.superpages.values())
        # counted on what was fetched; what is left to do will cross as often
        costs = np.ceil(counts * work.sum() / max(fetched, 1)).astype(np.int64)
        links = Links.between(len(pages.cuts), sources, targets, costs)
        if statistics.exchange:
            communication_rates = statistics.exchange_rates(running)
    return Problem(
        weights=work,
        k=len(running),
        rates=rates,
        communication_rates=communication_rates,
        links=links,
        names=running,
    )


def _origins(old: Plan, pages: Superpages) -> Owners:
    """The old superpage that most of each new one comes from."""
    most = [(0.0, old.locate(cut)) for cut in pages.cuts]
    for before, after, visits in pages.shares:
        most[after] = max(most[after], (visits, before))
    return np.array([before for _, before in most], np.int64)


def _locality(problem: Problem, current: Owners, owners: Owners, statistics: Statistics) -> float:
    """How many times longer all work together under the present owners than under others (Σ w_j / r_ij)."""
    measured = sum(work.amount for row in statistics.rates.values() for work in row.values())
    if measured < _MEASURED * problem.k or GONE in current:
        return 1.0
    times_s, superpages = problem.times_s(), np.arange(problem.m)
    return float(times_s[superpages, current].sum() / times_s[superpages, owners].sum())
