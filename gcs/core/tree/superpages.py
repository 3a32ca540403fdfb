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

from gcs.core.tree.superpage_sketch import Points, SuperpageSketch, thin
from gcs.core.tree.tree import Cuts, UrlTree, limits_for, node_of, range_of
from gcs.core.url.sortkey import SEPARATOR, SUBTREE_END

#: sampled items on which a cut must rest
_SUPPORT = 4
#: visits are sums of shares: they may miss the whole number by this part of it
_ROUNDING = 1e-9
#: the owner of a superpage that nobody has visited (`core.partition` calls it gone)
NOBODY = -1


class Superpages(msgspec.Struct, frozen=True):
    """A new expansion, and what of the old superpages went into the new ones."""

    cuts: Cuts
    #: estimated visits of each
    weights: tuple[float, ...]
    #: (old superpage, new superpage, visits that they have in common), in key order; only those with visits
    shares: tuple[tuple[int, int, float], ...]

    def locate(self, key: bytes) -> int:
        return bisect_right(self.cuts, key) - 1


def threshold(visits: int, gatherers: int, delta: float = 20) -> float:
    """Δ = W/(kδ): a gatherer shall own about δ superpages or more."""
    return max(visits / (gatherers * delta), 1.0)


def create(tree: UrlTree, limit: float, owners: Sequence[int] | None = None) -> Superpages:
    """The new superpages: Superpage Creation(Δ) at every node of the merged tree, then fusion of the light ones.

    With the present owners of the tree's superpages, neighbours of different owners are fused only where there
    would be too many superpages otherwise: a fusion across owners moves work.
    """
    pieces = expand(tree, limit)
    if owners is None:
        return fuse(pieces, limit)
    fewer = fuse(pieces, limit, owners)
    return fewer if len(fewer.cuts) <= 2 * tree.visits / limit else fuse(fewer, limit)


def expand(tree: UrlTree, limit: float) -> Superpages:
    """Superpage Creation(Δ) at every node: each node and interval as the paper makes it, and the gaps that are left."""
    spreads = _spreads(tree)
    found = set(tree.cuts)
    for at, sketch in tree.sketches():
        low, high = tree.range_of(at)
        found.update(cut for cut in _cuts_of(sketch, node_of(low, high), spreads[at], limit) if low < cut < high)
    return _overlay(tuple(sorted(found)), spreads)


def weigh(tree: UrlTree, cuts: Cuts) -> Superpages:
    """What the superpages of another expansion weigh in this tree."""
    return _overlay(cuts, _spreads(tree))


def fuse(pieces: Superpages, limit: float, owners: Sequence[int] | None = None) -> Superpages:
    """Join neighbours that weigh no more than the limit together, and empty ones with whatever is before them.

    `owners` are those of the old superpages: where given, only neighbours of one owner are joined.
    """
    heirs = [NOBODY] * len(pieces.cuts) if owners is None else inherit(pieces, owners)
    cuts: list[bytes] = []
    weights: list[float] = []
    last = NOBODY
    number = []
    for cut, weight, heir in zip(pieces.cuts, pieces.weights, heirs):
        if cuts and (not weight or not weights[-1] or (weights[-1] + weight <= limit and heir == last)):
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


def inherit(pages: Superpages, owners: Sequence[int]) -> list[int]:
    """Of each new superpage, the owner of most of its visits before; NOBODY where none are known."""
    votes: dict[tuple[int, int], float] = {}
    for old, new, visits in pages.shares:
        votes[new, owners[old]] = votes.get((new, owners[old]), 0.0) + visits
    heirs = [(0.0, NOBODY)] * len(pages.cuts)
    for (new, owner), visits in votes.items():
        heirs[new] = max(heirs[new], (visits, owner))
    return [owner for _, owner in heirs]


