"""What is remembered of a study: its steps, by graph, wish and code."""

from dataclasses import dataclass, replace

import pytest

from gcs.app.study.study_results import ResultCache, beside, described, page, result, sources, table, text
from gcs.sim.graph.synthetic import Shape, synthetic
from gcs.sim.studies import STUDIES, Study, StudyRequest, cho_quality, marin_queues
from gcs.sim.studies.study import Steps


@dataclass(frozen=True, slots=True)
class Row:
    K: int
    value: float


@pytest.fixture
def asked():
    return []


@pytest.fixture
def study(asked):
    """Squares, which fail at 4 when asked for the first time."""

    def run(graph, wish, tick):
        asked.append(wish.ks)
        for k in wish.ks:
            if k == 4 and len(asked) == 1:
                raise KeyboardInterrupt
            yield [Row(k, k * k)]

    steps = Steps(lambda graph, wish: wish.ks or (2, 3, 4, 5), run)
    return Study("squares", "", "", Row, list, lambda rows: [], lambda rows: [], steps=steps)


def test_an_interrupted_study_goes_on_where_it_was(study, asked, tmp_path):
    graph, memory = synthetic(Shape(100)), ResultCache(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        result(study, graph, StudyRequest(), print, memory)
    rows = [Row(k, k * k) for k in (2, 3, 4, 5)]
    assert result(study, graph, StudyRequest(), print, memory).rows == rows
    assert result(study, graph, StudyRequest(), print, memory).rows == rows
    assert result(study, graph, StudyRequest((5, 2)), print, memory).rows == [rows[3], rows[0]]
    assert asked == [(2, 3, 4, 5), (4, 5)]
    result(study, graph, StudyRequest(seed=2), print, memory)
    result(study, graph, StudyRequest((2,)), print, ResultCache(tmp_path, fresh=True))
    assert asked[2:] == [(2, 3, 4, 5), (2,)]


def test_a_damaged_result_is_made_again(study, asked, tmp_path):
    graph, memory, wish = synthetic(Shape(100)), ResultCache(tmp_path), StudyRequest((2,))
    result(study, graph, wish, print, memory)
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:5])
    assert result(study, graph, wish, print, memory).rows == [Row(2, 4)]
    assert asked == [(2,), (2,)]


def test_the_code_of_a_study_is_what_it_imports():
    ours = sources(STUDIES["cambazoglu"].run.__module__)
    assert {"gcs.sim.studies.cambazoglu", "gcs.core.partition.metis", "gcs.sim.graph.synthetic"} <= ours.keys()
    assert "gcs.sim.studies.teng_helpers" not in ours and b"METIS" in ours["gcs.core.partition.metis"]


def test_the_papers_figures_stand_beside_ours_of_the_same_case(study, tmp_path):
    paper = (Row(3, 8.0), Row(7, 50.0))  # we have no 7
    beside_paper = replace(study, paper=paper, keys=("K",))
    done = result(beside_paper, synthetic(Shape(100)), StudyRequest((2, 3)), print, ResultCache(tmp_path))
    lines = ["| K | value: paper | value: here |", "| --- | --- | --- |", "| 3 | 8 | 9 |"]
    assert beside(done) == "\n".join(lines) and beside(done) in text(done)
    assert beside(replace(done, study=study)) == ""


def test_a_text_says_what_was_taken_for_sites(study, tmp_path):
    web = synthetic(Shape(100))
    assert described(web).endswith("sites") and described(web).startswith("synthetic-100: 100 pages, ")
    bare = replace(web, urls=(), sizes_bytes=None)
    assert "sites, which are ranges of pages" in text(
        result(study, bare, StudyRequest((2,)), print, ResultCache(tmp_path))
    )


def test_every_paper_that_gives_figures_is_laid_beside_ours():
    """But the ends of Cho's Figure 6, which are points of a curve: they are drawn."""
    given = {name for name, study in STUDIES.items() if study.paper}
    assert {name for name, study in STUDIES.items() if study.keys} == given - {"cho-overlap"}


def test_all_studies_make_a_page(monkeypatch, tmp_path):
    """Every study runs on a small web, and has rows, charts, findings and a place on the page."""
    monkeypatch.setattr(cho_quality, "SUPERSTEPS", 128)
    for name, value in {"TREES_KEYS": 4000, "TREES_TOP": 80, "TREES_ROUNDS": 4}.items():
        monkeypatch.setattr(marin_queues, name, value)
    graph = synthetic(Shape(2000))
    done = [
        result(study, graph, StudyRequest((4,), runs=1), lambda *_: None, ResultCache(tmp_path))
        for study in STUDIES.values()
    ]
    whole = page([(one, f"{one.study.name}.svg") for one in done])
    for one in done:
        assert one.rows and one.study.charts(one.rows) and one.study.findings(one.rows)
        assert f"## {one.study.title}" in whole and f"({one.study.name}.svg)" in whole
        assert one.json()["rows"][0].keys() >= set(table(one.rows).splitlines()[0].split(","))
    again = [
        result(study, graph, StudyRequest((4,), runs=1), pytest.fail, ResultCache(tmp_path))
        for study in STUDIES.values()
    ]
    assert page([(one, f"{one.study.name}.svg") for one in again]) == whole
