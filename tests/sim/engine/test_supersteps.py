"""A team in supersteps against one that does a page, a link and a message at a time."""

import numpy as np
import pytest

from gcs.core.queues.queue_maker import make_queue
from gcs.errors import UsageError
from gcs.sim.engine.supersteps import SteppedCrawl, SuperstepRules
from gcs.sim.graph.web_graph import from_links


@pytest.fixture(params=[1, 2, 3])
def web(request):
    chance = np.random.default_rng(request.param)
    return from_links("random", chance.integers(0, 120, 500), (120 * chance.random(500) ** 2).astype(int), 120)


def rules_for(web, **more):
    owners = np.random.default_rng(9).integers(0, 4, web.pages).astype(np.int16)
    return SuperstepRules(owners, 4, **more)


@pytest.mark.parametrize("order", ["bfs", "backlink", "opic"])
@pytest.mark.parametrize("queue", [None, "quickheap", "tournament", "heap"])
@pytest.mark.parametrize(("every", "mode"), [(1, "exchange"), (3, "exchange"), (1, "firewall")])
def test_supersteps_are_those_of_the_slow_team(slow_crawl, web, order, queue, every, mode):
    rules = rules_for(
        web,
        order=order,
        make_queue=queue and (lambda: make_queue(queue)),
        exchange_every=every,
        mode=mode,
        pages_each=3,
    )
    seeds = np.array([5, 50, 99])
    found = [
        (step.pages.tolist(), step.told, step.told_links, step.late, step.late_inside)
        for step in SteppedCrawl(web, rules, seeds).steps(70)
    ]
    assert found == slow_crawl(web, rules, [5, 50, 99], 70)


def test_fast_gatherers_fetch_more_and_slow_ones_save_up(slow_crawl, web):
    rules = rules_for(web, order="backlink", pages_each=1.5, speeds=np.array([0.5, 1.0, 3.0, 0.25]))
    found = [step.pages.tolist() for step in SteppedCrawl(web, rules, np.arange(0, 120, 10)).steps(60)]
    assert found == [pages for pages, *_ in slow_crawl(web, rules, range(0, 120, 10), 60)]
    assert np.array([rules.quota(number) for number in range(1, 9)]).sum(axis=0).tolist() == [5, 10, 30, 2]


def test_replicated_urls_are_known_and_never_told(slow_crawl, web):
    rules = rules_for(web, replicated=np.array([0, 1, 2, 3], np.int32), pages_each=5)
    steps = list(SteppedCrawl(web, rules, np.array([60])).steps())
    found = [(step.pages.tolist(), step.told, step.told_links, step.late, step.late_inside) for step in steps]
    assert found == slow_crawl(web, rules, [60], web.pages)
    assert {0, 1, 2, 3} <= set(np.concatenate([step.pages for step in steps]).tolist())


def test_an_unknown_order_is_explained(web):
    with pytest.raises(UsageError, match="backlink"):
        SteppedCrawl(web, rules_for(web, order="best"), np.array([0]))
