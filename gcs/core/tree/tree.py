"""The URL tree: which superpage a URL belongs to, and what one gatherer has seen of each.

An expansion is written down by its *cuts*: the sorted keys at which one superpage ends and the next one begins, the
first of them the start of the key space. Superpage i is the range [cuts[i], cuts[i + 1]), the last one ends with
the space. A singleton expansion of node p by token t puts a cut before and a cut behind the subtree of p·t; an
interval expansion puts a cut before the first token of each interval. So what is left of a node beside its
singletons has an owner too (the intervals between them; the first one holds the node's own page), and whatever
the cuts are, the superpages partition the key space. A superpage's number is its place in key order.

To locate a key is a binary search in the cuts, whatever the depth of the tree: a key costs more to make than to find.

The user's initial expansion is written as lines, one node each (`parse`): a URL without a query, or tokens between
blanks. Each node becomes a superpage; with "<" before it, the line is only a cut before the node.

A gatherer posts its copy as bytes for the leader to merge, and keeps them over a restart (`encode`, `decode`). Only
visited superpages are written, each with the key at which it begins, so that a copy made under another plan is refused
instead of misread. A priority of a sample is written as 16 bits of its ratio to the sample's rate: enough to thin the
sample fairly, and a quarter of the size.

Invariant: the visits of a copy are those that were given to it; copies with equal cuts add up (`merge`), in any order,
and decoded copies to the same counters. It decides neither where to cut (`core.tree.superpages`) nor who owns what
(`core.plan.plan`).
"""

import math
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise
from random import Random

import msgspec

from gcs.core.messages.codec import pack, unpack
from gcs.core.tree.sketch import HotTokens, KeySample
from gcs.core.tree.superpage_sketch import SketchLimits, SuperpageSketch
from gcs.core.url.canonical import canonical
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY, SEPARATOR, SUBTREE_END, sort_key, subtree
from gcs.errors import CodecError, UsageError

Cuts = tuple[bytes, ...]
#: the expansion with which a crawl begins when the user gives none: all the web is one superpage
WHOLE: Cuts = (FIRST_KEY,)
#: keys that the sketches of a copy may remember together
_BUDGET = 10_000
#: hot tokens and cool samples of a node (§5.1): the most, unless a setting says otherwise, and the fewest
TOKENS, FEWEST_TOKENS = 200, 50
#: visits of a sketch that are counted together; enough of them to see where its stem is
_BATCH = 64
#: of the encoding, and the steps in which it writes priorities
_VERSION, _STEPS = 1, 1 << 16


def limits_for(share: float, tokens: int = TOKENS) -> SketchLimits:
    """What a sketch with this share of a copy's visits may remember: 50 to `tokens` hot tokens, and as many cool ones.

    These are the paper's. The sample of whole keys is ours, and larger where a superpage is heavy: the heavy ones will
    be cut, down through several levels at once, and the first expansion of a large crawl must not be a guess.
    """
    sample = max(int(_BUDGET * share), FEWEST_TOKENS)
    return SketchLimits(hot=min(sample, tokens), cool=min(sample, tokens), keys=sample)


