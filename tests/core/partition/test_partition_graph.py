"""Links, sessions and the models made of them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.partition import partition_graph
from gcs.core.partition.partition_graph import (
    LinkArrays,
    SessionLinks,
    cut_giants,
    page_model,
    site_model,
    superpage_model,
)

UNITS = 6
directed = st.lists(st.tuples(st.integers(0, UNITS - 1), st.integers(0, UNITS - 1), st.integers(1, 9)), max_size=40)


def links_of(edges, units=UNITS):
    table = np.array(edges, np.int64).reshape(-1, 3)
    return LinkArrays.between(units, table[:, 0], table[:, 1], table[:, 2])


def pairs_of(edges):
    """The oracle: unordered pair → total cost."""
    costs = Counter()
    for source, target, cost in edges:
        if source != target:
            costs[frozenset((source, target))] += cost
    return dict(costs)


def as_pairs(links):
    found = {}
    for source, target, cost in zip(links.sources().tolist(), links.targets.tolist(), links.costs.tolist()):
        found.setdefault((source, target), 0)
        found[source, target] += cost
    return found


def session_of(sites, edges, page_bytes=None):
    pages = len(sites)
    table = np.array(edges, np.int32).reshape(-1, 2)
    return SessionLinks(
        table[:, 0],
        table[:, 1],
        np.full(pages, 10),
        np.full(pages, 1) if page_bytes is None else np.array(page_bytes),
        np.array(sites),
    )


@given(directed)
def test_links_between_collapses_both_directions_and_drops_loops(edges):
    found = as_pairs(links_of(edges))
    expected = pairs_of(edges)
    assert len(found) == 2 * len(expected)
    for (source, target), cost in found.items():
        assert cost == expected[frozenset((source, target))] == found[target, source]


@given(directed)
def test_links_rows_ascend_and_cover_every_unit(edges):
    links = links_of(edges)
    assert links.units == UNITS and links.offsets[-1] == len(links.targets)
    for start, end in zip(links.offsets[:-1], links.offsets[1:]):
        assert np.all(np.diff(links.targets[start:end]) > 0)


def test_links_between_counts_one_each_where_no_cost_is_given():
    links = LinkArrays.between(3, np.array([0, 0, 1]), np.array([1, 1, 0]))
    assert as_pairs(links) == {(0, 1): 3, (1, 0): 3}


@given(directed, st.lists(st.integers(0, 2), min_size=UNITS, max_size=UNITS))
def test_links_crossing_counts_each_pair_once(edges, owners):
    expected = sum(cost for pair, cost in pairs_of(edges).items() if len({owners[unit] for unit in pair}) == 2)
    assert links_of(edges).crossing(np.array(owners)) == expected


@given(directed, st.permutations(range(UNITS)), st.integers(0, UNITS))
def test_links_among_keeps_the_links_of_those_units(edges, order, size):
    chosen = order[:size]
    expected = {
        tuple(sorted((chosen.index(a), chosen.index(b)))): cost
        for (a, b), cost in ((tuple(pair), cost) for pair, cost in pairs_of(edges).items())
        if a in chosen and b in chosen
    }
    found = as_pairs(links_of(edges).among(np.array(chosen, np.int64)))
    assert {pair: cost for pair, cost in found.items() if pair[0] < pair[1]} == expected


def test_page_model_is_the_papers_page_graph():
    session = SessionLinks(
        np.array([0, 1, 2, 2]), np.array([1, 0, 1, 2]), np.array([5, 7, 9]), np.array([100, 200, 300]), np.zeros(3, int)
    )
    model = page_model(session)
    assert model.weights.tolist() == [[100, 1], [200, 1], [300, 1]]
    # 0 ↔ 1: the names of 1 (7 bytes) and of 0 (5 bytes); 2 → 1: the name of 1; 2 → 2 stays inside
    assert as_pairs(model.links) == {(0, 1): 12, (1, 0): 12, (1, 2): 7, (2, 1): 7}


def test_site_model_weighs_sites_and_ignores_links_inside():
    session = session_of([0, 0, 1, 1, 1], [(0, 1), (0, 2), (3, 1), (2, 4)], [1, 2, 3, 4, 5])
    model = superpage_model(session, session.sites)
    assert model.weights.tolist() == [[3, 2], [12, 3]]
    assert as_pairs(model.links) == {(0, 1): 20, (1, 0): 20}


def test_site_model_leaves_sites_whole_that_fit():
    session = session_of(np.repeat(np.arange(50), 2), [])
    assert site_model(session, k=2, share=0.5).unit_of_page.tolist() == np.repeat(np.arange(50), 2).tolist()


def test_cut_giants_cuts_where_the_fewest_links_reach_across():
    """Two cliques of a site, tied by one link, each within the limit: the cut falls between them."""
    left, right = range(4), range(4, 9)
    clique = [(a, b) for group in (left, right) for a in group for b in group if a != b]
    session = session_of([0] * 9, [*clique, (3, 4)])
    assert cut_giants(session, limit=0.56).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 50)), min_size=1, max_size=8),
    st.floats(0.02, 0.6),
    st.randoms(use_true_random=False),
)
def test_cut_giants_pieces_are_ranges_of_one_site_within_the_limit(sizes, limit, random):
    sites = [site for site, (pages, _) in enumerate(sizes) for _ in range(pages)]
    page_bytes = [random.randint(1, 1 + sizes[site][1]) for site in sites]
    edges = [(random.randrange(len(sites)), random.randrange(len(sites))) for _ in range(60)]
    session = session_of(sites, edges, page_bytes)
    units = cut_giants(session, limit)
    assert units[0] == 0 and set(np.diff(units).tolist()) <= {0, 1}
    total = [sum(page_bytes), len(sites)]
    for unit in range(units[-1] + 1):
        pages = np.flatnonzero(units == unit)
        assert len({sites[page] for page in pages}) == 1
        weight = max(sum(page_bytes[page] for page in pages) / total[0], len(pages) / total[1])
        assert len(pages) == 1 or weight <= limit * (1 + 1e-9)
    for site in set(sites):
        weight = max(
            sum(size for size, of in zip(page_bytes, sites) if of == site) / total[0], sites.count(site) / total[1]
        )
        if weight < limit * (1 - 1e-9):
            assert len({units[page] for page, of in enumerate(sites) if of == site}) == 1


def test_models_do_not_depend_on_how_links_are_chunked(monkeypatch):
    random = np.random.default_rng(1)
    sources, targets = random.integers(0, 50, (2, 999)).astype(np.int32)
    sites = np.sort(random.integers(0, 4, 50))
    session = SessionLinks(sources, targets, random.integers(1, 90, 50), np.ones(50, np.int64), sites)
    whole = site_model(session, 2, share=0.2)
    monkeypatch.setattr(partition_graph, "CHUNK_LINKS", 7)
    pieces = site_model(session, 2, share=0.2)
    assert whole.unit_of_page.tolist() == pieces.unit_of_page.tolist()
    assert [each.tolist() for each in (whole.links.offsets, whole.links.targets, whole.links.costs)] == [
        each.tolist() for each in (pieces.links.offsets, pieces.links.targets, pieces.links.costs)
    ]
    assert int(whole.unit_of_page.max()) > sites.max(), "giants are cut"


def test_session_without_replicated_names_the_others_only():
    session = session_of([0, 0, 1], [(0, 1), (1, 2), (2, 1), (0, 2)])
    less = session.without_replicated(np.array([1]))
    assert list(zip(less.sources.tolist(), less.targets.tolist())) == [(1, 2), (0, 2)]
    assert less.pages == session.pages


@pytest.mark.parametrize("make", [page_model, lambda session: site_model(session, 4)])
def test_model_of_nothing_is_empty(make):
    model = make(session_of([], []))
    assert model.weights.shape == (0, 2) and model.links.units == 0 and len(model.unit_of_page) == 0
