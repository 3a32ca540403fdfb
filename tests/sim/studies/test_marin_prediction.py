"""The prediction of R against the steps of the paper, taken one node at a time."""

import pytest

from gcs.core.ordering.pagerank import pagerank
from gcs.sim.graph.owners import page_owners
from gcs.sim.studies import marin_prediction
from gcs.sim.studies.study import StudyRequest


def replay(outlinks, owner, importance, beta):
    """Pages of the busiest owner per superstep, average error, number of supersteps."""
    queue = sorted(range(len(outlinks)), key=lambda page: -importance[page])
    waiting, written, fetched, missed, errors = {}, set(), 0, set(), []
    in_this = set()

    def end():
        nonlocal fetched, missed
        if in_this:
            errors.append(len(missed & in_this) / len(in_this))
        in_this.clear()
        waiting.clear()
        written.clear()
        missed = set()

    for page in queue:
        if any(count > beta for count in waiting.values()):
            end()
        in_this.add(page)
        for link in outlinks[page]:
            if owner[link] != owner[page]:
                waiting[owner[link]] = waiting.get(owner[link], 0) + 1
                missed.add(link)
    end()
    busiest = max(owner.count(me) for me in set(owner))
    return -(-busiest // len(errors)), sum(errors) / len(errors), len(errors)


def test_rows_are_those_of_the_papers_algorithm(web, outlinks, silent, monkeypatch):
    monkeypatch.setattr(marin_prediction, "TOLERANCES", (1, 3, 10, 40))
    rows = marin_prediction.run(web, StudyRequest((3,)), silent)
    owner = page_owners(web, "site-hash", 3, 1).tolist()
    importance = pagerank(web.offsets, web.targets, 1e-6)
    for row in rows:
        pages, error, supersteps = replay(outlinks, owner, importance, row.tolerance)
        assert (row.pages, row.supersteps) == (pages, supersteps)
        assert row.error == pytest.approx(error)
    assert rows[-1].chosen and not any(row.chosen for row in rows[:-1])
