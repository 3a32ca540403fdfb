"""The explored fraction on real graphs: within ten points at 25, 50 and 75 % of a crawl."""

from pathlib import Path
from random import Random

import pytest

from gcs.sim.exploration import explore
from gcs.sim.folder import load

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"


def graph(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"no web graph {name}: the shared data are not here")
    return load(DATA / name)


@pytest.mark.parametrize("name", ["wikispeedia", "polblogs"])
@pytest.mark.parametrize("seeds", [1, 30])
def test_estimate_is_within_ten_points_on_small_graphs(name, seeds):
    web = graph(name)
    first = Random(1).sample(range(web.pages), seeds) if seeds > 1 else [int(web.in_degrees().argmax())]
    answers = list(explore(web, first, (0.25, 0.5, 0.75)))
    assert len(answers) == 3
    for share, found in answers:
        assert found.fraction == pytest.approx(share, abs=0.10)
        assert found.low - 0.01 <= share <= found.high + 0.01


def test_estimate_is_within_ten_points_on_debian_java():
    """Started from a page in 300, as a crawl of 334 sites is; from one page it finds one site after the other."""
    web = graph("debian-java")
    first = Random(1).sample(range(web.pages), web.pages // 300)
    for share, found in explore(web, first, (0.25, 0.5, 0.75)):
        assert found.fraction == pytest.approx(share, abs=0.10)
