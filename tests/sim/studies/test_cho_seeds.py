"""Coverage by seeds against a crawler that fetches one page after the other."""

import numpy as np

from gcs.sim.graph.owners import page_owners
from gcs.sim.studies import cho_seeds
from gcs.sim.studies.study import StudyRequest


def crawl(outlinks, seeds, allowed):
    found, queue = set(), list(seeds)
    while queue:
        page = queue.pop()
        if page not in found:
            found.add(page)
            queue += [link for link in outlinks[page] if allowed(page, link)]
    return found


def test_turns_count_each_owner_through_from_0(web):
    owners = page_owners(web, "site-hash", 3)
    turn = cho_seeds.turns(owners, np.random.default_rng(1))
    for me in range(3):
        assert sorted(turn[owners == me].tolist()) == list(range((owners == me).sum()))


def test_rows_are_what_walls_leave(web, outlinks, silent, monkeypatch):
    monkeypatch.setattr(cho_seeds, "FEWEST", 4)
    monkeypatch.setattr(cho_seeds, "MOST", 32)
    rows = cho_seeds.run(web, StudyRequest((2, 4), seed=3), silent)
    assert [(row.n, row.seeds) for row in rows] == [(n, s) for n in (2, 4) for s in (4, 8, 16, 32)]
    for row in rows:
        owners = page_owners(web, "site-hash", row.n, 3)
        turn = cho_seeds.turns(owners, np.random.default_rng(3))
        some, most = ([p for p in range(web.pages) if turn[p] < count // row.n] for count in (row.seeds, 32))
        behind = crawl(outlinks, some, lambda page, link: owners[page] == owners[link])  # noqa: B023
        assert row.pages == len(behind)
        assert row.coverage == len(behind) / len(crawl(outlinks, most, lambda page, link: True))
