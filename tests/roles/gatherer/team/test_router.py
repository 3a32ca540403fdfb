"""Which links leave; no link is suppressed whose owner does not know the URL.

In the c-queue, links to one URL add up; they leave when the superstep is over.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.messages.tuples import Link
from gcs.core.ordering import GIFT
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.counters import Traffic
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import sort_key
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.roles.gatherer.team.hand_over import HandOvers
from gcs.roles.gatherer.team.router import CQueue, Router, Tolerance

MINE, THEIRS, OTHER = "http://a.example/", "http://b.example/", "http://b.example/other"
CUT = sort_key(THEIRS)
URL, SECOND = "http://a.example/", "http://a.example/b"
links = st.builds(Link, st.sampled_from([URL, SECOND]), st.integers(1, 9), st.integers(GIFT, 4), st.just("http://p/"))


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
    entries = [QueuedUrl(MINE), QueuedUrl(THEIRS)]
    assert router.route(entries) == entries


def test_router_posts_a_foreign_url_once(router: Router) -> None:
    router.adopt(plan())
    assert router.route([QueuedUrl(MINE), QueuedUrl(THEIRS), QueuedUrl(THEIRS)]) == [QueuedUrl(MINE)]
    assert posted(router) == [("b", [THEIRS])]
    router.route([QueuedUrl(THEIRS)])
    assert posted(router) == []


def test_router_never_posts_hot_pages_but_sends_on_those_it_receives(router: Router) -> None:
    """The sender counts on this gatherer: the owner may not know the URL from anybody else."""
    router.adopt(plan(hot=(THEIRS,)))
    router.route([QueuedUrl(THEIRS)])
    assert posted(router) == []
    other = QueuedUrl(OTHER, THEIRS, 1, 1)
    assert router.forward([QueuedUrl(MINE), QueuedUrl(THEIRS), other]) == [QueuedUrl(MINE)]
    assert posted(router) == [("b", [THEIRS, OTHER])]
    router.forward([other])
    assert posted(router) == []


def test_router_counts_what_it_suppresses_once(router: Router) -> None:
    router.adopt(plan(hot=(THEIRS,)))
    for _ in range(3):
        router.count_links([MINE, THEIRS, OTHER])
        router.route([QueuedUrl(THEIRS, MINE, 1, 1), QueuedUrl(OTHER, MINE, 1, 1)])
    traffic = router._traffic
    posts = sum(len(urls) for _, urls in posted(router))
    assert (posts, traffic.suppressed_hot, traffic.suppressed_c_queue) == (1, 3, 2)
    router.route([QueuedUrl(OTHER, MINE, 1, 1)])
    assert traffic.suppressed_c_queue == 2, "the URL was counted when the page was fetched"
    assert dict(router.hot_candidates()) == {THEIRS: 3, OTHER: 2}


def test_seeds_that_are_passed_on_are_no_exchange(router: Router) -> None:
    router.adopt(plan())
    router.forward([QueuedUrl(THEIRS)])
    assert posted(router) == [("b", [THEIRS])]
    assert router._traffic.exchanged_urls == router._traffic.named_bytes == 0
    router.forward([QueuedUrl(THEIRS), QueuedUrl(OTHER)])
    router.route([QueuedUrl(THEIRS, MINE, 1, 1)])
    assert posted(router) == [("b", [THEIRS, OTHER])]
    assert (router._traffic.exchanged_urls, router._traffic.named_bytes) == (1, len(THEIRS))


def test_router_sends_waiting_links_to_the_owners_of_a_new_plan(router: Router) -> None:
    router.adopt(plan())
    router.route([QueuedUrl(THEIRS, "http://p/", 2, 2), QueuedUrl(OTHER)])
    assert router.adopt(plan(2, hot=(THEIRS,), owners=(0, 2))) == []
    assert posted(router) == [("c", [THEIRS, OTHER])]


def test_router_holds_urls_of_ranges_that_are_not_complete(router: Router) -> None:
    router.adopt(plan())
    router._hand_overs.awaited = ((b"", CUT),)
    assert router.route([QueuedUrl(MINE)]) == []
    assert router.forward([QueuedUrl(MINE)]) == []
    router._hand_overs.awaited = ()
    assert router.forward([QueuedUrl(MINE)]) == [QueuedUrl(MINE)]


# -- the c-queue -------------------------------------------------------------------------------------------


def only(queue: CQueue) -> Link:
    ((_, block),) = queue.blocks(1)
    (link,) = block.links
    return link


@given(st.lists(st.tuples(st.sampled_from("ab"), links)))
def test_c_queue_keeps_all_weight_over_a_restart(sent: list[tuple[str, Link]]) -> None:
    queue = CQueue(Tolerance(urls=1))
    for each in sent[:3]:
        queue.add(*each)
    again = CQueue(Tolerance(urls=1))
    again.restore(queue.encode())
    for each in sent[3:]:
        again.add(*each)
    blocks = again.blocks(7)
    for owner in "ab":
        for url in (URL, SECOND):
            found = [link for to, block in blocks for link in block.links if (to, link.url) == (owner, url)]
            expected = [link for to, link in sent if (to, link.url) == (owner, url)]
            assert len(found) == bool(expected)
            assert sum(link.weight for link in found) == sum(link.weight for link in expected)
            real = [link.depth for link in expected if link.depth != GIFT]
            assert [link.depth for link in found] == [min(real, default=GIFT)] * bool(expected)
    assert all(len(block.links) == 1 for _, block in blocks)
    assert not again


def test_c_queue_prefers_the_parent_of_a_real_link() -> None:
    queue = CQueue(Tolerance())
    queue.add("a", Link(URL, 1.0, GIFT))
    queue.add("a", Link(URL, 0.5, 3, "http://p.example/"))
    queue.add("a", Link(URL, 0.25, GIFT))
    assert only(queue) == Link(URL, 1.75, 3, "http://p.example/")


def test_c_queue_is_due_by_pages_urls_time_or_want_of_work() -> None:
    queue = CQueue(Tolerance(pages=3, urls=2, seconds=10.0))
    assert not queue.tick(0.0, busy=False), "nothing to send"
    queue.add("a", Link(URL))
    assert queue.tick(0.0, busy=False)
    assert not queue.tick(9.0, busy=True)
    assert queue.tick(10.0, busy=True)
    queue.blocks(1)
    queue.add("a", Link(URL))
    assert not queue.tick(11.0, busy=True), "a new superstep has begun"
    for _ in range(3):
        queue.fetched()
    assert queue.tick(11.0, busy=True)
    queue.blocks(1)
    queue.add("a", Link(URL))
    queue.add("a", Link(SECOND))
    assert queue.tick(11.0, busy=True)


def test_c_queue_sends_with_every_checkpoint_unless_told_otherwise() -> None:
    queue = CQueue(Tolerance.of(TeamSettings()))
    queue.add("a", Link(URL))
    assert queue.tick(0.0, busy=True)
