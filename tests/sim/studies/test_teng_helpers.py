"""A team with helpers against the slow team, and what must hold when helpers vanish."""

import numpy as np
import pytest

from gcs.sim.studies import teng_helpers
from gcs.sim.studies.study import Wish
from gcs.sim.supersteps import Rules


@pytest.fixture
def rows(web, silent, monkeypatch):
    monkeypatch.setattr(teng_helpers, "HELPERS", (0, 4))
    monkeypatch.setattr(teng_helpers, "STAYS", (0, 2))
    monkeypatch.setattr(teng_helpers, "SUPERSTEPS", 10)
    monkeypatch.setattr(teng_helpers, "SEEDS_EACH", 2)
    return teng_helpers.run(web, Wish((3,)), silent)


def test_steady_helpers_are_as_good_as_faster_gatherers(web, slow_crawl, rows):
    seeds = np.random.default_rng(1).choice(web.pages, 6, replace=False)
    speed = {}
    for helpers in (0, 4):
        own = web.pages / 30
        helped = int(helpers * 0.25 * own)
        owners = teng_helpers._balanced(web, 3, np.ones(3))
        steps = slow_crawl(web, Rules(owners, 3, pages_each=helped + int(own - 0.3 * helped)), seeds, web.pages)
        speed[helpers] = sum(len(pages) for pages, *_ in steps) / len(steps)
    assert [row.speedup for row in rows if not row.stay] == [1.0, pytest.approx(speed[4] / speed[0])]


def test_vanishing_helpers_lose_no_page(rows):
    fickle = rows[-1]
    assert fickle.stay == 2 and 0.1 < fickle.lost < 0.5
    assert all(row.twice_or_never == 0 for row in rows)
    assert fickle.speedup < rows[1].speedup


def test_sites_are_shared_out_by_the_rates(web):
    owners = teng_helpers._balanced(web, 2, np.array([3.0, 1.0]))
    assert np.bincount(owners)[0] / web.pages == pytest.approx(0.75, abs=0.15)
    assert teng_helpers._rates(np.array([0, 4, 100])).tolist() == pytest.approx([1.0, 1.7, 10 / 3])
