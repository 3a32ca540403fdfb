from math import fsum
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.tree.superpage_sketch import SketchLimits, SuperpageSketch, thin, trunk

LIMITS = SketchLimits(hot=8, cool=20, keys=50)
keys = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5).map(lambda tokens: "\x00".join(tokens).encode())


def leaf_of(visits, node=b"", limits=LIMITS, batch=64):
    sketch = SuperpageSketch(node, limits, Random(1))
    for start in range(0, len(visits), batch):
        sketch.pending = list(visits[start : start + batch])
        sketch.fold(limits)
    return sketch


def key(*tokens):
    return "\x00".join(tokens).encode()


@given(st.lists(keys, max_size=300), st.integers(1, 64))
def test_leaf_accounts_for_every_visit(visits, batch):
    sketch = leaf_of(visits, batch=batch)
    assert sketch.visits == len(visits) == sketch.hot.total() + sketch.cool.population == sketch.keys.population
    points = sketch.points(b"")
    assert points == sorted(points)
    assert fsum(weight for _, weight in points) == pytest.approx(len(visits))


def test_leaf_counts_the_children_of_the_end_of_a_chain():
    pages = [key("example", "debian", "pkg", "/http", "usr", "share", f"d{n % 3}", f"p{n}") for n in range(90)]
    sketch = leaf_of(pages)
    stem = key("example", "debian", "pkg", "/http", "usr", "share")
    assert sketch.stem == stem
    assert sketch.hot.counts == {stem + b"\x00d0": 30, stem + b"\x00d1": 30, stem + b"\x00d2": 30}


def test_leaf_counts_strays_where_they_leave_the_stem():
    pages = [key("org", "a", "/http", f"p{n % 2}", f"{n}") for n in range(100)]
    strays = [
        key("org", "a", "/https", "x"),
        key("org", "b", "/http", ""),
        key("org", "a"),
        key("net", "c", "/http", ""),
    ]
    sketch = leaf_of(pages + strays)
    assert sketch.stem == key("org", "a", "/http")
    assert sketch.hot.counts == {
        key("org", "a", "/http", "p0"): 50,
        key("org", "a", "/http", "p1"): 50,
        key("org", "a", "/https"): 1,
        key("org", "b"): 1,
        key("org", "a"): 1,
        key("net"): 1,
    }


@pytest.mark.parametrize(
    ("under", "expected"),
    [
        ([key("a", "b", "c"), key("a", "b", "d")], key("a", "b")),
        ([key("a", "b", "c")] * 7 + [key("z")], key("a", "b")),
        ([key("a", "b", "c")] * 6 + [key("z")] * 2, b""),
        ([key("a")] * 3, b""),
        ([], b""),
    ],
)
def test_trunk_is_the_deepest_node_with_most_keys_under_it(under, expected):
    assert trunk(under, b"") == expected


def test_leaf_spreads_a_hot_token_over_its_sampled_keys():
    sketch = leaf_of([key("a", "/http", f"{n:03d}") for n in range(20)] + [key("b", "/http", "x")] * 20)
    points = sketch.points(b"")
    assert fsum(weight for point, weight in points if point < key("a", "/http", "010")) == pytest.approx(10)


def test_leaf_does_not_place_visits_before_its_range():
    """A superpage may begin in the midst of a token: the token's own key lies before it."""
    sketch = leaf_of([key("a", "m", "x"), key("b", "y")], limits=SketchLimits(hot=2, cool=2, keys=1))
    low = key("a", "k")
    assert all(point >= low for point, _ in sketch.points(low))


@given(st.lists(keys, max_size=200), st.lists(keys, max_size=200), st.lists(keys, max_size=200))
def test_joined_leaves_add_up_in_any_order(a, b, c):
    one, two, three = (leaf_of(visits) for visits in (a, b, c))
    left, right = one.join([two]).join([three]), three.join([one, two])
    for sketch in (left, right):
        assert sketch.visits == len(a) + len(b) + len(c) == sketch.hot.total() + sketch.cool.population
    assert left.hot.counts == right.hot.counts
    assert left.cool.population == right.cool.population
    assert (left.stem, left.settled) == (right.stem, right.settled)


def test_points_of_a_leaf_whose_joined_cool_sample_is_empty_still_add_up():
    heavy = leaf_of([key(f"{n}") for n in range(2000)], limits=SketchLimits(hot=1, cool=1, keys=1))
    light = leaf_of([key(f"x{n}") for n in range(5)], limits=SketchLimits(hot=1, cool=1, keys=1))
    heavy.cool.rate = light.cool.rate = 1e-12  # nothing is that small: what is joined keeps nothing
    joined = heavy.join([light])
    assert not joined.cool.items()
    assert fsum(weight for _, weight in joined.points(b"")) == pytest.approx(2005)


weighted = st.lists(st.tuples(keys, st.floats(0.01, 1000)), max_size=60).map(sorted)


@given(weighted, st.integers(1, 30))
def test_thin_keeps_the_sum_and_misplaces_less_than_one_step(points, most):
    thinned = thin(points, most)
    total = fsum(weight for _, weight in points)
    assert len(thinned) <= max(most, 0) or thinned == points
    assert fsum(weight for _, weight in thinned) == pytest.approx(total)
    for cut, _ in points:
        before, after = (fsum(weight for point, weight in side if point < cut) for side in (points, thinned))
        assert abs(before - after) <= total / most + 1e-6


@given(st.lists(keys, min_size=1, max_size=300), st.integers(1, 80), st.lists(keys, max_size=20))
def test_leaf_shows_every_visit_in_few_points(visits, most, before):
    sketch = SuperpageSketch(b"", LIMITS, Random(1), sorted((each, 2.0) for each in before))
    sketch.pending = list(visits)
    sketch.fold(LIMITS)
    points = sketch.glimpse(b"b", most)
    assert points == sorted(points) and len(points) <= max(most, 2 if before else 1)
    assert all(place >= b"b" for place, _ in points)
    assert fsum(weight for _, weight in points) == pytest.approx(len(visits) + 2 * len(before))
