from random import Random

import pytest

from gcs.core.messages import codec
from gcs.core.tree.superpages import create, recut, threshold
from gcs.core.tree.tree import WHOLE, UrlTree, merge
from gcs.core.tree.tree_copy import decode, encode
from gcs.errors import CodecError


def web(seed, pages=3000):
    random = Random(seed)
    for _ in range(pages):
        host = int(random.paretovariate(0.8)) % 300
        yield b"com\x00h%d\x00/http\x00d%d\x00%d" % (host, random.randrange(9), random.randrange(10**6))


def copies(cuts=WHOLE, number=3):
    trees = [UrlTree(cuts, Random(seed)) for seed in range(number)]
    for seed, tree in enumerate(trees):
        for key in web(seed):
            tree.visit(key)
    return trees


def state(tree):
    def sampled(sample):
        return sample.population, sample.rate, sample.capacity, sorted(sample.items())

    return [
        (at, sketch.visits, sketch.stem, sketch.settled, sketch.prior, sketch.hot.counts, sketch.hot.error)
        for at, sketch in tree.sketches()
    ] + [(sampled(sketch.cool), sampled(sketch.keys)) for _, sketch in tree.sketches()]


def two_rounds():
    """Copies as they are in the midst of a crawl: some superpages carried over, some new."""
    trees = copies()
    pages = create(merge(trees), threshold(9000, 3, 20))
    trees = [recut(tree, pages.cuts, Random(9)) for tree in trees]
    for seed, tree in enumerate(trees):
        for key in web(seed + 10, 500):
            tree.visit(key)
    return trees


def test_copy_survives_its_encoding():
    for tree in two_rounds():
        assert state(decode(encode(tree), tree.cuts, Random(1))) == state(tree)


def test_decoded_copies_merge_to_the_same_superpages():
    trees = two_rounds()
    again = merge([decode(encode(tree), tree.cuts, Random(1)) for tree in trees])
    merged = merge(trees)
    assert again.weights() == merged.weights()
    assert [each.hot.counts for _, each in again.sketches()] == [each.hot.counts for _, each in merged.sketches()]
    limit = threshold(merged.visits, 3, 20)
    assert len(create(again, limit).cuts) == pytest.approx(len(create(merged, limit).cuts), rel=0.1)


def test_decoded_copy_goes_on_counting():
    tree = two_rounds()[0]
    again = decode(encode(tree), tree.cuts, Random(1))
    for key in web(50, 400):
        again.visit(key)
    assert again.visits == tree.visits + 400
    for _, sketch in again.sketches():
        assert sketch.hot.total() + sketch.cool.population == sketch.keys.population


def test_copy_is_compact():
    """About 20 bytes for each remembered item, however long its key."""
    tree = copies(number=1)[0]
    items = sum(len(sketch.hot.counts) + len(sketch.cool) + len(sketch.keys) for _, sketch in tree.sketches())
    assert len(encode(tree)) < 20 * items


def test_copy_of_another_plan_is_refused():
    data = encode(copies((b"", b"com\x00h2"), 1)[0])
    for cuts in (WHOLE, (b"", b"com\x00h3"), (b"", b"com\x00h2", b"org")):
        with pytest.raises(CodecError, match="another plan"):
            decode(data, cuts, Random(1))


def test_damaged_copy_is_refused():
    tree = copies(number=1)[0]
    data = encode(tree)
    with pytest.raises(CodecError, match="damaged"):
        decode(data[: len(data) // 2], WHOLE, Random(1))
    with pytest.raises(CodecError, match="version 9"):
        decode(codec.pack(9, None), WHOLE, Random(1))
