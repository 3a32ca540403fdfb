"""Cross-over crawls against gatherers that fetch one page after the other."""

from collections import Counter, deque

import numpy as np
import pytest

from gcs.sim.graph.owners import page_owners, random_seeds
from gcs.sim.studies import cho_overlap
from gcs.sim.studies.cho_overlap import SimClock, alone
from gcs.sim.studies.study import StudyRequest


def wander(outlinks, mine, seeds, block):
    """One gatherer, a page at a time: order of pages, and how many before it first went abroad."""
    known, order, home, abroad, left = set(seeds), [], deque(seeds), deque(), None
    trip = 0
    while home or abroad:
        if not home and not trip:
            left = len(order) if left is None else left
            trip = min(block, len(abroad))
        page = abroad.popleft() if trip else home.popleft()
        trip = max(trip - 1, 0)
        order.append(page)
        for link in outlinks[page]:
            if link not in known:
                known.add(link)
                (home if mine[link] else abroad).append(link)
    return order, len(order) if left is None else left


@pytest.mark.parametrize("block", [1, 7])
@pytest.mark.parametrize("me", [0, 1, 2])
def test_alone_fetches_as_one_page_at_a_time_does(web, outlinks, me, block):
    mine = page_owners(web, "site-hash", 3) == me
    seeds = np.flatnonzero(mine)[:4]
    one = alone(web, mine, seeds, block)
    assert (one.pages.tolist(), one.at_home) == wander(outlinks, mine, seeds.tolist(), block)


def test_clock_adds_gatherers_up():
    clock = SimClock(10, [0.5, 1.0, 2.0, 9.0])
    clock.add(type("One", (), {"pages": np.array([1, 2, 3, 4])})(), 2.0)
    clock.add(type("One", (), {"pages": np.array([4, 3, 5])})(), 1.0)
    # at 0.5: [1]; at 1: [1 2] [4]; at 2: [1 2 3 4] [4 3]; at 9: and [5]
    assert [(now.downloads, now.unique) for now in clock.moments()] == [(1, 1), (3, 3), (6, 4), (7, 5)]
    assert clock.moments()[2].overlap == 0.5 and clock.moments()[3].coverage(10) == 0.5


def test_rows_are_the_downloads_of_all_gatherers(web, outlinks, silent):
    rows = cho_overlap.run(web, StudyRequest((1, 3), seed=2), silent)
    owners = page_owners(web, "site-hash", 3, 2)
    seeds = random_seeds(owners, [5] * 3, np.random.default_rng(2))
    fetched = Counter()
    for me in range(3):
        order, _ = wander(outlinks, owners == me, seeds[owners[seeds] == me].tolist(), 1)
        fetched.update(order)
    last = rows[-1]
    assert (last.n, last.downloads, last.unique) == (3, fetched.total(), len(fetched))
    assert last.overlap == pytest.approx((fetched.total() - len(fetched)) / len(fetched))
    assert last.coverage == 1.0
    assert all(row.overlap == 0 for row in rows if row.n == 1 or row.coverage < row.firewall_coverage)


def looks(orders, speeds, times):
    """Pages fetched by all and different ones, at each moment at which something has been fetched since the last."""
    found = []
    for time in times:
        fetched = [page for order, speed in zip(orders, speeds) for page in order[: int(time * speed)]]
        if fetched and (not found or len(fetched) > found[-1][0]):
            found.append((len(fetched), len(set(fetched))))
    return found


def test_rows_are_looks_at_gatherers_of_both_speeds(web, outlinks, silent):
    """As fast as each finds pages at home, and all alike: of these, the look with the most similar downloads."""
    rows = cho_overlap.run(web, StudyRequest((3,), seed=2), silent)
    owners = page_owners(web, "site-hash", 3, 2)
    seeds = random_seeds(owners, [5] * 3, np.random.default_rng(2))
    crawls = [wander(outlinks, owners == me, seeds[owners[seeds] == me].tolist(), 1) for me in range(3)]
    orders, at_home = zip(*crawls)
    after = [web.pages ** (step / 60) for step in range(1, 61)]
    by_size = looks(orders, at_home, [*(step / 10 for step in range(1, 11)), *after])
    alike = looks(orders, [1, 1, 1], after)
    assert [(row.downloads, row.unique) for row in rows] == by_size
    everything = {page for order in orders for page in order}
    for row in rows:
        downloads, unique = min(alike, key=lambda look: abs(look[0] - row.downloads))
        assert row.coverage == pytest.approx(row.unique / len(everything))
        assert row.overlap == pytest.approx(row.downloads / row.unique - 1)
        assert row.coverage_equal == pytest.approx(unique / len(everything))
        assert row.overlap_equal == pytest.approx(downloads / unique - 1)
        behind_walls = {page for order, home in crawls for page in order[:home]}
        assert row.firewall_coverage == pytest.approx(len(behind_walls) / len(everything))
    assert any(row.overlap_equal for row in rows if row.coverage_equal < row.firewall_coverage)
