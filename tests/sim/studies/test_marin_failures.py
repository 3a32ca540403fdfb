"""Late messages against the slow team."""

import numpy as np
import pytest

from gcs.sim.engine.supersteps import SuperstepRules
from gcs.sim.graph.owners import page_owners
from gcs.sim.studies import marin_failures
from gcs.sim.studies.study import StudyRequest


def test_rows_are_those_of_the_slow_team(web, silent, slow_crawl, monkeypatch):
    monkeypatch.setattr(marin_failures, "R", 9)
    monkeypatch.setattr(marin_failures, "PART", 1.0)
    monkeypatch.setattr(marin_failures, "AVERAGED", 4)
    rows = marin_failures.run(web, StudyRequest((3,)), silent)
    homes = [web.sites.tolist().index(site) for site in sorted(set(web.sites.tolist()))]
    rules = SuperstepRules(page_owners(web, "site-hash", 3, 1), 3, order="opic", pages_each=3)
    steps = slow_crawl(web, rules, homes, web.pages)
    assert rows[-1].superstep == len(steps)
    for place, row in enumerate(rows):
        part = steps[4 * place : 4 * place + 4]
        assert row.failures == pytest.approx(np.mean([late for _, _, _, late, _ in part]))
        assert row.failures_home == pytest.approx(np.mean([late for *_, late in part]))
        assert row.told == pytest.approx(np.mean([links for _, _, links, _, _ in part]))
        assert row.pages == pytest.approx(np.mean([len(pages) for pages, *_ in part]))
    assert sum(row.failures for row in rows) > 0
