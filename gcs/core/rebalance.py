"""The leader's decision: from the plan of one epoch, and what its gatherers have counted, the plan of the next one.

Four plans can follow. `first_plan` begins a crawl. `make_plan` is the paper's round (§5.2, §5.3): merge, superpages,
partition. `refreshed` changes the hot pages only. `recovered` gives away what a dead gatherer owned when its disk
cannot be reached; it touches nothing else, so that hand-overs between the living go on under it.

Superpage Creation counts visits, but what is shared is what is left to do (`core.workload`). Where the queue is denser
than the visits (late in a crawl), what is too heavy a piece of the work is cut once more.

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
from gcs.core.leaf import Leaf
from gcs.core.partition import greedy, sticky
from gcs.core.plan import ExchangeMode, Plan, diff
from gcs.core.sortkey import FIRST_KEY, LAST_KEY, sort_key
from gcs.core.statistics import project
from gcs.core.superpages import Superpages, create, expand, threshold, weigh
from gcs.core.team import TeamSettings
from gcs.core.tree import Cuts, Tree
from gcs.core.workload import heirs_of, locality, problem_of, spread, work_of

#: pieces heavier than so many times Δ are cut again
_HEAVY = 2.0


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
    current = heirs_of(old, pages, team.running)
    problem = replace(problem_of(old, pages, evidence.statistics, team.running, settings), current=current)
    if fresh:
        owners = (greedy.partition_i if problem.links is None else greedy.partition_ii)(problem)
    else:
        owners = sticky.partition(replace(problem, current=spread(problem, current, np.array(pages.weights))))
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
    return Draft(plan, moved, locality(problem, current, owners, evidence.statistics))


def refreshed(old: Plan, hot: tuple[str, ...]) -> Plan:
    """The same plan with other hot pages; nothing changes hands."""
    return msgspec.structs.replace(old, epoch=old.epoch + 1, hot_pages=hot, lost=(), moves=(), leavers=())


def recovered(old: Plan, running: Sequence[str], dead: Collection[str], *, committed: bool) -> Plan:
    """The same plan without the dead: what they owned, or had to hand over, is lost and begun anew by those who run.

    Who is dead and runs has lost its disk: it begins anew with the others.
    `committed`: all that the old plan moves is handed over. If not, what the living owe one another stays due.
    """
    due = () if committed else old.moves
    lost = [(low, high) for low, high, owner in old.ranges() if owner in dead]
    lost += [(move.low, move.high) for move in due if move.loser in dead]
    lost += [] if committed else old.lost
    gatherers = tuple(sorted({*old.gatherers} - set(dead) | {*running}))
    owners = [old.gatherers[owner] for owner in old.owners]
    held = {name: 0 if name in dead else owners.count(name) for name in running}
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
    old_work, work = work_of(statistics, len(old.cuts)), work_of(project(statistics, old.cuts, pages), len(pages.cuts))
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
