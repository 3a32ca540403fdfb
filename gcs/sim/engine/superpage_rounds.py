"""Rounds of superpage creation and partition over a list of URLs, without a network: what §5 does to the load.

URLs are found in the order given. Each is counted by its owner's copy of the URL tree. At the end of a round the copies
are merged, superpages are created and partitioned, and every copy goes over to the new plan, as in a live gatherer:
statistics are carried over, moved URLs are counted by the new owner and forgotten by the old one.

All decisions are those of `core`, the limits of hosts included; only the crawl itself is left out.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from gcs.core.partition.greedy import partition_i
from gcs.core.partition.problem import Partitioner, PartitionProblem
from gcs.core.plan.host_limits import HostLimits
from gcs.core.plan.plan import Plan
from gcs.core.plan.rebalance import with_whole_hosts
from gcs.core.tree.superpages import create, inherit, recut, threshold
from gcs.core.tree.tree import WHOLE, Cuts, UrlTree, merge
from gcs.core.url.sortkey import host_of_key

Floats = NDArray[np.float64]

#: imbalance that a partition may have, where no delay allows more
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class RoundTeam:
    """The gatherers of a team, and how their superpages are made."""

    #: pages per second of each gatherer
    speeds: Sequence[float]
    partition: Partitioner = partition_i
    delta: float = 20
    seed: int = 1
    #: the delays of the hosts
    limits: HostLimits = field(default_factory=HostLimits)

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
    #: (k,) T_i: the seconds that each gatherer needs for all that was found of its superpages
    times_s: Floats = field(repr=False)
    #: max/mean − 1 of the work of the gatherers, by the actual visits
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
        pages = with_whole_hosts(merged, pages, team.limits)
        work_s = end / sum(team.speeds)
        polite_s = team.limits.polite_s(Counter(map(host_of_key, keys[:end])))
        problem = PartitionProblem(
            weights=np.array(pages.weights),
            k=team.size,
            rates=np.array(team.speeds),
            keys=pages.cuts,
            current=np.array(inherit(pages, plan.owners)),
            names=names,
            tolerance=max(TOLERANCE, polite_s / work_s - 1),
        )
        new = Plan(plan.epoch + 1, names, pages.cuts, tuple(team.partition(problem).tolist()))
        trees = [recut(tree, new.cuts, Random(chance.random())) for tree in trees]
        moved = _hand_over(keys[:end], trees, plan, new)
        plan = new
        actual = count(sorted(keys[:end]), plan.cuts)
        uneven = imbalance(actual, team.speeds, plan.owners)
        yield Round(end, plan, problem.weights, actual, moved, times_s(actual, keys[:end], plan, team), uneven)


def count(ordered: Sequence[bytes], cuts: Cuts) -> Floats:
    """How many of the keys (in order) lie in each superpage."""
    return np.diff([*(bisect_left(ordered, cut) for cut in cuts), len(ordered)]).astype(np.float64)


def times_s(weights: Floats, keys: Sequence[bytes], plan: Plan, team: RoundTeam) -> Floats:
    """T_i: the larger of the work of a gatherer and the politeness of its slowest host, over the host.

    `weights` are those of the superpages.
    """
    work_s: Floats = np.bincount(plan.owners, weights, team.size) / np.asarray(team.speeds)
    limits = team.limits
    if not (limits.delay_s or limits.longer):
        return work_s
    pages, hosts = Counter(map(host_of_key, keys)), [set[bytes]() for _ in team.speeds]
    for key in keys:
        hosts[plan.owners[plan.locate(key)]].add(host_of_key(key))
    return np.maximum(work_s, [limits.polite_s({host: pages[host] for host in own}) for own in hosts])


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
