"""What a study says of a web on which the papers' claims do not hold: never no without a why."""

from itertools import pairwise

import numpy as np
import pytest

from gcs.sim.graph.graph_files import sites_of
from gcs.sim.graph.web_graph import WebGraph, rows
from gcs.sim.studies import STUDIES, cho_quality, marin_queues
from gcs.sim.studies.study import StudyRequest

PAGES = 120


def web(hosts, links):
    urls = [f"http://h{hosts(page)}.example/{page}" for page in range(PAGES)]
    sources, targets = np.array(links, np.int64).reshape(-1, 2).T
    return WebGraph("odd", *rows(sources, targets, PAGES), urls, sites_of(urls), np.full(PAGES, 1000))


RING = list(pairwise(range(PAGES)))
CHANCE = np.random.default_rng(1).integers(0, PAGES, (600, 2)).tolist()
WEBS = {
    "one site": web(lambda page: 0, CHANCE),
    "each page a site": web(lambda page: page, CHANCE),
    "a chain across sites": web(lambda page: page % 3, RING),
    "islands": web(lambda page: page // 10, [pair for pair in RING if pair[0] // 10 == pair[1] // 10]),
    "no links": web(lambda page: page // 10, []),
}


@pytest.mark.parametrize("kind", WEBS)
def test_where_we_differ_we_say_why(kind, silent, monkeypatch):
    monkeypatch.setattr(cho_quality, "EXCHANGES", (0, 1, 99))
    for name, value in {"TREES_KEYS": 400, "TREES_TOP": 80, "TREES_ROUNDS": 2}.items():
        monkeypatch.setattr(marin_queues, name, value)
    differ = {}
    for name, study in STUDIES.items():
        found = study.findings(study.run(WEBS[kind], StudyRequest((2, 8), runs=1), silent))
        assert all(each.claim and each.paper and each.ours for each in found)
        differ |= {(name, each.claim): each.why for each in found if not each.agrees}
    assert differ and [where for where, why in differ.items() if not why] == []


def test_half_of_the_web_is_held_against_twice_the_gatherers():
    """Cho's dotted line: as the web doubles, twice the gatherers keep the coverage."""
    study = STUDIES["cho-coverage"]
    shifted = [study.row(n, whole, whole, half) for n, whole, half in ((1, 1.0, 1.0), (2, 0.7, 0.6), (4, 0.6, 0.3))]
    alike = [study.row(n, whole, whole, whole) for n, whole in ((1, 1.0), (2, 0.8), (4, 0.4))]
    assert study.findings(shifted)[-1].agrees
    last = study.findings(alike)[-1]
    assert not last.agrees and "0.800 of the half with 2, 0.400 of the whole with 4" in last.ours
    assert len(study.findings([study.row(4, 0.5, 0.5, 0.5)])) == 2  # nothing to hold it against


def test_one_team_is_not_held_against_itself(silent, monkeypatch):
    """With `-k 64` nothing is said of how things change with the number of gatherers, but from one to 64."""
    monkeypatch.setattr(cho_quality, "EXCHANGES", (0, 1, 99))
    names = ("cho-coverage", "cho-seeds", "cho-communication", "cho-quality", "marin-failures")
    found = {}
    for name in names:
        rows_of_8 = STUDIES[name].run(WEBS["each page a site"], StudyRequest((8,), runs=1), silent)
        found[name] = [each.claim for each in STUDIES[name].findings(rows_of_8)]
    assert found["cho-coverage"] == ["coverage falls as gatherers are added"]
    assert not any("few gatherers" in claim for claim in found["cho-seeds"])
    assert not any("more gatherers" in claim for name in names for claim in found[name])
    alone = STUDIES["cho-coverage"]
    (whole,) = alone.findings([alone.row(64, 0.07)])
    assert whole.agrees and whole.ours.startswith("0.070 (n = 64)") and alone.findings([alone.row(1, 1.0)]) == []
