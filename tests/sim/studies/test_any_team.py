"""Teams of any make against gatherers that do a page at a time."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product, zip_longest

import numpy as np
import pytest

from gcs.core.ordering import ORDERS, Found
from gcs.core.partition import PARTITIONERS
from gcs.core.queues.queue_maker import QUEUES, make_queue
from gcs.errors import UsageError
from gcs.sim.engine.supersteps import SuperstepRules
from gcs.sim.graph.synthetic import Shape, synthetic
from gcs.sim.studies import any_team
from gcs.sim.studies.any_team import make_team
from gcs.sim.studies.study import Setup, StudyRequest

K, EACH = 3, 4


@pytest.fixture(scope="module")
def web():
    return synthetic(Shape(150, site_pages=10))


def slow_alone(web, seeds, mine, order, mode):
    """What one gatherer fetches in each superstep: at home while anything waits there, then abroad (cross-over)."""
    known, worth, depth, fetched, steps = [], {}, {}, set(), []

    def hear(page, gift, deep):
        if page not in fetched:
            if page not in worth:
                known.append(page)
                worth[page], depth[page] = 0.0, deep
            worth[page] += gift if order.weighs else 0

    for seed in sorted(seeds):
        hear(seed, 0.0, 0)
        worth[seed] += order.seed
    while waiting := [page for page in known if page not in fetched]:
        if mode == "cross-over":
            waiting = [page for page in waiting if mine[page]] or waiting
        rank = {page: order.rank(Found("", depth=depth[page]), worth[page]) for page in waiting}
        best = sorted(waiting, key=rank.__getitem__)[:EACH]
        fetched.update(best)
        links = [(page, link) for page in best for link in web.outlinks(page).tolist()]
        for page, link in links:
            hear(link, order.gift(worth[page], len(web.outlinks(page))), depth[page] + 1)
        steps.append(best)
    return steps


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mode", ["cross-over", "independent"])
@pytest.mark.parametrize("queue", ["scan", "quickheap"])
def test_silent_teams_are_gatherers_alone(web, order, mode, queue):
    team = make_team(web, Setup("site-hash", mode, order, queue, EACH, seeds=9), K, 5)
    alone = [
        slow_alone(
            web, [s for s in team.seeds.tolist() if team.owners[s] == me], team.owners == me, ORDERS[order], mode
        )
        for me in range(K)
    ]
    expected = [[(page, me) for me, pages in enumerate(step) for page in pages or ()] for step in zip_longest(*alone)]
    found = [list(zip(turn.pages.tolist(), turn.fetchers.tolist())) for turn in team.turns()]
    assert found == expected
    downloads = Counter(page for step in found for page, _ in step)
    assert len(downloads) == team.reachable and downloads.total() > team.reachable


@pytest.mark.parametrize("mode", ["exchange", "firewall"])
@pytest.mark.parametrize(("queue", "every"), [("scan", 1), ("tournament", 3)])
def test_rows_are_counted_from_the_slow_team(web, slow_crawl, mode, queue, every):
    """Coverage, quality, pairs, bytes, balance and late messages of a team by OPIC, at its end."""
    setup = Setup("url-hash", mode, "opic", queue, EACH, every, 5 if mode == "exchange" else 0, "size", 9)
    team = make_team(web, setup, K, 5)
    last = any_team.run(web, StudyRequest((K,), seed=5, setup=setup), lambda _share, _what: None)[-1]
    sizes = np.array([team.owners.tolist().count(me) for me in range(K)], float)
    maker = None if queue == "scan" else lambda: make_queue(queue)
    rules = SuperstepRules(team.owners, K, mode, "opic", EACH, sizes, every, team.replicated, make_queue=maker)
    steps = slow_crawl(web, rules, team.seeds.tolist(), web.pages)
    pages = [page for step in steps for page in step[0]]
    asked, stored = Counter(), Counter()
    for page in pages:
        asked[team.owners[page]] += 1
        stored[team.owners[page]] += int(web.sizes_bytes[page])
    assert (last.supersteps, last.downloads, last.unique) == (len(steps), len(pages), len(set(pages)))
    assert last.coverage == len(pages) / team.reachable and last.overlap == 0
    assert last.urls_per_page == pytest.approx(sum(step[1] for step in steps) / len(pages))
    assert last.late == pytest.approx(sum(step[3] for step in steps) / len(steps))
    assert last.request_imbalance == pytest.approx(max(asked.values()) * K / len(pages) - 1)
    assert last.storage_imbalance == pytest.approx(max(stored.values()) * K / stored.total() - 1)
    indegree = Counter(web.targets.tolist())
    ranking = sorted(range(web.pages), key=lambda page: (-indegree[page], page not in set(pages)))
    assert last.quality == pytest.approx(len(set(ranking[: len(pages)]) & set(pages)) / len(pages))
    if mode == "exchange":
        lengths = {len(url) for url in web.urls}
        assert min(lengths) * last.urls_per_page <= last.bytes_per_page <= max(lengths) * last.urls_per_page


def test_every_combination_crawls(web):
    setups = product(PARTITIONERS, ["exchange", "firewall", "cross-over", "independent"], ORDERS, ["scan", *QUEUES])
    for number, setup in enumerate(setups):
        if number % 7 == 0:  # one in seven meets every pair of choices
            rows = list(any_team.looks(make_team(web, replace(Setup(*setup), seeds=9, superstep_pages=10), 4, 1)))
            assert rows[-1].coverage == 1.0 or setup[1] == "firewall"
            assert rows[-1].overlap == 0.0 or setup[1] in ("cross-over", "independent")
            assert all(a.downloads < b.downloads for a, b in pairwise(rows))


def test_a_part_of_the_crawl_ends_there(web):
    for mode in ("exchange", "cross-over"):
        rows = list(any_team.looks(make_team(web, Setup(mode=mode, part=0.3, seeds=9), 4, 1)))
        assert rows[-1].downloads == int(0.3 * make_team(web, Setup(seeds=9), 4, 1).reachable)


def test_replication_without_words_is_explained(web):
    with pytest.raises(UsageError, match="nothing is told in firewall mode"):
        make_team(web, Setup(mode="firewall", replicated=10), 2, 1)
