"""Which links leave; no link is suppressed whose owner does not know the URL."""

from pathlib import Path

import pytest

from gcs.core.plan.plan import Plan
from gcs.core.report.counters import Traffic
from gcs.core.url.sortkey import sort_key
from gcs.ports.frontier import Entry, Frontier, FrontierSettings
from gcs.roles.gatherer.team.hand_over import HandOvers
from gcs.roles.gatherer.team.router import CQueue, Router, Tolerance

MINE, THEIRS, OTHER = "http://a.example/", "http://b.example/", "http://b.example/other"
CUT = sort_key(THEIRS)


@pytest.fixture
def router(tmp_path: Path):
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    yield Router("a", frontier, CQueue(Tolerance(urls=100)), HandOvers("a", frontier), Traffic())
    frontier.close()


def plan(epoch: int = 1, hot: tuple[str, ...] = (), owners: tuple[int, ...] = (0, 1)) -> Plan:
    return Plan(epoch, ("a", "b", "c"), (b"", CUT), owners, hot_pages=hot)


def posted(router: Router) -> list[tuple[str, list[str]]]:
    return [(to, [link.url for link in block.links]) for to, block in router.close_blocks()]


def test_router_keeps_everything_before_the_first_plan(router: Router) -> None:
    """A crawl that one gatherer began alone is replayed before its team has a plan."""
    entries = [Entry(MINE), Entry(THEIRS)]
    assert router.route(entries) == entries


def test_router_posts_a_foreign_url_once(router: Router) -> None:
    router.adopt(plan())
    assert router.route([Entry(MINE), Entry(THEIRS), Entry(THEIRS)]) == [Entry(MINE)]
    assert posted(router) == [("b", [THEIRS])]
    router.route([Entry(THEIRS)])
    assert posted(router) == []


def test_router_never_posts_hot_pages_but_sends_on_those_it_receives(router: Router) -> None:
    """The sender counts on this gatherer: the owner may not know the URL from anybody else."""
    router.adopt(plan(hot=(THEIRS,)))
    router.route([Entry(THEIRS)])
    assert posted(router) == []
    other = Entry(OTHER, THEIRS, 1, 1)
    assert router.forward([Entry(MINE), Entry(THEIRS), other]) == [Entry(MINE)]
    assert posted(router) == [("b", [THEIRS, OTHER])]
    router.forward([other])
    assert posted(router) == []


def test_router_counts_what_it_suppresses_once(router: Router) -> None:
    router.adopt(plan(hot=(THEIRS,)))
    for _ in range(3):
        router.count_links([MINE, THEIRS, OTHER])
        router.route([Entry(THEIRS, MINE, 1, 1), Entry(OTHER, MINE, 1, 1)])
    traffic = router._traffic
    posts = sum(len(urls) for _, urls in posted(router))
    assert (posts, traffic.suppressed_hot, traffic.suppressed_c_queue) == (1, 3, 2)
    router.route([Entry(OTHER, MINE, 1, 1)])
    assert traffic.suppressed_c_queue == 2, "the URL was counted when the page was fetched"
    assert dict(router.hot_candidates()) == {THEIRS: 3, OTHER: 2}


def test_seeds_that_are_passed_on_are_no_exchange(router: Router) -> None:
    router.adopt(plan())
    router.forward([Entry(THEIRS)])
    assert posted(router) == [("b", [THEIRS])]
    assert router._traffic.exchanged_urls == router._traffic.named_bytes == 0
    router.forward([Entry(THEIRS), Entry(OTHER)])
    router.route([Entry(THEIRS, MINE, 1, 1)])
    assert posted(router) == [("b", [THEIRS, OTHER])]
    assert (router._traffic.exchanged_urls, router._traffic.named_bytes) == (1, len(THEIRS))


def test_router_sends_waiting_links_to_the_owners_of_a_new_plan(router: Router) -> None:
    router.adopt(plan())
    router.route([Entry(THEIRS, "http://p/", 2, 2), Entry(OTHER)])
    assert router.adopt(plan(2, hot=(THEIRS,), owners=(0, 2))) == []
    assert posted(router) == [("c", [THEIRS, OTHER])]


def test_router_holds_urls_of_ranges_that_are_not_complete(router: Router) -> None:
    router.adopt(plan())
    router._hand_overs.awaited = ((b"", CUT),)
    assert router.route([Entry(MINE)]) == []
    assert router.forward([Entry(MINE)]) == []
    router._hand_overs.awaited = ()
    assert router.forward([Entry(MINE)]) == [Entry(MINE)]
