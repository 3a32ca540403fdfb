"""Superpage Creation(Δ): where to cut the key space, given what the gatherers have seen of it (§5.2 of the paper).

At every node, the tokens visited at least Δ times become singletons, and the rest is divided into I = (its visits)/Δ
intervals at evenly spaced tokens, I rounded up. Three things are settled here that the paper leaves open:

* *Re-sampling the remaining hot tokens into the cool samples* is done without dice: a hot token takes part in the
  choice of the evenly spaced tokens with its whole count, a cool sample with the visits for which it stands.
* The procedure is applied to the new singletons as well, by means of the sampled keys, down to where a node falls
  below Δ or the sample no longer tells. One giant host is cut by its paths in one round, not one level per round.
* Singletons leave gaps between the intervals, and old expansions grow light as Δ grows. Neighbours that weigh no
  more than Δ together, and gaps in which nothing was seen, become one superpage (`fuse`). Therefore two
  neighbours together weigh more than Δ, and there are fewer than 2·W/Δ + 1 = 2kδ + 1 superpages, always.

Invariant: the new superpages partition the key space and their weights add up to W.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, groupby, pairwise
from random import Random

import msgspec

from gcs.core.leaf import Leaf, Points, thin
from gcs.core.sortkey import SEPARATOR, SUBTREE_END
from gcs.core.tree import Cuts, Tree, limits_for, node_of, range_of

#: sampled items on which a cut must rest
_SUPPORT = 4
#: points by which a superpage is described when its cuts are chosen: one of them may fall on the wrong side of a cut
_POINTS = 64


class Superpages(msgspec.Struct, frozen=True):
    """A new expansion, and what of the old superpages went into the new ones."""

    cuts: Cuts
    #: estimated visits of each
    weights: tuple[float, ...]
    #: (old superpage, new superpage, visits that they have in common), in key order; only those with visits
    shares: tuple[tuple[int, int, float], ...]

    def locate(self, key: bytes) -> int:
        """The superpage of a key."""
        return bisect_right(self.cuts, key) - 1


def threshold(visits: int, gatherers: int, delta: float = 20) -> float:
    """Δ = W/(kδ): a gatherer shall own about δ superpages or more."""
    return max(visits / (gatherers * delta), 1.0)


def create(tree: Tree, limit: float, owners: Sequence[int] | None = None) -> Superpages:
    """The new superpages: Superpage Creation(Δ) at every node of the merged tree, then fusion of the light ones.

    With the present owners of the tree's superpages, neighbours of different owners are fused only where there
    would be too many superpages otherwise: a fusion across owners moves work.
    """
    pieces = expand(tree, limit)
    if owners is None:
        return fuse(pieces, limit)
    fewer = fuse(pieces, limit, owners)
    return fewer if len(fewer.cuts) <= 2 * tree.visits / limit else fuse(fewer, limit)


def expand(tree: Tree, limit: float) -> Superpages:
    """Superpage Creation(Δ) at every node: each node and interval as the paper makes it, and the gaps that are left."""
    points = {at: leaf.points(tree.cuts[at]) for at, leaf in tree.leaves()}
    found = set(tree.cuts)
    for at, leaf in tree.leaves():
        low, high = tree.range_of(at)
        found.update(cut for cut in _cuts_of(leaf, node_of(low, high), points[at], limit) if low < cut < high)
    return _overlay(tuple(sorted(found)), points)


def weigh(tree: Tree, cuts: Cuts) -> Superpages:
    """What the superpages of another expansion weigh in this tree."""
    return _overlay(cuts, {at: leaf.points(tree.cuts[at]) for at, leaf in tree.leaves()})


def fuse(pieces: Superpages, limit: float, owners: Sequence[int] | None = None) -> Superpages:
    """Join neighbours that weigh no more than the limit together, and empty ones with whatever is before them.

    `owners` are those of the old superpages: where given, only neighbours of one owner are joined.
    """
    heirs: list[int | None] = [None] * len(pieces.cuts) if owners is None else inherit(pieces, owners)
    cuts: list[bytes] = []
    weights: list[float] = []
    last: int | None = None
    number = []
    for cut, weight, heir in zip(pieces.cuts, pieces.weights, heirs):
        if cuts and (
            not weight or not weights[-1] or (weights[-1] + weight <= limit and (heir == last or owners is None))
        ):
            last = heir if weight and not weights[-1] else last
            weights[-1] += weight
        else:
            cuts.append(cut)
            weights.append(weight)
            last = heir
        number.append(len(cuts) - 1)
    shares: dict[tuple[int, int], float] = {}
    for old, new, visits in pieces.shares:
        pair = old, number[new]
        shares[pair] = shares.get(pair, 0.0) + visits
    return Superpages(tuple(cuts), tuple(weights), tuple((old, new, n) for (old, new), n in shares.items()))


def inherit(pages: Superpages, owners: Sequence[int]) -> list[int | None]:
    """Of each new superpage, the owner of most of its visits before; None where nothing is known of it."""
    heaviest: dict[int, tuple[float, int]] = {}
    votes: dict[tuple[int, int], float] = {}
    for old, new, visits in pages.shares:
        votes[new, owners[old]] = votes.get((new, owners[old]), 0.0) + visits
    for (new, owner), visits in votes.items():
        heaviest[new] = max(heaviest.get(new, (0.0, owner)), (visits, owner))
    return [heaviest[new][1] if new in heaviest else None for new in range(len(pages.cuts))]


def recut(tree: Tree, cuts: Cuts, random: Random) -> Tree:
    """The copy under a new expansion, with all that is known carried over; the visits stay the same.

    A superpage that stays the same keeps its statistics, and those of the old tree with it: use the new one only.
    """
    new = Tree(cuts, random)
    priors: dict[int, list[tuple[bytes, float]]] = {}
    for at, leaf in tree.leaves():
        low, high = tree.range_of(at)
        here = bisect_left(cuts, low)
        if here < len(cuts) and range_of(cuts, here) == (low, high):
            new.put(here, leaf)
            continue
        points = leaf.points(low)
        parts = [(to, list(part)) for to, part in groupby(points, lambda point: bisect_right(cuts, point[0]) - 1)]
        amounts = [math.fsum(visits for _, visits in part) for _, part in parts]
        for (to, part), amount, whole in zip(parts, amounts, _whole(amounts)):
            priors.setdefault(to, []).extend((key, visits * whole / amount) for key, visits in part)
    for to, points in priors.items():
        limits = limits_for(math.fsum(visits for _, visits in points) / tree.visits)
        new.put(to, Leaf(node_of(*range_of(cuts, to)), limits, random, thin(points, limits.keys)))
    return new


def _whole(amounts: Sequence[float]) -> list[int]:
    """Whole numbers near the amounts, with the same sum (which is whole)."""
    ends = [0, *(round(total) for total in accumulate(amounts))]
    return [end - start for start, end in pairwise(ends)]


def _cuts_of(leaf: Leaf, node: bytes, points: Points, limit: float) -> set[bytes]:
    cuts: set[bytes] = set()
    for token, count in leaf.hot.counts.items():
        if count >= limit:
            cuts.update((token, token + SUBTREE_END))
    limit = max(limit, _SUPPORT * leaf.grain())
    _expand(node, thin(points, math.ceil(_POINTS * leaf.visits / limit)), limit, cuts)
    return cuts


def _expand(node: bytes, points: Points, limit: float, cuts: set[bytes]) -> None:
    """Put the cuts of the node and of the nodes below it into `cuts`."""
    inner = len(node) + 1 if node else 0
    cool: list[tuple[bytes, float]] = []

    def child(point: tuple[bytes, float]) -> bytes:
        end = point[0].find(SEPARATOR, inner)
        return point[0] if end < 0 else point[0][:end]

    for token, group in groupby(points, child):
        below = list(group)
        weight = math.fsum(visits for _, visits in below)
        if weight < limit or token == node or token.endswith(SUBTREE_END):
            cool.append((token, weight))
            continue
        cuts.update((token, token + SUBTREE_END))
        if weight > limit and len(below) > 1:
            _expand(token, below, limit, cuts)
    total = math.fsum(weight for _, weight in cool)
    intervals = math.ceil(total / limit)
    made, before = 1, 0.0
    for token, weight in cool:
        # cut before the token where that is nearer to an even spacing than behind it
        while made < intervals and before + weight / 2 > made * total / intervals:
            cuts.add(token)
            made += 1
        before += weight


def _overlay(cuts: Cuts, points: dict[int, list[tuple[bytes, float]]]) -> Superpages:
    weights = [0.0] * len(cuts)
    shares: list[tuple[int, int, float]] = []
    for old in sorted(points):
        keys = [key for key, _ in points[old]]
        new, at = bisect_right(cuts, keys[0]) - 1, 0
        while at < len(keys):
            end = bisect_left(keys, cuts[new + 1], at) if new + 1 < len(cuts) else len(keys)
            if end > at:
                visits = math.fsum(visits for _, visits in points[old][at:end])
                weights[new] += visits
                shares.append((old, new, visits))
            new, at = new + 1, end
    return Superpages(cuts, tuple(weights), tuple(shares))
