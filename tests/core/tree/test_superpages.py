from bisect import bisect_left
from itertools import pairwise
from math import ceil, fsum
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.tree.superpage_sketch import SketchLimits
from gcs.core.tree.superpages import NOBODY, Superpages, create, expand, fuse, inherit, recut, threshold, weigh
from gcs.core.tree.tree import WHOLE, UrlTree, is_expansion, merge
from gcs.core.url.sortkey import sort_key

ALL = SketchLimits(hot=10_000, cool=10_000, keys=10_000)


def tree_of(visits, cuts=WHOLE, limits=ALL):
    tree = UrlTree(cuts, Random(1), limits)
    for key in visits:
        tree.visit(key)
    return tree


def token_visits(counts):
    """Visits of pages below the tokens of the root, so many each."""
    return [b"%s\x00/http\x00%d" % (token.encode(), n) for token, count in counts.items() for n in range(count)]


def count(visits, cuts):
    ordered = sorted(visits)
    at = [bisect_left(ordered, cut) for cut in cuts] + [len(ordered)]
    return [high - low for low, high in pairwise(at)]


def test_threshold_is_the_papers_delta():
    assert threshold(64_000, 16, 20) == 200
    assert threshold(3, 16, 20) == 1


def test_expand_follows_the_paper_at_one_node():
    """Hot tokens ≥ Δ are singletons with their counts; the rest is I = ceil(cool/Δ) even intervals."""
    counts = {"h": 100, "q": 140} | dict.fromkeys("abcdefgijklmnopr", 25)
    tree = tree_of(token_visits(counts))
    pages = expand(tree, 100)
    weight = dict(zip(pages.cuts, pages.weights))
    # singletons: a cut before and behind, and the weight is the number of visits
    for token in (b"h", b"q"):
        assert {token, token + b"\x01"} <= set(pages.cuts)
    assert weight[b"h"] == 100
    assert fsum(weight[cut] for cut in pages.cuts if b"q" <= cut < b"q\x01") == 140
    # 16 cool tokens of 25 visits are 4 intervals of 4 tokens; h and q lie inside two of them
    top = [cut for cut in pages.cuts if b"\x00" not in cut]
    assert top == [b"", b"e", b"h", b"h\x01", b"j", b"n", b"q", b"q\x01"]
    assert [weight[cut] for cut in (b"", b"e", b"h\x01", b"j", b"n", b"q\x01")] == [100, 75, 25, 100, 75, 25]


@given(
    st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.integers(1, 60), min_size=1, max_size=30),
    st.integers(1, 80),
)
def test_expand_follows_the_paper_whatever_the_counts(counts, limit):
    visits = [b"%s" % token.encode() for token, number in counts.items() for _ in range(number)]
    pages = expand(tree_of(visits), limit)
    hot = {token.encode() for token, number in counts.items() if number >= limit}
    singles = {cut[:-1] for cut in pages.cuts if cut.endswith(b"\x01")}
    assert singles == hot
    intervals = [cut for cut in pages.cuts if cut not in hot and not cut.endswith(b"\x01")]
    cool = sum(number for token, number in counts.items() if token.encode() not in hot)
    assert len(intervals) <= max(ceil(cool / limit), 1)
    assert list(pages.weights) == pytest.approx(count(visits, pages.cuts))
    # evenly spaced: an interval without its singletons differs from cool/I by at most one token on either side
    per_interval = cool / max(ceil(cool / limit), 1)
    edges = [*intervals, b"\xff"]
    for low, high in pairwise(edges):
        inside = sum(n for t, n in counts.items() if low <= t.encode() < high and t.encode() not in hot)
        assert inside <= per_interval + limit


hosts = st.sampled_from(["a.com", "b.a.com", "c.com", "d.org", "e.d.org", "10.0.0.1"])
paths = st.lists(st.sampled_from(["", "a", "b", "ab", "c"]), max_size=4).map("/".join)
keys = st.builds("http://{}/{}".format, hosts, paths).map(sort_key)
visited = st.lists(keys, min_size=1, max_size=300)


@given(visited, st.integers(1, 40), st.integers(1, 10), st.integers(1, 10))
def test_created_superpages_partition_the_space_and_are_few(visits, capacity, gatherers, delta):
    tree = tree_of(visits, limits=SketchLimits(capacity, capacity, capacity))
    limit = threshold(tree.visits, gatherers, delta)
    pages = create(tree, limit)
    assert is_expansion(pages.cuts)
    assert fsum(pages.weights) == pytest.approx(len(visits))
    assert len(pages.cuts) < 2 * len(visits) / limit + 1
    assert all(left + right > limit - 1e-6 for left, right in pairwise(pages.weights))


@given(visited, st.integers(1, 10))
def test_weights_are_exact_when_all_is_remembered(visits, gatherers):
    pages = create(tree_of(visits), threshold(len(visits), gatherers, 2))
    assert list(pages.weights) == pytest.approx(count(visits, pages.cuts))


@given(visited, visited, st.integers(1, 5))
def test_a_second_round_starts_from_the_first(first, second, gatherers):
    tree = tree_of(first)
    cuts = create(tree, threshold(tree.visits, gatherers, 3)).cuts
    tree = recut(tree, cuts, Random(2))
    for key in second:
        tree.visit(key)
    assert tree.visits == len(first) + len(second)
    limit = threshold(tree.visits, gatherers, 3)
    pages = create(tree, limit)
    assert is_expansion(pages.cuts)
    assert fsum(pages.weights) == pytest.approx(tree.visits)
    assert len(pages.cuts) < 2 * tree.visits / limit + 1


