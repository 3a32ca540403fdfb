"""Special pages against their definitions, spelt out with sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.partition import partition_graph
from gcs.core.partition.partition_graph import LinkArrays, SessionLinks
from gcs.core.plan.hot_page_choice import RECOGNISERS, core, core_numbers, hot, named

PAGES = 12
LINKS = st.sets(st.tuples(st.integers(0, PAGES - 1), st.integers(0, PAGES - 1)), max_size=60)
UNITS = st.lists(st.integers(0, 1), min_size=PAGES, max_size=PAGES).map(lambda steps: np.cumsum(steps) - steps[0])


def session(links) -> SessionLinks:
    sources, targets = np.array(sorted(links), np.int64).reshape(-1, 2).T
    ones = np.ones(PAGES, np.int64)
    return SessionLinks(sources, targets, ones, ones, np.zeros(PAGES, np.int64))


def slow_core_numbers(edges, vertices):
    """For each c, throw out who has fewer than c neighbours until nobody is thrown out."""
    numbers = dict.fromkeys(vertices, 0)
    for c in range(1, len(vertices)):
        left = set(vertices)
        while weak := {v for v in left if len({u for e in edges if v in e for u in e if u != v and u in left}) < c}:
            left -= weak
        numbers |= dict.fromkeys(left, c)
    return numbers


def scores(links, units):
    """By recogniser: what counts for each page, and what among equals."""
    units = units.tolist()
    hot = [len({s for s, t in links if t == page != s}) for page in range(PAGES)]
    naming = [len({units[s] for s, t in links if t == page} - {units[page]}) for page in range(PAGES)]
    edges = {frozenset(link) for link in links if units[link[0]] != units[link[1]]}
    numbers = slow_core_numbers(edges, range(PAGES))
    cores = [numbers[page] if naming[page] else 0 for page in range(PAGES)]
    return {"hot": (hot, hot), "named": (naming, hot), "core": (cores, naming)}


@given(LINKS, UNITS, st.integers(0, PAGES))
def test_recognisers_take_what_they_say(links, units, most):
    for name, (score, ties) in scores(links, units).items():
        wanted = sorted(filter(score.__getitem__, range(PAGES)), key=lambda page: (-score[page], -ties[page], page))
        assert RECOGNISERS[name](session(links), units, most).tolist() == wanted[:most], name


@given(LINKS)
def test_core_numbers_are_those_of_peeling(links):
    edges = {frozenset(link) for link in links if link[0] != link[1]}
    pairs = np.array(sorted(tuple(sorted(edge)) for edge in edges), np.int64).reshape(-1, 2)
    numbers = core_numbers(LinkArrays.between(PAGES, *pairs.T))
    assert numbers.tolist() == list(slow_core_numbers(edges, range(PAGES)).values())


def test_links_are_looked_at_some_at_a_time(monkeypatch: pytest.MonkeyPatch):
    chance = np.random.default_rng(1)
    some = session(set(map(tuple, chance.integers(0, PAGES, (60, 2)).tolist())))
    units = np.arange(PAGES) // 3
    whole = [take(some, units, 5).tolist() for take in (hot, named, core)]
    monkeypatch.setattr(partition_graph, "CHUNK_LINKS", 7)
    assert [take(some, units, 5).tolist() for take in (hot, named, core)] == whole
