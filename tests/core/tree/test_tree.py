"""The URL tree: superpages partition the keys, copies add up, survive encoding; the user's expansion is read."""

from bisect import bisect_left
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.messages import codec
from gcs.core.tree.superpage_sketch import SketchLimits
from gcs.core.tree.superpages import create, recut, threshold
from gcs.core.tree.tree import WHOLE, UrlTree, decode, encode, is_expansion, merge, node_of, parse, range_of
from gcs.core.url.sortkey import LAST_KEY, sort_key, subtree
from gcs.errors import CodecError, UsageError

LIMITS = SketchLimits(hot=50, cool=50, keys=50)
hosts = st.sampled_from(["com", "a.com", "b.a.com", "a-b.com", "b.org", "10.0.0.1", "www.b.org:81"])
paths = st.lists(st.sampled_from(["", "a", "b", "ab", "a.html", "-"]), max_size=4).map("/".join)
urls = st.builds("{}://{}/{}{}".format, st.sampled_from(["http", "https"]), hosts, paths, st.sampled_from(["", "?q"]))
keys = urls.map(sort_key)


@st.composite
def expansions(draw):
    """Cuts as singletons and intervals put them: before and behind nodes."""
    cuts = {b""}
    for key in draw(st.lists(keys, max_size=8)):
        tokens = key.split(b"\x00")
        node = b"\x00".join(tokens[: draw(st.integers(1, len(tokens)))])
        cuts.update(subtree(node) if draw(st.booleans()) else (node,))
    return tuple(sorted(cuts - {LAST_KEY}))


@given(expansions(), keys)
def test_superpages_partition_the_key_space(cuts, key):
    assert is_expansion(cuts)
    inside = [at for at in range(len(cuts)) if range_of(cuts, at)[0] <= key < range_of(cuts, at)[1]]
    assert inside == [UrlTree(cuts, Random(1)).locate(key)]


@given(expansions())
def test_ranges_touch_and_cover_everything(cuts):
    ranges = [range_of(cuts, at) for at in range(len(cuts))]
    assert ranges[0][0] == b"" and ranges[-1][1] == LAST_KEY
    assert all(left[1] == right[0] for left, right in pairwise(ranges))


@given(expansions())
def test_node_of_a_range_is_the_deepest_node_around_it(cuts):
    for at in range(len(cuts)):
        low, high = range_of(cuts, at)
        tokens = low.split(b"\x00")
        nodes = [b""] + [b"\x00".join(tokens[:n]) for n in range(1, len(tokens) + 1)]
        around = [node for node in nodes if subtree(node)[0] <= low and high <= subtree(node)[1]]
        assert node_of(low, high) == max(around, key=len)


@pytest.mark.parametrize(
    ("low", "high", "node"),
    [
        (b"", LAST_KEY, b""),
        (b"com\x00a", b"com\x00a\x01", b"com\x00a"),  # a singleton
        (b"com\x00a", b"com\x00c", b"com"),  # an interval
        (b"com", b"com\x00c", b"com"),  # the first interval, with the node's own page
        (b"com\x00a\x01", b"com\x01", b"com"),  # what is left behind the last singleton
        (b"com\x00z", b"net", b""),
    ],
)
def test_node_of_known_ranges(low, high, node):
    assert node_of(low, high) == node


def filled(cuts, visits, seed=1):
    tree = UrlTree(cuts, Random(seed), LIMITS)
    for key in visits:
        tree.visit(key)
    return tree


@given(expansions(), st.lists(keys, max_size=150))
def test_tree_counts_every_visit_where_it_belongs(cuts, visits):
    tree = filled(cuts, visits)
    ordered = sorted(visits)
    assert tree.visits == len(visits)
    assert tree.weights() == [
        bisect_left(ordered, high) - bisect_left(ordered, low) for low, high in map(tree.range_of, range(len(cuts)))
    ]


@given(expansions(), st.lists(keys, max_size=60), st.lists(keys, max_size=60), st.lists(keys, max_size=60))
def test_merging_copies_adds_up_in_any_order(cuts, a, b, c):
    one, two, three = (filled(cuts, visits, seed) for seed, visits in enumerate((a, b, c)))
    whole = filled(cuts, a + b + c)
    for merged in (merge([one, two, three]), merge([merge([three, one]), two]), merge([two, merge([one, three])])):
        assert merged.weights() == whole.weights()
        for (_, sketch), (_, same) in zip(merged.sketches(), whole.sketches(), strict=True):
            assert sketch.visits == sketch.hot.total() + sketch.cool.population == same.visits
    left, right = merge([merge([one, two]), three]), merge([one, merge([two, three])])
    assert [sketch.hot.counts for _, sketch in left.sketches()] == [sketch.hot.counts for _, sketch in right.sketches()]
    assert [sorted(sketch.keys.drawn()) for _, sketch in left.sketches()] == [
        sorted(sketch.keys.drawn()) for _, sketch in right.sketches()
    ]