class UrlTree:
    """One gatherer's copy. filled by: visit, for each URL that is new to the gatherer that owns it."""

    def __init__(self, cuts: Cuts, random: Random, limits: SketchLimits | None = None, tokens: int = TOKENS) -> None:
        """`tokens`: hot tokens and cool samples of a node, at most."""
        if not is_expansion(cuts):
            raise ValueError("cuts must ascend from the first key")
        self.cuts = cuts
        self._random = random
        #: what each sketch may remember; unless given, it depends on its share of the visits
        self._limits, self.tokens = limits, tokens
        self._visits = 0
        self._sketches: list[SuperpageSketch | None] = [None] * len(cuts)

    @property
    def visits(self) -> int:
        """W: the visits of the root."""
        return sum(sketch.visits for _, sketch in self.sketches())

    def locate(self, key: bytes) -> int:
        return bisect_right(self.cuts, key) - 1

    def visit(self, key: bytes) -> int:
        """Count a URL that is new: processed, or put into the queue. Returns its superpage."""
        at = bisect_right(self.cuts, key) - 1
        sketch = self._sketches[at] or self._fresh(at)
        sketch.pending.append(key)
        if len(sketch.pending) >= _BATCH:
            self._fold(sketch)
        return at

    def range_of(self, superpage: int) -> tuple[bytes, bytes]:
        return range_of(self.cuts, superpage)

    def sketches(self) -> Iterator[tuple[int, SuperpageSketch]]:
        """The superpages that were visited, with their statistics."""
        for at, sketch in enumerate(self._sketches):
            if sketch is not None:
                if sketch.pending:
                    self._fold(sketch)
                yield at, sketch

    def weights(self) -> list[int]:
        weights = [0] * len(self.cuts)
        for at, sketch in self.sketches():
            weights[at] = sketch.visits
        return weights

    def keep(self, superpages: Container[int]) -> None:
        """Forget all superpages but these: those that move are counted by their new owner as it gets their URLs."""
        for at, sketch in self.sketches():
            if at not in superpages:
                self._sketches[at] = None
                self._visits -= sketch.visits

    def put(self, superpage: int, sketch: SuperpageSketch) -> None:
        """Let a superpage that was not visited have these statistics (a decoded copy, a new expansion)."""
        self._sketches[superpage] = sketch
        self._visits += sketch.visits

    def _fresh(self, at: int) -> SuperpageSketch:
        node, limits = node_of(*self.range_of(at)), self._limits or limits_for(0, self.tokens)
        sketch = self._sketches[at] = SuperpageSketch(node, limits, self._random)
        return sketch

    def _fold(self, sketch: SuperpageSketch) -> None:
        self._visits += len(sketch.pending)
        share = (sketch.visits + len(sketch.pending)) / self._visits
        sketch.fold(self._limits or limits_for(share, self.tokens))


def merge(trees: Sequence[UrlTree]) -> UrlTree:
    """The copies of several gatherers as one. It remembers all that they do, so it may pass the limits of a copy."""
    first = trees[0]
    if any(tree.cuts != first.cuts for tree in trees):
        raise ValueError("only copies of one expansion can be merged")
    known: dict[int, list[SuperpageSketch]] = {}
    for tree in trees:
        for at, sketch in tree.sketches():
            known.setdefault(at, []).append(sketch)
    merged = UrlTree(first.cuts, first._random, first._limits, first.tokens)
    for at, sketches in known.items():
        merged.put(at, sketches[0].join(sketches[1:]))
    return merged


def is_expansion(cuts: Sequence[bytes]) -> bool:
    """Whether the superpages between these cuts partition the key space."""
    return bool(cuts) and cuts[0] == FIRST_KEY and cuts[-1] < LAST_KEY and all(a < b for a, b in pairwise(cuts))


def range_of(cuts: Sequence[bytes], superpage: int) -> tuple[bytes, bytes]:
    return cuts[superpage], cuts[superpage + 1] if superpage + 1 < len(cuts) else LAST_KEY


def node_of(low: bytes, high: bytes) -> bytes:
    """The deepest node of the URL tree whose subtree holds the range [low, high)."""
    node = low
    if node.endswith(SUBTREE_END):  # behind a singleton: its parent's children go on here
        node = node[: max(node.rfind(SEPARATOR), 0)]
    while node and high > node + SUBTREE_END:
        node = node[: max(node.rfind(SEPARATOR), 0)]
    return node


def parse(lines: Iterable[str]) -> Cuts:
    """The cuts of the user's expansion."""
    cuts = {FIRST_KEY}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        only_before = text.startswith("<")
        low, high = subtree(_node(text.removeprefix("<").strip(), number))
        cuts.add(low)
        if not only_before and high < LAST_KEY:
            cuts.add(high)
    return tuple(sorted(cuts))


