"""What the URL tree remembers of one superpage: visits, hot tokens, cool tokens, and a sample of whole keys.

The tokens of a superpage are those that follow its *stem*, the node of the URL tree under which nearly all of its
visits lie. (For a superpage that is a node or an interval of a node's children this is that node, or, where all
visits go on through the same few tokens, the end of that chain: /http, usr, share, doc.) A token is held as the key
of the child node that it names, so that one of another level is no special case: a visit beside the stem counts for
the child node at which it leaves the stem's path.

Invariant: visits == prior + hot.total() + cool.population, and keys.population == visits − prior.
It does not know its neighbours: `core.tree.superpages` and `core.tree.tree` cut and join superpages.
"""

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from random import Random

import msgspec

from gcs.core.tree.sketch import HotTokens, KeySample
from gcs.core.url.sortkey import SEPARATOR, SUBTREE_END

#: (key, visits) in key order: a distribution over the key space
Points = Sequence[tuple[bytes, float]]

#: sampled keys after which a sketch looks for its stem
_SETTLE = 32
#: share of the sampled keys that must lie under the stem
_MOST = 7 / 8


class SketchLimits(msgspec.Struct, frozen=True):
    """How much a sketch may remember. The paper's figures are 50–200 hot tokens and 50–200 samples."""

    hot: int = 100
    cool: int = 100
    keys: int = 100


class SuperpageSketch:
    """The statistics of one superpage in one gatherer's copy of the URL tree.

    Visits wait in `pending` (filled by the tree, emptied by `fold`), since many at once are cheaper than each alone.
    """

    __slots__ = ("_stem", "cool", "hot", "keys", "pending", "prior", "settled", "visits")

    def __init__(self, node: bytes, limits: SketchLimits, random: Random, prior: Points = ()) -> None:
        self._stem = _inner(node)
        #: whether the stem was looked for
        self.settled = False
        self.pending: list[bytes] = []
        #: where earlier visits lie, as far as known: they were counted under another expansion
        self.prior = list(prior)
        self.visits = round(math.fsum(visits for _, visits in prior))
        #: tokens visited most; what leaves the table becomes cool
        self.hot = HotTokens(limits.hot)
        #: sample of the visits that the table does not account for
        self.cool = KeySample(limits.cool, random)
        #: sample of all visits; it tells what lies below a token
        self.keys = KeySample(limits.keys, random)
        self._find_stem()

    @property
    def stem(self) -> bytes:
        """The node whose children are the tokens."""
        return self._stem[:-1]

    def fold(self, limits: SketchLimits) -> None:
        """Count the visits that are pending."""
        keys, self.pending = self.pending, []
        if not keys:
            return
        self.hot.capacity, self.cool.capacity, self.keys.capacity = limits.hot, limits.cool, limits.keys
        self.visits += len(keys)
        self.keys.add_all(keys)
        if not self.settled:
            self._find_stem()
        stem, size, hot = self._stem, len(self._stem), self.hot
        for key in keys:
            if key.startswith(stem):
                end = key.find(SEPARATOR, size)
                token = key if end < 0 else key[:end]
            else:
                token = _branch(key, stem)
            if token in hot.counts:
                hot.counts[token] += 1
            else:
                for cooled, visits in hot.add(token):
                    self.cool.add(cooled, visits)

    def points(self, low: bytes) -> list[tuple[bytes, float]]:
        """Where in the key space the visits lie: (key, visits) in key order, as well as it is known.

        A hot token's visits are spread over its sampled keys. Cool ones stand at their token; or, where more keys were
        sampled, at the keys that are left when each hot token has had its count. The superpage begins at `low`, maybe
        in the midst of a token.
        """
        keys = sorted(self.keys.items())
        worth = [self.keys.population / max(len(keys), 1)] * len(keys)
        points = list(self.prior)
        for token, count in self.hot.counts.items():
            first, last = bisect_left(keys, token), bisect_left(keys, token + SUBTREE_END)
            each = count / max(last - first, 1)
            points += [(key, each) for key in keys[first:last] or [token]]
            worth[first:last] = [max(before - each, 0.0) for before in worth[first:last]]
        if self.cool.population:
            points += self._cool_points(keys, worth)
        return sorted((max(key, low), visits) for key, visits in points)

    def _cool_points(self, keys: list[bytes], worth: list[float]) -> Points:
        """Where the cool visits lie; `worth`: what each sampled key stands for beside the hot tokens."""
        cool, left = self.cool.items(), math.fsum(worth)
        if len(cool) < sum(map(bool, worth)):
            return [(key, visits * self.cool.population / left) for key, visits in zip(keys, worth) if visits]
        cool = cool or keys or [self.stem]  # joined samples may be empty
        return [(token, self.cool.population / len(cool)) for token in cool]

    def glimpse(self, low: bytes, most: int) -> list[tuple[bytes, float]]:
        """At most so many points, from the samples alone: cheap, and mostly the same points at the next call."""
        before = math.fsum(visits for _, visits in self.prior)
        earlier = thin(self.prior, max(int(most * before / max(self.visits, 1)), 1)) if self.prior else []
        drawn = heapq.nsmallest(max(most - len(earlier), 1), self.keys.drawn())  # the smallest: a fair sample, too
        later = [(key, self.keys.population / len(drawn)) for _, key in drawn]
        return sorted((max(key, low), visits) for key, visits in (*earlier, *later))

    def grain(self) -> float:
        """Visits for which one sampled item stands: what is lighter than a few of these is not known."""
        prior = self.visits - self.keys.population
        return max(
            prior / max(len(self.prior), 1),
            self.cool.population / max(len(self.cool), len(self.keys), 1),
            self.keys.population / max(len(self.keys), 1),
        )

    def join(self, others: Sequence["SuperpageSketch"]) -> "SuperpageSketch":
        """The sketch of all these visits together: the same superpage in the copies of several gatherers."""
        joined: SuperpageSketch = SuperpageSketch.__new__(SuperpageSketch)
        joined.pending = []
        joined.prior = [point for sketch in (self, *others) for point in sketch.prior]
        joined.visits = self.visits + sum(sketch.visits for sketch in others)
        joined.hot = self.hot.join([sketch.hot for sketch in others])
        joined.cool = self.cool.join([sketch.cool for sketch in others])
        joined.keys = self.keys.join([sketch.keys for sketch in others])
        # the shallowest: a stem that is too deep would call most visits of the others strays
        joined._stem, joined.settled = min(
            ((sketch._stem, sketch.settled) for sketch in (self, *others)), key=lambda pair: (len(pair[0]), pair)
        )
        return joined

    def _find_stem(self) -> None:
        """Look for the stem, if there are keys enough. Tokens of the old one stay: they are nodes all the same."""
        known = self.keys.items() or [key for key, _ in self.prior]
        if len(known) >= _SETTLE:
            self._stem = _inner(trunk(known, self.stem))
            self.settled = True


