"""What the simulator foretells of a scheme, against a walk by hand; `scripts/bench schemes` adds live crawls."""

import numpy as np
import pytest

from gcs.core.plan.plan import ExchangeMode, Plan
from gcs.core.plan.session_graph import Visits, crawled
from gcs.core.url.sortkey import sort_key
from gcs.sim.engine.schemes import foretell, foretell_server

URLS = [f"http://{host}.example/{page}" for host in "ab" for page in range(3)]
#: a0 → a1 → b1 → a2, b0 → b1, b0 → a1; b2 is reached from a2
LINKS = [(0, 1), (1, 4), (4, 2), (3, 4), (3, 1), (2, 5), (1, 1)]


@pytest.fixture
def web():
    keys = [sort_key(url) for url in URLS]
    visits = Visits(keys, np.ones(6, np.int64), np.array([len(url) for url in URLS]))
    sources, targets = np.array(LINKS).T
    return crawled(visits, sources, targets)


@pytest.mark.parametrize(
    ("mode", "coverage", "overlap", "urls", "imbalance"),
    [
        # a names b1 (from a1) and b2 (from a2); b names a1 (from b0) and a2 (from b1)
        (ExchangeMode.EXCHANGE, 1.0, 0.0, 4, 0.0),
        # a: a0, a1; b: b0, b1
        (ExchangeMode.FIREWALL, 4 / 6, 0.0, 0, 0.0),
        # a: a0 a1 b1 a2 b2; b: b0 b1 a1 a2 b2
        (ExchangeMode.CROSS_OVER, 1.0, 10 / 6 - 1, 0, 0.0),
        (ExchangeMode.INDEPENDENT, 1.0, 10 / 6 - 1, 0, 0.0),
    ],
)
def test_schemes_are_those_of_a_walk_by_hand(web, mode, coverage, overlap, urls, imbalance):
    plan = Plan(1, ("a", "b"), (b"", sort_key("http://b.example/0")), (0, 1), mode=mode)
    told = foretell(web, plan, [URLS[0], URLS[3], "http://elsewhere.example/"])
    assert (told.coverage, told.exchanged_urls, told.imbalance) == (coverage, urls, imbalance)
    assert told.overlap == pytest.approx(overlap)
    assert told.exchanged_bytes == urls * len(URLS[0])


def test_clients_of_a_seed_server_name_a_link_once_in_each_report(web):
    owners, reports = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 2, 1, 3, -1])
    told = foretell_server(web, owners, reports)
    # report 0 (a0, a1): a1, b1; 1 (b0): a1, b1; 2 (a2): b2; 3 (b1): a2
    assert (told.exchanged_urls, told.exchanged_bytes) == (6, 6 * len(URLS[0]))
    assert (told.imbalance, told.urls_per_page) == (pytest.approx(0.2), 1.2)


def test_a_scheme_counts_only_what_the_seeds_reach(web):
    plan = Plan(1, ("a", "b"), (b"", sort_key("http://b.example/0")), (0, 1))
    told = foretell(web, plan, [URLS[2]])
    assert (told.coverage, told.exchanged_urls, told.urls_per_page) == (1.0, 1, 0.5)
