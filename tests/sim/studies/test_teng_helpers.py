"""A team with helpers against the slow team, and what must hold when helpers vanish."""

import numpy as np
import pytest

from gcs.sim.studies import teng_helpers
from gcs.sim.studies.study import StudyRequest


@pytest.fixture
def rows(web, silent, monkeypatch):
    monkeypatch.setattr(teng_helpers, "HELPERS", (0, 4))
    monkeypatch.setattr(teng_helpers, "STAYS", (0, 2))
    monkeypatch.setattr(teng_helpers, "SUPERSTEPS", 10)
    monkeypatch.setattr(teng_helpers, "LEAST", 1.0)
    monkeypatch.setattr(teng_helpers, "SEEDS_EACH", 2)
    return teng_helpers.run(web, StudyRequest((3,)), silent)


def slow_team(web, owners, helpers, stay, seed):
    """A page at a time: pages per superstep until 90 % are fetched, supersteps, part of the lent that came back."""
    k, chance = len(helpers), np.random.default_rng(seed)
    own = web.pages / (10 * k)
    seeds = sorted(chance.choice(web.pages, 2 * k, replace=False).tolist())
    depth, fetched, back = dict.fromkeys(seeds, 0), [], {}
    waiting = [[page for page in seeds if owners[page] == me] for me in range(k)]
    steps = given = lost = 0
    counts = []
    while back or any(waiting):
        for page in back.pop(steps, ()):
            waiting[owners[page]].append(page)
        done = []
        for me in range(k):
            helped = int(min(helpers[me] * 0.25, 1 / 0.3) * own)
            mine = max(int(own - 0.3 * helped), 0) or int(not helped)
            best = sorted(waiting[me], key=depth.get)[: mine + helped]
            waiting[me] = [page for page in waiting[me] if page not in best]
            at_home, lent = best[:mine], best[mine:]
            leaves = [chance.random() < (1 / stay if stay else 0) for _ in range(helpers[me])]
            missing = set()
            for helper, gone in enumerate(leaves):  # shares are as even as can be, larger ones first
                size, more = divmod(len(lent), len(leaves))
                start = helper * size + min(helper, more)
                share = lent[start : start + size + (helper < more)]
                missing |= set(share[len(share) // 2 :]) if gone else set()
            back.setdefault(steps + 3, []).extend(page for page in lent if page in missing)
            given, lost = given + len(lent), lost + len(missing)
            done += at_home + [page for page in lent if page not in missing]
        back = {step: pages for step, pages in back.items() if pages}
        inside, told = [], []
        for page in done:
            for link in web.outlinks(page).tolist():
                (inside if owners[link] == owners[page] else told).append((link, depth[page] + 1))
        for link, deep in inside + told:
            if link not in depth:
                depth[link] = deep
                waiting[owners[link]].append(link)
        fetched += done
        steps += 1
        counts.append(len(fetched))
    assert len(fetched) == len(set(fetched))
    most = next(step for step, count in enumerate(counts, 1) if count >= 0.9 * len(fetched))
    return counts[most - 1] / most, steps, lost / given if given else 0.0


def test_rows_are_those_of_the_slow_team(web, rows):
    alike = teng_helpers._balanced(web, 3, np.ones(3)).tolist()
    speed = {}
    for row in rows:
        speed[row.helpers], _, lost = slow_team(web, alike, [row.helpers] * 3, row.stay, 1)
        assert row.speedup == pytest.approx(speed[row.helpers] / speed[0])
        assert row.lost == pytest.approx(lost)
        if row.helpers and not row.stay:
            uneven = [2 * row.helpers, 0, 0]
            counted = teng_helpers._balanced(web, 3, teng_helpers._rates(np.array(uneven))).tolist()
            assert row.supersteps_counted == slow_team(web, counted, uneven, 0, 1)[1]
            assert row.supersteps_uncounted == slow_team(web, alike, uneven, 0, 1)[1]


def test_vanishing_helpers_lose_no_page(rows):
    fickle = rows[-1]
    assert fickle.stay == 2 and 0.1 < fickle.lost < 0.5
    assert all(row.twice_or_never == 0 for row in rows)
    assert fickle.speedup < rows[1].speedup


def test_sites_are_shared_out_by_the_rates(web):
    owners = teng_helpers._balanced(web, 2, np.array([3.0, 1.0]))
    assert np.bincount(owners)[0] / web.pages == pytest.approx(0.75, abs=0.15)
    assert teng_helpers._rates(np.array([0, 4, 100])).tolist() == pytest.approx([1.0, 1.7, 10 / 3])
