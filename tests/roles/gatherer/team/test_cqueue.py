"""The c-queue: links to one URL add up, and leave when the superstep is over."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.messages.tuples import Link
from gcs.core.ordering import GIFT
from gcs.core.plan.team_settings import TeamSettings
from gcs.roles.gatherer.team.router import CQueue, Tolerance

URL, OTHER = "http://a.example/", "http://a.example/b"
links = st.builds(Link, st.sampled_from([URL, OTHER]), st.integers(1, 9), st.integers(GIFT, 4), st.just("http://p/"))


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
        for url in (URL, OTHER):
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
    assert not queue.is_due(0.0, busy=False), "nothing to send"
    queue.add("a", Link(URL))
    assert queue.is_due(0.0, busy=False)
    assert not queue.is_due(9.0, busy=True)
    assert queue.is_due(10.0, busy=True)
    queue.blocks(1)
    queue.add("a", Link(URL))
    assert not queue.is_due(11.0, busy=True), "a new superstep has begun"
    for _ in range(3):
        queue.fetched()
    assert queue.is_due(11.0, busy=True)
    queue.blocks(1)
    queue.add("a", Link(URL))
    queue.add("a", Link(OTHER))
    assert queue.is_due(11.0, busy=True)


def test_c_queue_sends_with_every_checkpoint_unless_told_otherwise() -> None:
    queue = CQueue(Tolerance.of(TeamSettings()))
    queue.add("a", Link(URL))
    assert queue.is_due(0.0, busy=True)