def test_giant_host_behind_a_chain_of_tokens_is_cut_by_its_paths_in_one_round():
    random = Random(3)
    giant = [f"http://giant.example.com/srv/www/docs/{random.randrange(40)}/{n}.html" for n in range(8000)]
    others = [f"http://www{n % 200}.example.org/{n}" for n in range(2000)]
    visits = [sort_key(url) for url in giant + others]
    random.shuffle(visits)
    tree = UrlTree(WHOLE, Random(4))
    for key in visits:
        tree.visit(key)
    limit = threshold(tree.visits, 8, 20)
    pages = create(tree, limit)
    actual = count(visits, pages.cuts)
    inside = [n for cut, n in zip(pages.cuts, actual) if cut.startswith(sort_key("http://giant.example.com/")[:-1])]
    assert len(inside) > 60
    assert max(actual) < 3 * limit


def test_nothing_empty_is_left_beside_singletons():
    """A host that is one singleton has one owner: no gap of it goes to a neighbour."""
    visits = [sort_key(f"http://h{host}.example/d/{n}") for host in range(4) for n in range(100)]
    pages = create(tree_of(visits), 100)
    assert [weight for weight in pages.weights if not weight] == []
    assert len(pages.cuts) == 4


pieces = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=40)


def superpages_of(rows):
    cuts = (b"", *(b"%04d" % n for n in range(1, len(rows))))
    weights = tuple(float(weight) for weight, _ in rows)
    return Superpages(cuts, weights, tuple((at, at, weight) for at, weight in enumerate(weights) if weight))


@given(pieces, st.integers(1, 12))
def test_fuse_joins_neighbours_until_any_two_pass_the_limit(rows, limit):
    fused = fuse(superpages_of(rows), limit)
    assert set(fused.cuts) <= set(superpages_of(rows).cuts) and is_expansion(fused.cuts)
    assert sum(fused.weights) == sum(weight for weight, _ in rows)
    assert all(left + right > limit for left, right in pairwise(fused.weights))
    heaviest = max(weight for weight, _ in rows)
    assert all(weight <= max(limit, heaviest) for weight in fused.weights)
    assert fsum(visits for _, _, visits in fused.shares) == sum(fused.weights)


@given(pieces, st.integers(1, 12))
def test_fuse_with_owners_moves_no_work(rows, limit):
    owners = [owner for _, owner in rows]
    fused = fuse(superpages_of(rows), limit, owners)
    for old, new, _ in fused.shares:
        assert inherit(fused, owners)[new] == owners[old]


def test_create_with_owners_still_bounds_the_number():
    """Owners that alternate from token to token would keep every piece apart."""
    cuts = (b"", *(b"%03d" % n for n in range(1, 400)))
    tree = tree_of([b"%03d\x00/http\x00" % n for n in range(400)], cuts)
    limit = threshold(tree.visits, 2, 20)
    assert len(create(tree, limit, [at % 2 for at in range(400)]).cuts) <= 80


def test_inherit_names_the_owner_of_most_visits():
    pages = Superpages((b"", b"b", b"c"), (7.0, 2.0, 0.0), ((0, 0, 3.0), (1, 0, 4.0), (2, 1, 2.0)))
    assert inherit(pages, [5, 6, 5]) == [6, 5, NOBODY]


def test_weigh_tells_the_visits_of_any_other_expansion():
    visits = token_visits({"a": 30, "b": 50, "c": 20})
    pages = weigh(tree_of(visits, (b"", b"b")), (b"", b"c"))
    assert pages.weights == pytest.approx((80, 20))
    assert [(old, new, round(n)) for old, new, n in pages.shares] == [(0, 0, 30), (1, 0, 50), (1, 1, 20)]


@given(visited, st.lists(keys, max_size=8))
def test_recut_keeps_the_visits_where_they_are(visits, at):
    cuts = tuple(sorted({b"", *at}))
    tree = recut(tree_of(visits), cuts, Random(5))
    assert tree.cuts == cuts and tree.visits == len(visits)
    assert tree.weights() == count(visits, cuts)


@given(visited, st.integers(1, 4), st.lists(st.lists(keys, max_size=8), min_size=1, max_size=3))
def test_recut_leaves_no_superpage_without_visits(visits, capacity, expansions):
    """However little is remembered: a part of a visit is none, and nothing can be divided as nothing was."""
    tree = tree_of(visits, limits=SketchLimits(hot=capacity, cool=capacity, keys=100))
    for cuts in expansions:
        tree = recut(tree, (b"", *sorted({*cuts} - {b""})), Random(5))
        assert tree.visits == len(visits)
        for at, sketch in tree.sketches():
            assert sketch.visits > 0 and all(part > 0 for _, part in sketch.prior)
            assert sketch.glimpse(tree.range_of(at)[0], 1)


def test_recut_keeps_the_statistics_of_a_superpage_that_stays():
    visits = token_visits({"a": 300, "b": 300})
    tree = tree_of(visits, (b"", b"b"))
    hot = dict(list(tree.sketches())[1][1].hot.counts)
    again = recut(tree, (b"", b"a\x00/http\x005", b"b"), Random(6))
    assert dict(list(again.sketches())[2][1].hot.counts) == hot


def test_recut_copies_still_merge():
    copies = [tree_of(token_visits({"a": 100 + n, "b": 50})) for n in range(3)]
    pages = create(merge(copies), 60)
    moved = merge([recut(copy, pages.cuts, Random(7)) for copy in copies])
    assert moved.visits == 453
    assert moved.weights() == [round(weight) for weight in pages.weights]