def _node(text: str, line: int) -> bytes:
    if "://" in text:
        url = canonical(text)
        if url is None or "?" in url:
            raise UsageError(f"expansion, line {line}: {text!r} is no http(s) URL without a query")
        return sort_key(url).rstrip(SEPARATOR)
    words = text.split()
    if not words or any(not "!" <= char <= "~" for word in words for char in word):
        raise UsageError(f"expansion, line {line}: {text!r} is neither a URL nor tokens between blanks")
    return SEPARATOR.join(word.encode() for word in words)


# -- copies as bytes


class _SampleCopy(msgspec.Struct, array_like=True, frozen=True):
    capacity: int
    rate: float
    population: int
    items: list[bytes]
    #: two bytes for each item
    priorities: bytes


class _SketchCopy(msgspec.Struct, array_like=True, frozen=True):
    low: bytes
    visits: int
    stem: bytes
    settled: bool
    hot_capacity: int
    hot_error: int
    hot: dict[bytes, int]
    cool: _SampleCopy
    keys: _SampleCopy
    prior: list[tuple[bytes, float]]


class _TreeCopy(msgspec.Struct, array_like=True, frozen=True):
    superpages: int
    sketches: list[tuple[int, _SketchCopy]]


def encode(tree: UrlTree) -> bytes:
    sketches = [(at, _sketch_copy(tree.cuts[at], sketch)) for at, sketch in tree.sketches()]
    return pack(_VERSION, _TreeCopy(len(tree.cuts), sketches))


def decode(data: bytes, cuts: Cuts, random: Random) -> UrlTree:
    """The copy in these bytes. CodecError: it was not made under the expansion with these cuts."""
    copy = unpack(_TreeCopy, _VERSION, data)
    tree = UrlTree(cuts, random)
    for at, sketch in copy.sketches:
        if copy.superpages != len(cuts) or at >= len(cuts) or cuts[at] != sketch.low:
            raise CodecError("the copy of the URL tree was made under another plan")
        tree.put(at, _sketch(sketch, random))
    return tree


def _sketch_copy(low: bytes, sketch: SuperpageSketch) -> _SketchCopy:
    return _SketchCopy(
        low=low,
        visits=sketch.visits,
        stem=sketch.stem,
        settled=sketch.settled,
        hot_capacity=sketch.hot.capacity,
        hot_error=sketch.hot.error,
        hot=dict(sorted(sketch.hot.counts.items())),
        cool=_sample_copy(sketch.cool),
        keys=_sample_copy(sketch.keys),
        prior=sketch.prior,
    )


def _sketch(copy: _SketchCopy, random: Random) -> SuperpageSketch:
    sketch = SuperpageSketch(copy.stem, SketchLimits(copy.hot_capacity, copy.cool.capacity, copy.keys.capacity), random)
    sketch.settled, sketch.visits, sketch.prior = copy.settled, copy.visits, copy.prior
    sketch.hot = HotTokens(copy.hot_capacity)
    sketch.hot.counts, sketch.hot.error = copy.hot, copy.hot_error
    sketch.cool, sketch.keys = _sample(copy.cool, random), _sample(copy.keys, random)
    return sketch


def _sample_copy(sample: KeySample) -> _SampleCopy:
    drawn: Sequence[tuple[bytes, float]] = sorted((item, priority) for priority, item in sample.drawn())
    steps = [min(math.floor(priority / sample.rate * _STEPS), _STEPS - 1) for _, priority in drawn]
    return _SampleCopy(
        capacity=sample.capacity,
        rate=sample.rate,
        population=sample.population,
        items=[item for item, _ in drawn],
        priorities=b"".join(step.to_bytes(2, "big") for step in steps),
    )


def _sample(copy: _SampleCopy, random: Random) -> KeySample:
    if len(copy.priorities) != 2 * len(copy.items):
        raise CodecError("the copy of the URL tree is damaged: a sample without its priorities")
    steps = (int.from_bytes(copy.priorities[at : at + 2], "big") for at in range(0, len(copy.priorities), 2))
    drawn = [((step + 0.5) / _STEPS * copy.rate, item) for step, item in zip(steps, copy.items)]
    return KeySample.of(drawn, copy.capacity, copy.rate, copy.population, random)
