"""The paper's round (§5.2, §5.3): from what the gatherers have counted, the superpages and owners of the next plan.

Superpage Creation counts visits, but the partition shares the work that is left: the queued URLs of a superpage, and a
small share of the seen ones, so that parts of which much is known are spread although nothing of them is queued. Where
the queue is denser than the visits (a giant host beside finished ones), a piece that is too heavy is cut once more.

The owners come from the registry of `core.partition`, as the simulator's do.

Invariant: pure, and the epoch is provisional: the whiteboard gives the final one. A plan's `moves` are all ranges that
change their owner with it. This module loads numpy: `core.plan.next_plan` holds what a leader can do without it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import msgspec
import numpy as np

from gcs.core.partition import GONE, PARTITIONERS, Owners, PartitionProblem, partition
from gcs.core.partition.partition_graph import Floats, LinkArrays
from gcs.core.partition.problem import URLS_PER_PAGE_TIME
from gcs.core.partition.space import SpaceGoal, level_space
from gcs.core.plan.host_limits import HostLimits
from gcs.core.plan.next_plan import Draft, RoundEvidence, TeamMembers, hot_pages
from gcs.core.plan.plan import Plan, diff
from gcs.core.plan.rate_tables import access_table, exchange_rates, help_factors, is_far_apart, link_table, rate_table
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.tree.statistics import SuperpageStatistics, project
from gcs.core.tree.superpage_sketch import SuperpageSketch
from gcs.core.tree.superpages import NOBODY, Superpages, create, expand, inherit, threshold, weigh
from gcs.core.tree.tree import UrlTree
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, host_of_key

#: the partitioner of a live crawl, by its name in `core.partition.PARTITIONERS`
PARTITIONER = "sticky"
#: pieces heavier than so many times Δ are cut again
_HEAVY = 2.0
#: what a URL that is seen weighs, of one that is queued; and what all that are seen may weigh, of all that are queued
SEEN_SHARE, SEEN_MOST = 0.02, 0.1
#: what a superpage weighs of which nothing is known, of an average one
_UNKNOWN = 1e-3
#: an owner with so many times its share is relieved of it in one go
_CROWDED = 2.0
#: part of the work that moves when hosts are shared out anew
_MUCH = 0.3
#: … but for superpages with less to do per visit than this share of the mean
_DENSE = 0.25
#: how much more than its share a gatherer may get; and a tolerance that nothing exceeds
_TOLERANCE, _ANY = 0.05, 1e9
#: fetched pages per gatherer below which rates say nothing about locality
_MEASURED = 50


def make_plan(
    old: Plan, team: TeamMembers, evidence: RoundEvidence, settings: TeamSettings, *, fresh: bool = False
) -> Draft:
    """The next plan: with as little to hand over as can be, or `fresh`, as if nobody owned anything."""
    pages = _superpages(old, evidence, len(team.running), settings)
    current = heirs_of(old, pages, team.running)
    problem = problem_of(old, pages, evidence, team.running, settings)
    start: Owners | None = current
    # the paper's own forms share out everything anew, each time
    name = settings.partition if settings.partition in PARTITIONERS and not old.static else PARTITIONER
    if fresh or name != PARTITIONER:
        start = None
    elif not old.static and not is_far_apart(problem.rates):
        start = spread(problem, current, np.array(pages.weights))
        if evidence.limits.waits_for_answers(float(np.mean(problem.rates))):
            start = share_hosts(problem, current, start)
    owners = partition(name, replace(problem, current=start))
    if settings.space_balance and not old.static:
        owners = level_space(problem, owners, space_goal(old, pages, evidence, team.running))
    plan = msgspec.structs.replace(
        old,
        epoch=old.epoch + 1,
        gatherers=team.running,
        cuts=pages.cuts,
        owners=tuple(owners.tolist()),
        hot_pages=hot_pages(old, evidence, settings.hot_pages),
        lost=(),
        leavers=team.leavers,
    )
    plan = msgspec.structs.replace(plan, moves=tuple(diff(old, plan)))
    moved = float(problem.work[owners != current].sum() / problem.work.sum())
    return Draft(plan, moved, locality(problem, current, owners, evidence.statistics))


def _superpages(old: Plan, evidence: RoundEvidence, gatherers: int, settings: TeamSettings) -> Superpages:
    tree, statistics = evidence.tree, evidence.statistics
    if not tree.visits:
        return Superpages(old.cuts, (0.0,) * len(old.cuts), ())
    if old.static:
        return weigh(tree, old.cuts)
    pages = with_whole_hosts(
        tree, create(tree, threshold(tree.visits, gatherers, settings.delta), old.owners), evidence.limits
    )
    work = work_of(project(statistics, old.cuts, pages), len(pages.cuts))
    share = float(work.sum()) / (gatherers * settings.delta)
    heavy = set(np.flatnonzero(work > max(_HEAVY * share, 1.0)).tolist())
    limits: dict[int, float] = {}
    for before, after, _ in pages.shares:
        if after in heavy:
            dense = pages.weights[after] * share / float(work[after])
            limits[before] = min(limits.get(before, dense), dense)
    cuts = set(pages.cuts)
    sketches = dict(tree.sketches())
    for at, limit in limits.items():
        cuts.update(cut for cut in _finer(sketches[at], tree.range_of(at), limit) if pages.locate(cut) in heavy)
    return weigh(tree, evidence.limits.whole_hosts(sorted(cuts))) if heavy else pages


def with_whole_hosts(tree: UrlTree, pages: Superpages, limits: HostLimits) -> Superpages:
    """The superpages without cuts inside hosts that their delay limits: several owners would not be faster."""
    cuts = limits.whole_hosts(pages.cuts)
    return pages if len(cuts) == len(pages.cuts) else weigh(tree, cuts)


def _finer(sketch: SuperpageSketch, place: tuple[bytes, bytes], limit: float) -> list[bytes]:
    """Superpage Creation inside one superpage, with a limit of its own."""
    low, high = place
    alone = UrlTree(tuple(sorted({FIRST_KEY, low, high} - {LAST_KEY})), Random(0))
    alone.put(alone.cuts.index(low), sketch)
    return [cut for cut in expand(alone, max(limit, 1.0)).cuts if low < cut < high]


# -- the problem for the partitioner: superpages numbered as those of the new expansion


def work_of(statistics: SuperpageStatistics, superpages: int) -> Floats:
    """What is left to do in each superpage."""
    queued, seen = np.zeros(superpages), np.zeros(superpages)
    for at, figures in statistics.superpages.items():
        queued[at], seen[at] = max(figures.queued, 0), max(figures.seen, 0)
    return queued + seen * min(SEEN_SHARE, SEEN_MOST * float(queued.sum()) / max(float(seen.sum()), 1.0))


def heirs_of(old: Plan, pages: Superpages, running: Sequence[str]) -> Owners:
    """The running gatherer that has most of each new superpage now, or GONE."""
    number = {name: at for at, name in enumerate(running)}
    heirs = zip(pages.cuts, inherit(pages, old.owners))
    now = (old.gatherers[old.owners[old.at(cut)] if heir == NOBODY else heir] for cut, heir in heirs)
    return np.array([number.get(name, GONE) for name in now], np.int64)


def problem_of(
    old: Plan, pages: Superpages, evidence: RoundEvidence, running: Sequence[str], settings: TeamSettings
) -> PartitionProblem:
    before = evidence.statistics
    statistics = project(before, old.cuts, pages)
    work = work_of(statistics, len(pages.cuts))
    work += _UNKNOWN * work.mean() if work.any() else 1.0
    # a piece is as fast as the whole was: dividing what was measured would only make it less certain; but the way to
    # each is known by its own hosts
    places = [evidence.places.get(name, "") for name in running]
    ways = [access_table(before, running, places, cuts) for cuts in (old.cuts, pages.cuts)]
    rates = rate_table(before, running, (ways[0], ways[1]), _origins(old, pages))
    rates *= help_factors(before, running)[:, None]
    links, communication_rates = None, np.full(len(running), URLS_PER_PAGE_TIME * float(rates.mean()))
    if settings.looks_at_links:
        sources, targets, counts = link_table(statistics)
        fetched = sum(figures.pages for figures in statistics.superpages.values())
        # counted on what was fetched; what is left to do will cross as often
        costs = np.ceil(counts * work.sum() / max(fetched, 1)).astype(np.int64)
        links = LinkArrays.between(len(pages.cuts), sources, targets, costs)
        if statistics.exchange:
            # a gatherer that is slow to send and receive counts as slow; but links are never free
            communication_rates = np.minimum(communication_rates, exchange_rates(statistics, running))
    # no gatherer needs to be done before the slowest host is; and where nothing is left to do, nothing needs to move
    queues, rate = host_queues(pages, statistics, evidence.tree), float(rates.mean())
    named, waiting = sum(queues.values()), sum(max(figures.queued, 0) for figures in statistics.superpages.values())
    others = (waiting - named) * len(queues) / named if named else 0.0
    limits = evidence.limits
    work_s = float(work.sum()) / (len(running) * limits.pages_per_s(queues, rate, others)) if queues else math.inf
    enough = limits.polite_s(queues, 1 / rate) / work_s - 1.0
    connected = limits.connected_per_s(queues, rate, others)
    if limits.waits_for_answers(rate) and limits.allowed_per_s(queues, 1 / rate, others) > connected:
        enough = 0.0  # one gatherer has too few connections for these hosts, however little is queued yet
    return PartitionProblem(
        weights=work,
        k=len(running),
        rates=rates,
        communication_rates=communication_rates,
        links=links,
        keys=pages.cuts,
        names=running,
        tolerance=_ANY if _is_done(statistics) else max(_TOLERANCE, enough),
    )


def space_goal(old: Plan, pages: Superpages, evidence: RoundEvidence, running: Sequence[str]) -> SpaceGoal:
    """What each gatherer holds, and what is to come of each superpage: its queue, in pages of its own usual size."""
    figures = project(evidence.statistics, old.cuts, pages).superpages
    known, bytes_known = (sum(each.pages for each in figures.values()), sum(each.bytes for each in figures.values()))
    mean = bytes_known / known if known else 1.0
    coming = np.zeros(len(pages.cuts))
    for at, each in figures.items():
        coming[at] = max(each.queued, 0) * (each.bytes / each.pages if each.pages else mean)
    return SpaceGoal(coming, np.array([evidence.held_bytes.get(name, 0.0) for name in running]))


def host_queues(pages: Superpages, statistics: SuperpageStatistics, tree: UrlTree) -> dict[bytes, float]:
    """The URLs that are queued of each host that the tree names. The queue of a superpage is divided as its visits are.

    What belongs to hosts that are not named, because they are small, is left out.
    """
    visits: dict[int, dict[bytes, float]] = {}
    totals: dict[int, float] = {}
    for at, sketch in tree.sketches():
        for key, count in sketch.points(tree.range_of(at)[0]):
            superpage = pages.locate(key)
            totals[superpage] = totals.get(superpage, 0.0) + count
            if b"\x00/" in key:
                hosts = visits.setdefault(superpage, {})
                hosts[host_of_key(key)] = hosts.get(host_of_key(key), 0.0) + count
    queues: dict[bytes, float] = {}
    for at, hosts in visits.items():
        figures = statistics.superpages.get(at)
        queued = max(figures.queued, 0) if figures else 0
        for host, count in hosts.items():
            queues[host] = queues.get(host, 0.0) + queued * count / totals[at]
    return queues


def spread(problem: PartitionProblem, current: Owners, visits: Floats) -> Owners:
    """What an owner has far too much of goes to gatherers that have too little, in runs of neighbours.

    The sticky form would do that move by move, and scatter neighbours. What is nearly done stays: there is much to
    hand over of it, and little to do.
    """
    work, owners = problem.work, current.copy()
    is_dense = work * visits.sum() >= _DENSE * work.sum() * visits
    shares, crowded = problem.shares() * work.sum(), max(_CROWDED, 1 + problem.tolerance)
    held = np.bincount(current[current != GONE], work[current != GONE], problem.k)
    free: list[int] = []
    for owner in np.flatnonzero(held > crowded * shares):
        own = np.flatnonzero(current == owner)
        own = np.concatenate([own[~is_dense[own]], own[is_dense[own]]])
        free += own[np.cumsum(work[own]) > shares[owner]].tolist()
        held[owner] = shares[owner]
    room = shares - held
    takers = iter(np.flatnonzero(room > 0).tolist())
    taker = next(takers, GONE)
    for superpage in sorted(free):
        while taker != GONE and room[taker] < work[superpage] / 2:
            taker = next(takers, GONE)
        owners[superpage] = taker
        room[taker] -= work[superpage] if taker != GONE else 0.0
    return owners


def share_hosts(problem: PartitionProblem, current: Owners, start: Owners) -> Owners:
    """Every host that was cut is shared by all gatherers, where much of the work moves.

    Each gatherer has its own connections to a host: where they wait for answers, more of them are faster, and the
    neighbours of a page may be anybody's.
    """
    if problem.work[current != start].sum() < _MUCH * problem.work.sum():
        return start  # hosts are shared out when much moves anyway, and not over and over again
    hosts: dict[bytes, list[int]] = {}
    for at, cut in enumerate(problem.keys):
        if b"\x00/" in cut:
            hosts.setdefault(host_of_key(cut), []).append(at)
    owners, work, shares = start.copy(), problem.work, np.cumsum(problem.shares())
    for superpages in hosts.values():
        if len(superpages) >= problem.k:  # in runs of neighbours, one for each gatherer
            middle = np.cumsum(work[superpages]) - work[superpages] / 2
            owners[superpages] = np.minimum(np.searchsorted(shares, middle / work[superpages].sum()), problem.k - 1)
    return owners


def _is_done(statistics: SuperpageStatistics) -> bool:
    """Whether much was seen and nothing is left to do."""
    figures = statistics.superpages.values()
    return any(each.seen for each in figures) and not any(each.queued > 0 for each in figures)


def _origins(old: Plan, pages: Superpages) -> Owners:
    """The old superpage that most of each new one comes from."""
    most = [(0.0, old.at(cut)) for cut in pages.cuts]
    for before, after, visits in pages.shares:
        most[after] = max(most[after], (visits, before))
    return np.array([before for _, before in most], np.int64)


def locality(problem: PartitionProblem, current: Owners, owners: Owners, statistics: SuperpageStatistics) -> float:
    """How many times longer all work together under the present owners than under others (Σ w_j / r_ij).

    Without help: helpers come and go, and that is no reason to share anew.
    """
    measured = sum(work.amount for row in statistics.rates.values() for work in row.values())
    if measured < _MEASURED * problem.k or GONE in current:
        return 1.0
    times_s = problem.times_s() * help_factors(statistics, problem.names)
    superpages = np.arange(problem.m)
    return float(times_s[superpages, current].sum() / times_s[superpages, owners].sum())
