"""Quality by exchanges against the slow team and a count of the truly most linked pages."""

import numpy as np
import pytest

from gcs.sim.engine.supersteps import SuperstepRules
from gcs.sim.graph.owners import page_owners
from gcs.sim.studies import cho_quality
from gcs.sim.studies.study import StudyRequest


def reachable(outlinks, seeds):
    found, queue = set(), list(seeds)
    while queue:
        page = queue.pop()
        if page not in found:
            found.add(page)
            queue += outlinks[page]
    return sorted(found)


def best_hits(importance, pages, wanted):
    """The largest overlap with a set of so many most important pages: those that were fetched win ties."""
    ranking = sorted(range(len(importance)), key=lambda page: (-importance[page], page not in pages))
    return len(set(ranking[:wanted]) & set(pages)) / wanted


def test_rows_are_those_of_the_slow_team(web, outlinks, silent, slow_crawl, monkeypatch):
    monkeypatch.setattr(cho_quality, "SEEDS", 6)
    monkeypatch.setattr(cho_quality, "SHARES", (0.3,))
    monkeypatch.setattr(cho_quality, "EXCHANGES", (0, 1, 3))
    monkeypatch.setattr(cho_quality, "SUPERSTEPS", 8)
    rows = cho_quality.run(web, StudyRequest((3,), runs=1, seed=5), silent)
    assert [row.exchanges for row in rows] == [0, 1, 3, 8]
    seeds = np.random.default_rng(5).choice(web.pages, 6, replace=False).tolist()
    kept = reachable(outlinks, seeds)
    number = {page: place for place, page in enumerate(kept)}
    part = web.induced(np.isin(np.arange(web.pages), kept))
    importance = [sum(page in outlinks[other] for other in kept) for page in kept]
    most = int(0.3 * len(kept))
    owners = page_owners(part, "site-hash", 3, 5)
    sizes = np.array([owners.tolist().count(me) for me in range(3)], float)
    for row in rows:
        mode = "exchange" if row.exchanges else "firewall"
        rules = SuperstepRules(owners, 3, mode, "backlink", most / (3 * 8), sizes, max(8 // (row.exchanges + 1), 1))
        steps = slow_crawl(part, rules, [number[seed] for seed in seeds], most)
        pages = {page for step in steps for page in step[0]}
        assert row.quality == pytest.approx(best_hits(importance, pages, most))
        assert row.urls_per_page == pytest.approx(sum(step[1] for step in steps) / len(pages))
    alone = SuperstepRules(np.zeros(part.pages, np.int16), 1, "exchange", "backlink", most / 8)
    steps = slow_crawl(part, alone, [number[seed] for seed in seeds], most)
    single = best_hits(importance, {page for step in steps for page in step[0]}, most)
    assert [row.quality_single for row in rows] == pytest.approx([single] * len(rows))
