from collections import Counter
from functools import reduce
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.tree.sketch import HotTokens, KeySample

streams = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), max_size=300)
capacities = st.integers(1, 8)


def fill(stream, capacity):
    """A table of the stream, what it handed out, and the true counts."""
    table, out, truth = HotTokens(capacity), Counter(), Counter()
    for number, visits in stream:
        item = b"%d" % number
        truth[item] += visits
        for cooled, taken in table.add(item, visits):
            out[cooled] += taken
    return table, out, truth


def assert_bound(table, truth, capacity):
    assert table.error <= sum(truth.values()) / (capacity // 2 + 1)
    for item, visits in truth.items():
        assert visits - table.error <= table.counts.get(item, 0) <= visits


@given(streams, capacities)
def test_hot_tokens_err_by_no_more_than_stated(stream, capacity):
    table, _, truth = fill(stream, capacity)
    assert_bound(table, truth, capacity)
    assert len(table.counts) <= capacity


@given(streams, capacities)
def test_hot_tokens_hand_out_what_they_no_longer_count(stream, capacity):
    table, out, truth = fill(stream, capacity)
    assert Counter(table.counts) + out == truth


@given(st.lists(streams, min_size=1, max_size=4), capacities)
def test_joined_hot_tokens_keep_the_bound_and_every_count(parts, capacity):
    filled = [fill(part, capacity) for part in parts]
    joined = filled[0][0].join([table for table, _, _ in filled[1:]])
    truth = sum((truth for _, _, truth in filled), Counter())
    assert_bound(joined, truth, capacity)
    assert Counter(joined.counts) == sum((Counter(table.counts) for table, _, _ in filled), Counter())


@given(streams, streams, streams)
def test_joining_hot_tokens_is_associative_and_commutative(a, b, c):
    one, two, three = (fill(stream, 3)[0] for stream in (a, b, c))
    left = one.join([two]).join([three])
    right = three.join([two.join([one])])
    assert (left.counts, left.error) == (right.counts, right.error)


def test_hot_tokens_find_the_heavy_ones_in_a_long_tail():
    random = Random(1)
    table = HotTokens(50)
    truth = Counter()
    for _ in range(50_000):
        item = b"%d" % int(random.paretovariate(0.8))
        truth[item] += 1
        table.add(item)
    assert [item for item, _ in Counter(table.counts).most_common(10)] == [item for item, _ in truth.most_common(10)]


def test_joined_table_goes_on_counting_within_its_bound():
    parts = [fill([(n % 40, 1 + n % 3) for n in range(start, start + 300)], 5) for start in (0, 17)]
    joined = parts[0][0].join([parts[1][0]])
    truth = parts[0][2] + parts[1][2]
    for number in range(500):
        joined.add(b"new %d" % (number % 90))
        truth[b"new %d" % (number % 90)] += 1
    assert_bound(joined, truth, 5)


# -- samples -----------------------------------------------------------------------------------------------


def chi_square(seen, expected):
    return sum((seen[item] - count) ** 2 / count for item, count in expected.items())


def unlikely(degrees):
    """A bound that chi-square with so many degrees of freedom passes about once in 30,000 times."""
    return degrees + 4 * (2 * degrees) ** 0.5


def test_sample_keeps_everything_while_it_fits():
    sample = KeySample(10, Random(1))
    for number in range(9):
        sample.add(b"%d" % number)
    assert sample.rate == 1.0
    sample.add(b"9")
    assert sorted(sample.items()) == sorted(b"%d" % number for number in range(10))


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(1, 20), st.integers(0, 2**32))
def test_sample_is_bounded_and_counts_its_population(visits, capacity, seed):
    sample = KeySample(capacity, Random(seed))
    for number, count in enumerate(visits):
        sample.add(b"%d" % number, count)
    assert sample.population == sum(visits)
    assert len(sample) == min(capacity, sum(visits))
    assert all(priority <= sample.rate for priority, _ in sample.drawn())


def test_sample_takes_every_visit_with_the_same_chance():
    """Early or late, alone or among many of one item, offered one by one or as a list."""
    stream = [(b"a", 1), (b"b", 40), (b"c", 3), (b"d", 200), (b"e", 1), (b"f", 55)]
    random, seen = Random(2), Counter()
    for turn in range(3000):
        sample = KeySample(20, random)
        for item, visits in stream:
            if turn % 2:
                sample.add(item, visits)
            else:
                sample.add_all([item] * visits)
        seen.update(sample.items())
    expected = {item: 3000 * 20 * visits / 300 for item, visits in stream}
    # samples without replacement vary less than chi-square allows for, by the factor (1 - 20/300)
    assert chi_square(seen, expected) < unlikely(len(stream) - 1)


def test_joined_samples_are_one_fair_sample():
    """Populations of very different sizes, sampled apart at different rates, then joined."""
    sizes = {b"a": 15, b"b": 60, b"c": 3000, b"d": 425}
    random, seen, kept = Random(3), Counter(), 0
    for _ in range(2000):
        samples = [KeySample(25, random) for _ in sizes]
        for sample, (item, size) in zip(samples, sizes.items()):
            sample.add(item, size)
        joined = samples[0].join(samples[1:])
        assert joined.population == 3500
        seen.update(joined.items())
        kept += len(joined)
    expected = {item: kept * size / 3500 for item, size in sizes.items()}
    assert chi_square(seen, expected) < unlikely(len(sizes) - 1)


def test_joined_sample_goes_on_fairly():
    random, seen = Random(4), Counter()
    for _ in range(2000):
        left, right = KeySample(20, random), KeySample(20, random)
        left.add(b"a", 500)
        right.add(b"b", 100)
        joined = left.join([right])
        joined.add(b"c", 400)
        assert len(joined) <= 20
        seen.update(joined.items())
    kept = sum(seen.values())
    assert chi_square(seen, {b"a": kept * 0.5, b"b": kept * 0.1, b"c": kept * 0.4}) < unlikely(2)


def test_many_joined_samples_stay_bounded_and_fair():
    random, seen = Random(5), Counter()
    for _ in range(200):
        samples = [KeySample(10, random) for _ in range(30)]
        for number, sample in enumerate(samples):
            sample.add(b"%d" % number, 100)
        joined = reduce(lambda one, other: one.join([other]), samples)
        assert len(joined) < 120
        seen.update(joined.items())
    kept = sum(seen.values())
    assert chi_square(seen, {b"%d" % number: kept / 30 for number in range(30)}) < unlikely(29)


@given(st.integers(0, 2**32))
def test_joining_small_samples_does_not_depend_on_the_order(seed):
    random = Random(seed)
    samples = [KeySample(6, random) for _ in range(3)]
    for number, sample in enumerate(samples):
        sample.add(b"%d" % number, 3 * number + 4)
    one, two, three = samples
    left, right = one.join([two]).join([three]), three.join([one.join([two])])
    assert sorted(left.drawn()) == sorted(right.drawn()) == sorted(one.join([two, three]).drawn())
    assert (left.rate, left.population) == (right.rate, right.population)