def test_merging_does_not_change_the_copies():
    one, two = (filled(WHOLE, [b"a\x00/http\x00%d" % n for n in range(200)], seed) for seed in (1, 2))
    merge([one, two])
    assert one.visits == two.visits == 200


def test_copies_of_different_expansions_are_not_merged():
    with pytest.raises(ValueError, match="one expansion"):
        merge([UrlTree(WHOLE, Random(1)), UrlTree((b"", b"com"), Random(1))])


@pytest.mark.parametrize("cuts", [(), (b"a",), (b"", b"b", b"a"), (b"", b"a", b"a"), (b"", LAST_KEY)])
def test_cuts_that_are_no_expansion_are_refused(cuts):
    with pytest.raises(ValueError, match="ascend"):
        UrlTree(cuts, Random(1))


def test_kept_superpages_stay_and_the_others_are_forgotten():
    cuts = (b"", b"b", b"c", b"d")
    tree = filled(cuts, [b"a\x00/http\x00", b"b\x00/http\x00", b"c\x00/http\x00", b"d\x00/http\x00"] * 40)
    tree.keep({1, 3})
    assert tree.weights() == [0, 40, 0, 40]
    tree.visit(b"c\x00/http\x00x")
    assert tree.weights() == [0, 40, 1, 40]


def test_a_heavy_leaf_remembers_more_than_a_light_one():
    tree = UrlTree((b"", b"m"), Random(1))
    for number in range(20_000):
        tree.visit(b"a\x00/http\x00%d" % number)
        if number % 100 == 0:
            tree.visit(b"z\x00/http\x00%d" % number)
    (_, heavy), (_, light) = tree.sketches()
    assert len(heavy.keys) > 5000 and len(heavy.hot.counts) <= 400
    assert 50 <= len(light.keys) <= 120


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


def test_no_lines_are_the_whole_web():
    assert parse([]) == WHOLE == parse(["# only a remark", "", "   "])


def test_lines_name_nodes_by_url_or_by_tokens():
    by_url = parse(["https://www.Example.com/docs/"])
    assert by_url == parse(["com example www /https docs"])
    assert by_url == (b"", b"com\x00example\x00www\x00/https\x00docs", b"com\x00example\x00www\x00/https\x00docs\x01")


def test_expansion_puts_urls_into_their_superpages():
    lines = """
        # two domains, one directory of the first, and the rest of .com in two intervals
        com example
        https://www.example.com/docs
        edu
        < com m
    """.splitlines()
    cuts = parse(lines)
    assert is_expansion(cuts)
    tree = UrlTree(cuts, Random(1))

    def low(url):
        return cuts[tree.locate(sort_key(url))]

    assert low("https://www.example.com/docs/a/b") == low("https://www.example.com/docs")
    assert low("https://www.example.com/docs/a") != low("https://www.example.com/dot")
    assert low("http://a.edu/") == low("http://mit.edu/x") == b"edu"
    assert low("http://apple.com/") != low("http://mozilla.com/")
    assert low("http://nokia.com/") == low("http://zeta.com/") == b"com\x00m"
    assert low("http://example.com/") == b"com\x00example"


@pytest.mark.parametrize("line", ["ftp://example.com/", "http://", "http://a.com/?q=1", "com exämple", "<"])
def test_bad_line_is_named(line):
    with pytest.raises(UsageError, match="line 2"):
        parse(["com", line])


@pytest.mark.parametrize("tokens", [50, 120, 200])
def test_no_node_remembers_more_tokens_than_the_setting_says(tokens):
    """Whatever is visited: one giant folder, a long tail of hosts, both under an expansion; and after it changed."""
    chance = Random(tokens)
    tree = UrlTree(WHOLE, chance, tokens=tokens)

    def visit_many() -> None:
        for _ in range(20_000):
            host = int(chance.paretovariate(0.6)) % 5000
            tree.visit(sort_key(f"http://h{host}.example/d{chance.randrange(900)}/p{chance.randrange(10**6)}"))
            for _, sketch in tree.sketches() if chance.random() < 0.001 else ():
                assert len(sketch.hot.counts) <= tokens and len(sketch.cool) <= tokens
        weights = [len(sketch.hot.counts) for _, sketch in tree.sketches()]
        assert max(weights) > tokens // 3, "the table is used"
        assert max(sketch.hot.capacity for _, sketch in tree.sketches()) == tokens
        assert min(sketch.hot.capacity for _, sketch in tree.sketches()) >= 50

    visit_many()
    tree = recut(tree, create(tree, tree.visits / 40).cuts, chance)
    visit_many()
