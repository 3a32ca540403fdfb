"""The explored fraction on real graphs: within ten points at 25, 50 and 75 % of a crawl."""

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from gcs.core.report.explored import Explored, ExploredShare
from gcs.sim.graph.graph_files import load
from gcs.sim.graph.web_graph import WebGraph

DATA = Path(__file__).parents[3] / ".." / "shared" / "data"


def graph(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"no web graph {name}: the shared data are not here")
    return load(DATA / name)


def breadth_first(graph: WebGraph, seeds: Sequence[int]) -> Iterator[int]:
    """The pages in the order in which a breadth-first crawl fetches them."""
    known = np.zeros(graph.pages, np.bool_)
    known[list(seeds)] = True
    queue = deque(sorted(seeds))
    while queue:
        page = queue.popleft()
        yield page
        links = graph.outlinks(page)
        fresh = links[~known[links]]
        known[fresh] = True
        queue.extend(fresh.tolist())


def explore(graph: WebGraph, seeds: Sequence[int], ask_at: Sequence[float]) -> Iterator[tuple[float, ExploredShare]]:
    """Crawl breadth-first; at each of the shares (ascending) of what can be reached, the share and the estimate."""
    order = list(breadth_first(graph, seeds))
    known = np.zeros(graph.pages, np.bool_)
    known[list(seeds)] = True
    explored = Explored()
    explored.known(int(known.sum()))
    names = [str(page) for page in range(graph.pages)]
    asked = iter(ask_at)
    share = next(asked, None)
    for fetched, page in enumerate(order):
        while share is not None and fetched >= share * len(order):
            yield fetched / len(order), explored.estimate()
            share = next(asked, None)
        if share is None:
            return
        links = graph.outlinks(page)
        links = links[links != page]
        fresh = links[~known[links]]
        known[fresh] = True
        explored.known(len(fresh))
        explored.count_page([names[link] for link in links.tolist()])


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
