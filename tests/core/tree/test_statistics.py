import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.tree.statistics import MeasuredWork, SuperpageFigures, SuperpageStatistics, merge, project
from gcs.core.tree.superpages import Superpages

OLD = (b"", b"c", b"f", b"k")
#: superpage 0 is cut in three, 1 and 2 become one, 3 stays but nothing was seen of it
NEW = Superpages(
    cuts=(b"", b"a", b"b", b"c", b"k"),
    weights=(10.0, 20.0, 70.0, 8.0, 0.0),
    shares=((0, 0, 10.0), (0, 1, 20.0), (0, 2, 70.0), (1, 3, 3.0), (2, 3, 5.0)),
)

superpages = st.integers(0, 3)
names = st.sampled_from(["ada", "bob"])
events = st.lists(
    st.one_of(
        st.tuples(st.just("found"), superpages, st.integers(1, 9)),
        st.tuples(st.just("fetched"), names, superpages, st.integers(0, 9999), st.sampled_from([0.25, 0.5, 2.0])),
        st.tuples(st.just("fetched_by_helper"), names, superpages, st.integers(0, 9999)),
        st.tuples(st.just("linked"), superpages, st.lists(superpages, max_size=5)),
        st.tuples(st.just("waits"), st.sampled_from([b"", b"ab", b"bb", b"c", b"g", b"z"])),
        st.tuples(st.just("exchanged"), names, st.integers(0, 100), st.sampled_from([0.0, 0.125, 1.0])),
    ),
    max_size=40,
)


def measured(happened):
    statistics = SuperpageStatistics()
    for name, *arguments in happened:
        if name == "waits":
            statistics.waiting = sorted([*statistics.waiting, *arguments])
        elif name == "exchanged":
            gatherer, urls, seconds = arguments
            work = statistics.exchange.setdefault(gatherer, MeasuredWork())
            work.amount, work.seconds = work.amount + urls, work.seconds + seconds
        else:
            getattr(statistics, name)(*arguments)
    return statistics


@given(events, events, events)
def test_merging_is_counting_together_in_any_order(a, b, c):
    one, two, three = map(measured, (a, b, c))
    whole = measured(a + b + c)
    assert merge([one, two, three]) == whole
    assert merge([merge([three, one]), two]) == whole == merge([two, merge([three, one])])
    assert merge([]) == SuperpageStatistics()


@given(events)
def test_statistics_survive_their_encoding(happened):
    statistics = measured(happened)
    assert SuperpageStatistics.decode(statistics.encode()) == statistics


def sums(statistics):
    total = SuperpageFigures()
    for figures in statistics.superpages.values():
        total = SuperpageFigures(*(a + b for a, b in zip(tuple(vars_of(total)), tuple(vars_of(figures)))))
    pages = {name: sum(work.amount for work in row.values()) for name, row in statistics.rates.items()}
    seconds = {
        name: pytest.approx(sum(work.seconds for work in row.values())) for name, row in statistics.rates.items()
    }
    links = sum(sum(row.values()) for row in statistics.links.values())
    return total, pages, seconds, links, statistics.exchange, statistics.waiting


def vars_of(figures):
    return figures.seen, figures.queued, figures.pages, figures.bytes


@given(events)
def test_projecting_to_a_new_expansion_keeps_every_sum(happened):
    old = measured(happened)
    new = project(old, OLD, NEW)
    assert sums(new) == sums(old)
    assert all(at < len(NEW.cuts) for at in new.superpages)


def test_project_divides_as_the_visits_were():
    old = SuperpageStatistics()
    old.found(0, 1000)
    old.found(1, 5)
    old.found(3, 7)
    old.linked(0, [1] * 100)
    for _ in range(100):
        old.fetched("ada", 0, 50, 0.5)
    new = project(old, OLD, NEW)
    assert {at: figures.seen for at, figures in new.superpages.items()} == {0: 100, 1: 200, 2: 700, 3: 5, 4: 7}
    assert new.links == {0: {3: 10}, 1: {3: 20}, 2: {3: 70}}
    assert new.rates["ada"] == {0: MeasuredWork(10, 5.0), 1: MeasuredWork(20, 10.0), 2: MeasuredWork(70, 35.0)}


def test_project_divides_queues_as_they_lie():
    """Most of what was seen lies between b and c, but what waits lies between a and b, where little was seen."""
    old = SuperpageStatistics(waiting=[b"aa", b"ab", b"ac", b"ba", b"d"])
    old.found(0, 1000)
    old.found(1, 50)
    new = project(old, OLD, NEW)
    assert {at: figures.seen for at, figures in new.superpages.items()} == {0: 100, 1: 200, 2: 700, 3: 50}
    assert {at: figures.queued for at, figures in new.superpages.items()} == {0: 20, 1: 640, 2: 340, 3: 50}
