"""The measures, against their definitions spelt out in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.partition import partition_graph
from gcs.core.partition.partition_graph import SessionLinks
from gcs.core.plan import metrics
from tests.core.plan.moving import least_moved, moved_weight


@pytest.mark.parametrize(("downloads", "unique", "expected"), [(10, 10, 0.0), (15, 10, 0.5), (0, 0, 0.0)])
def test_overlap_is_repeats_per_unique_page(downloads, unique, expected):
    assert metrics.overlap(downloads, unique) == expected


def test_coverage_is_that_of_the_papers_example():
    assert metrics.coverage(7, 9) == pytest.approx(0.777, abs=1e-3)
    assert metrics.coverage(0, 0) == 1.0


def test_communication_is_that_of_the_papers_example():
    assert metrics.communication(3000, 1000) == 3.0
    assert metrics.communication(0, 0) == 0.0


def test_quality_counts_the_top_pages_that_were_fetched():
    importance = np.array([9, 1, 8, 2, 7])
    assert metrics.quality(importance, np.array([0, 2, 4])) == 1.0
    assert metrics.quality(importance, np.array([0, 1, 3])) == pytest.approx(1 / 3)
    assert metrics.quality(importance, np.array([], np.int64)) == 1.0


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.data())
def test_quality_is_the_best_over_all_oracles(importance, data):
    """Every way to break ties gives an oracle set; the measure is the one kindest to the crawl."""
    fetched = data.draw(st.sets(st.integers(0, len(importance) - 1), min_size=1))
    n = len(fetched)
    # kindest oracle: sort by importance, fetched pages first among equals
    top = sorted(range(len(importance)), key=lambda page: (-importance[page], page not in fetched))[:n]
    expected = len(fetched & set(top)) / n
    # a page fetched twice counts once
    assert metrics.quality(np.array(importance), np.array([*fetched, *fetched])) == pytest.approx(expected)


def test_imbalance_is_the_peak_over_the_mean():
    assert metrics.imbalance(np.array([1.0, 1.0, 4.0])) == pytest.approx(1.0)
    assert metrics.imbalance(np.zeros(3)) == 0.0
    assert metrics.imbalance(np.array([])) == 0.0


def test_loads_counts_idle_gatherers():
    assert metrics.loads(np.array([5, 7, 2]), np.array([0, 2, 0]), 4).tolist() == [7.0, 0.0, 7.0, 0.0]


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=40),
    st.lists(st.integers(0, 2), min_size=8, max_size=8),
    st.lists(st.integers(1, 99), min_size=8, max_size=8),
)
def test_exchange_counts_what_is_named_to_whom(edges, owners, lengths):
    table = np.array(edges, np.int32).reshape(-1, 2)
    ones = np.ones(8, np.int64)
    session = SessionLinks(table[:, 0], table[:, 1], np.array(lengths), ones, ones)
    urls, url_bytes = np.zeros((3, 3), int), np.zeros((3, 3), int)
    for source, target in edges:
        if owners[source] != owners[target]:
            urls[owners[source], owners[target]] += 1
            url_bytes[owners[source], owners[target]] += lengths[target]
    found = metrics.exchange(session, np.array(owners), 3)
    assert found.urls.tolist() == urls.tolist() and found.url_bytes.tolist() == url_bytes.tolist()
    assert (found.total_urls, found.total_bytes) == (urls.sum(), url_bytes.sum())


def test_exchange_does_not_depend_on_how_links_are_chunked(monkeypatch):
    random = np.random.default_rng(1)
    sources, targets = random.integers(0, 50, (2, 999)).astype(np.int32)
    ones = np.ones(50, np.int64)
    session = SessionLinks(sources, targets, random.integers(1, 90, 50), ones, ones)
    owners = random.integers(0, 4, 50)
    whole = metrics.exchange(session, owners, 4)
    monkeypatch.setattr(partition_graph, "CHUNK_LINKS", 7)
    pieces = metrics.exchange(session, owners, 4)
    assert whole.urls.tolist() == pieces.urls.tolist()
    assert whole.url_bytes.tolist() == pieces.url_bytes.tolist()


def test_moved_weight_counts_what_changed_hands():
    assert moved_weight(np.array([1, 2, 4]), np.array([0, -1, 1]), np.array([0, 1, 0])) == 6.0


def test_least_moved_is_a_share_for_a_join_and_all_of_it_for_a_leave():
    weights, before = np.ones(16), np.arange(16) // 4
    assert least_moved(weights, before, 5) == pytest.approx(16 / 5)
    left = np.where(before == 3, -1, before)
    assert least_moved(weights, left, 3) == 4.0


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=10),
    st.integers(2, 4),
    st.data(),
)
def test_least_moved_is_a_lower_bound(weights, k, data):
    """Whatever the owners before and after: who ends within a tolerance has moved at least that much."""
    size = len(weights)
    owners = st.lists(st.integers(0, k - 1), min_size=size, max_size=size)
    before = data.draw(st.lists(st.integers(-1, k - 1), min_size=size, max_size=size))
    after = data.draw(owners)
    load, mean = metrics.loads(np.array(weights), np.array(after), k), sum(weights) / k
    tolerance = float(np.abs(load - mean).max() / mean)
    moved = moved_weight(np.array(weights), np.array(before), np.array(after))
    assert least_moved(np.array(weights), np.array(before), k, tolerance) <= moved + 1e-6
