"""A gatherer's copy of the URL tree as bytes: what it posts for the leader to merge, and keeps over a restart.

Only visited superpages are written, each with the key at which it begins, so that a copy made under another plan is
refused instead of misread. A priority of a sample is written as 16 bits of its ratio to the sample's rate: enough to
thin the sample fairly, and a quarter of the size.

Invariant: merging decoded copies gives the same counters as merging the copies themselves.
"""

import math
from collections.abc import Sequence
from random import Random

import msgspec

from gcs.core.messages.codec import pack, unpack
from gcs.core.tree.sketch import HotTokens, KeySample
from gcs.core.tree.superpage_sketch import SketchLimits, SuperpageSketch
from gcs.core.tree.tree import Cuts, UrlTree
from gcs.errors import CodecError

_VERSION = 1
_STEPS = 1 << 16


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
