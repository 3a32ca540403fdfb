"""The paper's round (§5.2, §5.3): from what the gatherers have counted, the superpages and owners of the next plan.

Superpage Creation counts visits, but the partition shares the work that is left (`partition_input`). Where the queue
is denser than the visits (a giant host beside finished ones), a piece that is too heavy is cut once more.

Invariant: pure, and the epoch is provisional: the whiteboard gives the final one. A plan's `moves` are all ranges that
change hands with it. The arithmetic is numpy's: `core.plan.next_plan` holds what a leader can do without.
"""

from dataclasses import replace
from random import Random

import msgspec
import numpy as np

from gcs.core.partition import greedy, sticky
from gcs.core.plan.next_plan import Draft, RoundEvidence, TeamMembers, hot_pages
from gcs.core.plan.partition_input import heirs_of, locality, problem_of, spread, work_of
from gcs.core.plan.plan import Plan, diff
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.tree.statistics import project
from gcs.core.tree.superpage_sketch import SuperpageSketch
from gcs.core.tree.superpages import Superpages, create, expand, threshold, weigh
from gcs.core.tree.tree import UrlTree
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY

#: pieces heavier than so many times Δ are cut again
_HEAVY = 2.0


def make_plan(
    old: Plan, team: TeamMembers, evidence: RoundEvidence, settings: TeamSettings, *, fresh: bool = False
) -> Draft:
    """The next plan: with as little to hand over as can be, or `fresh`, as if nobody owned anything."""
    pages = _superpages(old, evidence, len(team.running), settings)
    current = heirs_of(old, pages, team.running)
    problem = replace(problem_of(old, pages, evidence.statistics, team.running, settings), current=current)
    if fresh:
        owners = (greedy.partition_i if problem.links is None else greedy.partition_ii)(problem)
    elif old.static:
        owners = sticky.partition(problem)
    else:
        owners = sticky.partition(replace(problem, current=spread(problem, current, np.array(pages.weights))))
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
    pages = create(tree, threshold(tree.visits, gatherers, settings.delta), old.owners)
    work = work_of(project(statistics, old.cuts, pages), len(pages.cuts))
    share = float(work.sum()) / (gatherers * settings.delta)
    heavy = set(np.flatnonzero(work > max(_HEAVY * share, 1.0)).tolist())
    limits: dict[int, float] = {}
    for before, after, _ in pages.shares:
        if after in heavy:
            dense = pages.weights[after] * share / float(work[after])
            limits[before] = min(limits.get(before, dense), dense)
    cuts = set(pages.cuts)
    leaves = dict(tree.leaves())
    for at, limit in limits.items():
        cuts.update(cut for cut in _finer(leaves[at], tree.range_of(at), limit) if pages.locate(cut) in heavy)
    return weigh(tree, tuple(sorted(cuts))) if heavy else pages


def _finer(leaf: SuperpageSketch, place: tuple[bytes, bytes], limit: float) -> list[bytes]:
    """Superpage Creation inside one superpage, with a limit of its own."""
    low, high = place
    alone = UrlTree(tuple(sorted({FIRST_KEY, low, high} - {LAST_KEY})), Random(0))
    alone.put(alone.cuts.index(low), leaf)
    return [cut for cut in expand(alone, max(limit, 1.0)).cuts if low < cut < high]