def trunk(keys: Iterable[bytes], node: bytes) -> bytes:
    """The deepest node at or below `node` that most of the keys lie under."""
    under = sorted(keys)
    need = _MOST * len(under)
    while under:
        # the middle key is under any node that more than half of them are under
        inner = _inner(node)
        middle = under[len(under) // 2]
        if not middle.startswith(inner):
            return node
        end = middle.find(SEPARATOR, len(inner))
        if end < 0:
            return node  # a page, not a node with children
        child = middle[:end]
        under = under[bisect_left(under, child) : bisect_left(under, child + SUBTREE_END)]
        if len(under) < need:
            return node
        node = child
    return node


def _inner(node: bytes) -> bytes:
    """What the keys below a node begin with."""
    return node + SEPARATOR if node else node


def _branch(key: bytes, stem: bytes) -> bytes:
    """The first node on the way to `key` that is not on the way to `stem` (or the key itself, if it is)."""
    for at, (mine, its) in enumerate(zip(key, stem)):
        if mine != its:
            end = key.find(SEPARATOR, at)
            return key if end < 0 else key[:end]
    return key


def thin(points: Points, most: int) -> list[tuple[bytes, float]]:
    """At most so many points with the same visits in all: those that are evenly spaced in visits."""
    if len(points) <= most:
        return list(points)
    step = math.fsum(visits for _, visits in points) / most
    thinned: list[tuple[bytes, float]] = []
    passed, marks = 0.0, 0
    for key, visits in points:
        passed += visits
        reached = min(math.floor(passed / step + 0.5), most)
        if reached > marks:
            thinned.append((key, (reached - marks) * step))
            marks = reached
    return thinned
