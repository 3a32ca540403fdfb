"""Rounds of superpage creation and partition over a list of URLs, without a network: what §5 does to the load.

URLs are found in the order given. Each is counted by its owner's copy of the URL tree. At the end of a round the copies
are merged, superpages are created and partitioned, and every copy goes over to the new plan, as in a live gatherer:
statistics are carried over, moved URLs are counted by the new owner and forgotten by the old one.

All decisions are those of `core`; only the crawl itself is left out.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from gcs.core.partition.greedy import partition_i
from gcs.core.partition.problem import Partitioner, PartitionProblem
from gcs.core.plan.plan import Plan
from gcs.core.tree.superpages import create, inherit, recut, threshold
from gcs.core.tree.tree import WHOLE, Cuts, UrlTree, merge

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RoundTeam:
    """The gatherers of a team, and how their superpages are made."""

    #: pages per second of each gatherer
    speeds: Sequence[float]
    partition: Partitioner = partition_i
    delta: float = 20
    seed: int = 1

    @property
    def size(self) -> int:
        """k, the number of gatherers."""
        return len(self.speeds)


@dataclass(frozen=True, slots=True)
class Round:
    """What came out of one round."""

    found: int
    plan: Plan
    #: visits of each superpage as the leader estimates them, and as they are
    estimated: NDArray[np.number] = field(repr=False)
    actual: Floats = field(repr=False)
    #: URLs that change their owner
    moved: int
    #: max/mean − 1 of the time that the gatherers need, by the actual visits
    imbalance: float

    @property
    def superpages(self) -> int:
        """m, the number of superpages."""
        return len(self.plan.cuts)


def rounds(keys: Sequence[bytes], team: RoundTeam, ends: Sequence[int]) -> Iterator[Round]:
    """Find the URLs with these sort keys one after the other; rebalance when as many are found as `ends` says."""
    names = tuple(f"g{i}" for i in range(team.size))
    plan = Plan(0, names, WHOLE, (0,))
    chance = Random(team.seed)
    trees = [UrlTree(plan.cuts, Random(chance.random())) for _ in names]
    start = 0
    for end in ends:
        for key in keys[start:end]:
            trees[plan.owners[plan.locate(key)]].visit(key)
        start = end
        merged = merge(trees)
        pages = create(merged, threshold(merged.visits, team.size, team.delta), plan.owners)
        problem = PartitionProblem(
            weights=np.array(pages.weights),
            k=team.size,
            rates=np.array(team.speeds),
            keys=pages.cuts,
            current=np.array(inherit(pages, plan.owners)),
            names=names,
        )
        new = Plan(plan.epoch + 1, names, pages.cuts, tuple(team.partition(problem).tolist()))
        trees = [recut(tree, new.cuts, Random(chance.random())) for tree in trees]
        moved = _hand_over(keys[:end], trees, plan, new)
        plan = new
        actual = count(sorted(keys[:end]), plan.cuts)
        yield Round(end, plan, problem.weights, actual, moved, imbalance(actual, team.speeds, plan.owners))


def count(ordered: Sequence[bytes], cuts: Cuts) -> Floats:
    """How many of the keys (in order) lie in each superpage."""
    return np.diff([*(bisect_left(ordered, cut) for cut in cuts), len(ordered)]).astype(np.float64)


def imbalance(weights: NDArray[np.number], speeds: Sequence[float], owners: Sequence[int]) -> float:
    """max/mean − 1 of T_i = Σ w_j / r_i."""
    times = np.bincount(owners, weights=weights, minlength=len(speeds)) / np.asarray(speeds)
    return float(times.max() / times.mean() - 1)


def _hand_over(keys: Sequence[bytes], trees: Sequence[UrlTree], old: Plan, new: Plan) -> int:
    for me, tree in enumerate(trees):
        tree.keep({at for at, owner in enumerate(new.owners) if owner == me})
    moved = 0
    for key in keys:
        winner = new.owners[new.locate(key)]
        if winner != old.owners[old.locate(key)]:
            trees[winner].visit(key)
            moved += 1
    return moved
