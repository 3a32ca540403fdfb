"""Special sub-graphs: what each treatment costs, counted link by link, and that to take them out helps."""

import numpy as np
import pytest

from gcs.core.partition.partition_graph import GIANT_SHARE, cut_giants
from gcs.core.plan.hot_page_choice import RECOGNISERS
from gcs.sim.engine.partitions import crawled
from gcs.sim.studies import teng_special
from gcs.sim.studies.study import StudyRequest


def test_rows_are_those_of_a_count_link_by_link(web, silent, monkeypatch):
    monkeypatch.setattr(teng_special, "SIZES", (5, 20))
    asked = []
    partition = teng_special._Task._partition

    def noted(self, weights, links):
        owners = partition(self, weights, links)
        asked.append(owners)
        return owners

    monkeypatch.setattr(teng_special._Task, "_partition", noted)
    monkeypatch.setattr(teng_special, "spread", map)  # here, not in processes that keep their notes
    rows = teng_special.run(web, StudyRequest((3,), seed=2), silent)
    assert [(row.recogniser, row.treatment, row.special) for row in rows] == [
        ("none", "told", 0),
        *((name, way, size) for name in RECOGNISERS for size in (5, 20) for way in ("told", "apart", "divided")),
    ]
    session = crawled(web).session
    links = list(zip(session.sources.tolist(), session.targets.tolist()))
    units = cut_giants(session, GIANT_SHARE / 3)
    answers = iter(asked)
    whole = next(answers)[units]
    for row in rows:
        special = []
        if row.special:
            special = RECOGNISERS[row.recogniser](session, units, row.special).tolist()
        owners = whole
        if row.treatment != "told":
            owners = next(answers)[units]
        if row.treatment == "divided":
            owners = owners.copy()
            owners[sorted(special)] = next(answers)
        silent_about = set() if row.treatment == "divided" else set(special)
        owners = owners.tolist()
        crossing = [(s, t) for s, t in links if owners[s] != owners[t] and t not in silent_about]
        assert row.crossing_per_page == pytest.approx(len(crossing) / web.pages)
        assert row.posts_per_page == pytest.approx(len({(owners[s], t) for s, t in crossing}) / web.pages)
        assert row.imbalance == pytest.approx(max(np.bincount(owners)) * 3 / web.pages - 1)
    assert next(answers, None) is None
    assert teng_special.charts(rows) and len(teng_special.findings(rows)) == 3


def test_a_small_graph_has_no_special_pages(web, silent):
    rows = teng_special.run(web, StudyRequest((2,)), silent)
    assert [row.recogniser for row in rows] == ["none"] and teng_special.findings(rows) == []
