"""Crawls replayed over a graph in each order."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.ordering import BFS, ORDERS, Ordering, Scored
from gcs.sim.engine.order_quality import averaged, crawl, quality
from gcs.sim.graph.graph_files import load
from gcs.sim.graph.web_graph import WebGraph, from_links

OPIC, BACKLINK = ORDERS["opic"], ORDERS["backlink"]


def web(*links: tuple[int, int]) -> WebGraph:
    sources, targets = np.array(links, np.int64).T
    return from_links("test", sources, targets, int(max(sources.max(), targets.max())) + 1)


@st.composite
def webs(draw: st.DrawFn) -> WebGraph:
    pages = draw(st.integers(2, 25))
    page = st.integers(0, pages - 1)
    links = draw(st.sets(st.tuples(page, page), min_size=1, max_size=80))
    sources, targets = np.array(sorted(links), np.int64).T
    return from_links("test", sources, targets, pages)


def breadth_first(graph: WebGraph, seed: int) -> list[int]:
    """The pages in the order in which a breadth-first crawl fetches them."""
    order = [seed]
    for page in order:  # grows meanwhile
        order += [link for link in graph.outlinks(page).tolist() if link not in order]
    return order


@settings(deadline=None)  # the first queue of a process takes a while to load
@given(webs(), st.sampled_from(list(ORDERS.values())), st.integers(1, 9), st.booleans())
def test_crawl_fetches_all_that_can_be_reached_once(
    graph: WebGraph, order: Ordering, superstep: int, in_turns: bool
) -> None:
    graph = dataclasses.replace(graph, sites=np.arange(graph.pages, dtype=np.int32) // 4)
    fetched = crawl(graph, order, [0], graph.pages, superstep, in_turns=in_turns).tolist()
    assert sorted(fetched) == sorted(breadth_first(graph, 0))
    known = {0}
    for page in fetched:
        assert page in known, "fetched before anybody linked to it"
        known.update(graph.outlinks(page).tolist())


@settings(deadline=None)
@given(webs())
def test_crawl_breadth_first_is_breadth_first(graph: WebGraph) -> None:
    assert crawl(graph, BFS, [0], graph.pages, superstep=1).tolist() == list(breadth_first(graph, 0))


def test_sites_take_turns_each_in_its_order() -> None:
    """The first site has the better pages; the other one's come between them all the same."""
    links = [(0, page) for page in range(1, 8)] + [(1, 4), (1, 3), (2, 4), (5, 7)]
    graph = dataclasses.replace(web(*links), sites=np.array([0, 0, 0, 0, 0, 1, 1, 1], np.int32))
    assert crawl(graph, BACKLINK, [0], 8, superstep=1).tolist() == [0, 1, 3, 4, 2, 5, 7, 6]
    assert crawl(graph, BACKLINK, [0], 8, superstep=1, in_turns=True).tolist() == [0, 1, 5, 3, 7, 4, 6, 2]


def by_hand(graph: WebGraph, order: Ordering, seeds: list[int]) -> list[int]:
    """A crawl with a sorted list: whoever is worth most, and among equals whoever was found first."""
    worth = dict.fromkeys(seeds, order.seed)
    waiting, fetched = list(seeds), []
    while waiting:
        page = max(waiting, key=lambda page: (np.float32(worth[page]), -waiting.index(page)))
        waiting.remove(page)
        fetched.append(page)
        links = graph.outlinks(page).tolist()
        for link in links:
            if link not in worth:
                waiting.append(link)
            worth[link] = worth.get(link, 0.0) + order.gift(worth[page], len(links))
    return fetched


@settings(deadline=None)
@given(webs(), st.sampled_from([OPIC, BACKLINK]))
def test_crawl_goes_by_worth(graph: WebGraph, order: Ordering) -> None:
    found, expected = crawl(graph, order, [0], graph.pages, superstep=1).tolist(), by_hand(graph, order, [0])
    if order is BACKLINK:  # in a rank cash keeps 23 bits of its fraction: near ties may differ
        assert found == expected
    assert sorted(found) == sorted(expected)


def test_crawl_goes_by_a_score_of_the_user() -> None:
    graph = web((0, 1), (0, 2), (0, 3), (1, 3))
    last_first = Scored("mine", lambda found: float(found.url))
    assert crawl(graph, last_first, [0], 4, superstep=1).tolist() == [0, 3, 2, 1]
    most_linked = Scored("mine", lambda found: found.backlinks - found.depth)
    assert crawl(graph, most_linked, [0], 4, superstep=1).tolist() == [0, 1, 3, 2]


def test_quality_of_a_crawl_that_has_everything_is_one() -> None:
    graph = web((0, 1), (0, 2), (1, 2), (2, 0), (3, 0))
    for row in quality(graph, [0], shares=(1.0,)):
        assert row.pages == 3, "page 3 cannot be reached"
        assert row.by_pagerank == row.by_backlinks == pytest.approx(1.0)
        assert row.pagerank_mass == pytest.approx(1.0)


def test_orders_beat_breadth_first_on_a_real_graph(shared: Path) -> None:
    """The claim of Cho et al. and of Abiteboul et al., on the links of an encyclopaedia."""
    rows = {(row.order, row.share): row for row in averaged(load(shared / "data" / "wikispeedia"), draws=2)}
    for share in (0.05, 0.1, 0.2):
        for order in ("backlink", "opic"):
            assert rows[order, share].by_pagerank > rows["bfs", share].by_pagerank + 0.1
            assert rows[order, share].by_backlinks > rows["bfs", share].by_backlinks + 0.05
