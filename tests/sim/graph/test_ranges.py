"""Ranges that stand for sites, against modularity counted link by link, and against sites that are known."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from gcs.sim.graph import graph_files
from gcs.sim.graph.graph_files import load, ranges_of
from gcs.sim.graph.owners import leaving_share
from gcs.sim.graph.synthetic import Shape, synthetic
from gcs.sim.graph.web_graph import from_links


def slow_ranges(links, parts):
    """Lists of pages that are merged with their neighbours: in each round, those pairs that gain most around them."""

    def gain(one, two):
        between = sum((a in one and b in two) or (a in two and b in one) for a, b in links)
        ends = [sum((a in part) + (b in part) for a, b in links) for part in (one, two)]
        return 2 * len(links) * between - ends[0] * ends[1]

    while True:
        gains = [0, *(gain(one, two) for one, two in pairwise(parts)), 0]
        at = [i for i in range(1, len(gains) - 1) if gains[i] > max(0, gains[i - 1]) and gains[i] >= gains[i + 1]]
        if not at:
            return [len(part) for part in parts]
        for i in reversed(at):
            parts[i - 1 : i + 1] = [parts[i - 1] + parts[i]]


@pytest.mark.parametrize("seed", range(6))
def test_runs_grow_together_while_that_gains(seed, monkeypatch):
    monkeypatch.setattr(graph_files, "RUN_PAGES", 2)
    random = Random(seed)
    pairs = {(a, min(max(a + random.choice((-3, -2, -1, 1, 2, 3, 20)), 0), 39)) for a in range(40) for _ in range(3)}
    sources, targets = np.array(sorted(pairs)).T
    web = from_links("g", sources, targets, 40)
    found = ranges_of(web.offsets, web.targets)
    assert np.bincount(found).tolist() == slow_ranges(sorted(pairs), [[page, page + 1] for page in range(0, 40, 2)])
    assert (np.diff(found) >= 0).all() and 1 < found.max() < 19


def test_a_graph_may_have_no_links_or_pages():
    assert ranges_of(np.zeros(26, np.int64), np.empty(0, np.int32)).tolist() == [0] * 10 + [1] * 10 + [2] * 5
    assert ranges_of(np.zeros(1, np.int64), np.empty(0, np.int32)).tolist() == []


def test_as_many_links_leave_the_ranges_as_leave_the_sites(request):
    folder = request.config.rootpath / ".." / "shared" / "data" / "debian-java"
    webs = [synthetic(Shape(20_000)), *([load(folder)] if folder.is_dir() else [])]
    for web in webs:
        bare = from_links("g", web.sources(), web.targets, web.pages)
        found = ranges_of(bare.offsets, bare.targets)
        leaving = float((found[bare.sources()] != found[bare.targets]).mean())
        assert leaving == pytest.approx(leaving_share(web), rel=0.3)