def recut(tree: UrlTree, cuts: Cuts, random: Random) -> UrlTree:
    """The copy under a new expansion, with all that is known carried over; the visits stay the same.

    A superpage that stays the same keeps its statistics, and those of the old tree with it: use the new one only.
    """
    new = UrlTree(cuts, random, tokens=tree.tokens)
    priors: dict[int, list[tuple[bytes, float]]] = {}
    for at, sketch in tree.sketches():
        low, high = tree.range_of(at)
        here = bisect_left(cuts, low)
        if here < len(cuts) and range_of(cuts, here) == (low, high):
            new.put(here, sketch)
            continue
        points = sketch.points(low)
        parts = [(to, list(part)) for to, part in groupby(points, lambda point: bisect_right(cuts, point[0]) - 1)]
        amounts = [math.fsum(visits for _, visits in part) for _, part in parts]
        for (to, part), amount, whole in zip(parts, amounts, _whole(amounts)):
            if whole:  # a superpage of half a visit was not visited: it could not be divided
                priors.setdefault(to, []).extend((key, visits * whole / amount) for key, visits in part)
    total = tree.visits
    for to, points in priors.items():
        limits = limits_for(math.fsum(visits for _, visits in points) / total, tree.tokens)
        new.put(to, SuperpageSketch(node_of(*range_of(cuts, to)), limits, random, thin(points, limits.keys)))
    return new


def _whole(amounts: Sequence[float]) -> list[int]:
    """Whole numbers near the amounts, with the same sum (which is whole)."""
    ends = [0, *(round(total) for total in accumulate(amounts))]
    return [end - start for start, end in pairwise(ends)]


class _Spread:
    """Points in key order, with running sums: the visits of any part of them without a walk."""

    def __init__(self, points: Points) -> None:
        self.keys = [key for key, _ in points]
        self._sums = [0.0, *accumulate(visits for _, visits in points)]

    def visits(self, start: int, end: int) -> float:
        return self._sums[end] - self._sums[start]


def _cuts_of(sketch: SuperpageSketch, node: bytes, spread: _Spread, limit: float) -> set[bytes]:
    cuts: set[bytes] = set()
    for token, count in sketch.hot.counts.items():
        if count >= limit:
            cuts.update((token, token + SUBTREE_END))
    limit = max(limit, _SUPPORT * sketch.grain()) * (1 - _ROUNDING)
    _expand(node, spread, (0, len(spread.keys)), limit, cuts)
    return cuts


def _expand(node: bytes, spread: _Spread, part: tuple[int, int], limit: float, cuts: set[bytes]) -> None:
    """Put the cuts of the node, to which a part of the points belongs, and of the nodes below it into `cuts`."""
    keys, (at, last) = spread.keys, part
    inner = len(node) + 1 if node else 0
    cool: list[tuple[bytes, float]] = []
    while at < last:
        end = keys[at].find(SEPARATOR, inner)
        token = keys[at] if end < 0 else keys[at][:end]
        # the node's own page stands before its children; it is no subtree
        stop = (
            bisect_right(keys, token, at, last) if token == node else bisect_left(keys, token + SUBTREE_END, at, last)
        )
        weight = spread.visits(at, stop)
        if weight < limit or token == node or token.endswith(SUBTREE_END):
            cool.append((token, weight))
        else:
            cuts.update((token, token + SUBTREE_END))
            if weight > limit * (1 + 3 * _ROUNDING) and stop - at > 1:
                _expand(token, spread, (at, stop), limit, cuts)
        at = stop
    total = math.fsum(weight for _, weight in cool)
    intervals = math.ceil(total / limit * (1 - 2 * _ROUNDING))
    made, before = 1, 0.0
    for token, weight in cool:
        # cut before the token where that is nearer to an even spacing than behind it
        while made < intervals and before + weight / 2 > made * total / intervals:
            cuts.add(token)
            made += 1
        before += weight


def _overlay(cuts: Cuts, spreads: dict[int, _Spread]) -> Superpages:
    weights = [0.0] * len(cuts)
    shares: list[tuple[int, int, float]] = []
    for old, spread in sorted(spreads.items()):
        keys = spread.keys
        new, at = bisect_right(cuts, keys[0]) - 1, 0
        while at < len(keys):
            end = bisect_left(keys, cuts[new + 1], at) if new + 1 < len(cuts) else len(keys)
            if end > at:
                weights[new] += spread.visits(at, end)
                shares.append((old, new, spread.visits(at, end)))
            new, at = new + 1, end
    return Superpages(cuts, tuple(weights), tuple(shares))


def _spreads(tree: UrlTree) -> dict[int, _Spread]:
    return {at: _Spread(sketch.points(tree.cuts[at])) for at, sketch in tree.sketches()}
