"""Ranges that change their owner, between a real frontier and a real dispatcher."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.core.messages.tuples import HandOver
from gcs.core.page.values import Failure, FailureKind, Request
from gcs.core.plan.keyspace import Keyspace
from gcs.core.plan.next_plan import recovered
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.polite.politeness import Politeness
from gcs.core.polite.window import Window
from gcs.core.report.counters import Counters, Traffic
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import LAST_KEY, sort_key
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.system.tasks import BackgroundTasks
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher, DispatcherParts, PageVisit
from gcs.roles.gatherer.fetch.robots_cache import RobotsCache
from gcs.roles.gatherer.membership import GathererPort, MemberContext
from gcs.roles.gatherer.record.recrawl import Recrawl
from gcs.roles.gatherer.team.block_exchange import BlockExchange
from gcs.roles.gatherer.team.ownership import Ownership
from gcs.roles.gatherer.team.whiteboard import Whiteboard

MINE = Plan(1, ("a", "b"), (b"",), (0,), lost=((b"", LAST_KEY),))
THEIRS = Plan(2, ("a", "b"), (b"",), (1,))
PAGES = [f"http://example.com/{number}" for number in range(3)]
RULES = Politeness(delay_s=0.0, robots=False)


class Engine:
    """Starts requests, and lets the test say how they end."""

    def __init__(self) -> None:
        self.started: list[Request] = []

    def start(self, request: Request) -> None:
        self.started.append(request)


class Gatherer:
    """A gatherer as far as ownership needs one."""

    def __init__(self, directory: Path, rules: Politeness = RULES) -> None:
        self.frontier = Frontier(directory, FrontierSettings(fsync=False))
        self.engine: Any = Engine()
        robots = RobotsCache(rules, "gcs", self.frontier.note, self.frontier.set_note)
        window: Window[QueuedUrl] = Window(rules)
        self.dispatcher = Dispatcher(
            DispatcherParts(self.frontier, FrontierSettings(), window, robots, self.engine, Counters())
        )
        context = MemberContext("a", MemorySpace(MemoryBoard(), "a"), TeamSettings(), self.frontier)
        self.admission = admission = _Admission()
        nothing: Any = None
        port = GathererPort(
            self.dispatcher,
            admission,  # type: ignore[arg-type]
            Traffic(),
            Recrawl(self.frontier, lambda _: iter(())),
            lambda: None,
            *[nothing] * 5,
        )
        tasks = BackgroundTasks(port.request_turn)
        self.exchange = BlockExchange(context, port.traffic, Whiteboard(context, nothing, tasks), tasks)
        self.ownership = Ownership(context, port, self.exchange, lambda: iter(()))
        self.ownership.restore(None)
        self.plan: Plan | None = None

    def adopt(self, plan: Plan) -> None:
        old, self.plan = self.plan, plan
        self.ownership.adopt(old, plan)

    def turn(self, now: float, room: int) -> None:
        """What a turn does: ownership first, then the window is filled and requests start."""
        assert self.plan
        self.ownership.step(self.plan, now)
        self.dispatcher.fill(now, room)
        self.dispatcher.dispatch(now, room)

    def sent(self) -> list[HandOver]:
        return [item for _, _, item in self.exchange._uncommitted if isinstance(item, HandOver)]

    def fails(self, request: Request, now: float) -> None:
        """The request ends without an answer, and has to be made again."""
        visit = request.tag
        assert isinstance(visit, PageVisit)
        self.dispatcher.page_ended(visit, Failure(request, FailureKind.CONNECT, "", now, 0.0), now)
        self.dispatcher.queue_again(visit.entry)


class _Admission:
    seeds: tuple[str, ...] = ()

    def wanted(self, urls: list[str], _depth: int) -> list[str]:
        return urls


def test_seeds_in_lost_ranges_are_queued_by_who_has_never_had_a_plan(gatherer: "Gatherer") -> None:
    """The whiteboard may have forgotten the tuple that brought them, together with the first plan."""
    gatherer.admission.seeds = (PAGES[0], "http://other.example/")
    halves = Plan(5, ("a", "b"), (b"", sort_key("http://other.example/")), (0, 1), lost=((b"", LAST_KEY),))
    found = gatherer.ownership.adopt(None, halves)
    assert [entry.url for entry in found] == [PAGES[0]], "the other seed is for b to queue"


@pytest.fixture
def gatherer(tmp_path: Path) -> Iterator[Gatherer]:
    gatherer = Gatherer(tmp_path)
    yield gatherer
    gatherer.frontier.close()


def test_ownership_hands_over_a_page_that_was_in_flight_and_clears_the_window(gatherer: Gatherer) -> None:
    gatherer.adopt(MINE)
    gatherer.frontier.insert([QueuedUrl(url) for url in PAGES])
    gatherer.dispatcher.queued([QueuedUrl(url) for url in PAGES])
    gatherer.turn(1.0, room=1)
    (flying,) = gatherer.engine.started
    gatherer.adopt(THEIRS)
    gatherer.turn(2.0, room=0)
    (part,) = gatherer.sent()
    assert {each.url for each in part.queued} == set(PAGES) - {flying.url} and not part.last
    gatherer.fails(flying, 3.0)
    gatherer.dispatcher.fill(3.0, room=1)
    assert gatherer.dispatcher.has_waiting, "the page is in the window again"
    gatherer.turn(4.0, room=1)
    *_, last = gatherer.sent()
    assert [each.url for each in last.queued] == [flying.url] and last.last
    assert not gatherer.dispatcher.has_waiting and gatherer.engine.started == [flying], (
        "another gatherer owns the page now"
    )
    assert gatherer.frontier.queued() == 0 and gatherer.frontier.mark(flying.url) is None
    assert gatherer.ownership.is_settled


@pytest.mark.parametrize("keyspace", Keyspace)
def test_ownership_posts_again_what_was_posted_to_an_owner_that_is_lost(gatherer: Gatherer, keyspace: Keyspace) -> None:
    """In every key space."""
    # in a hashed key space it gets the hashes below the keys themselves
    before = Plan(1, ("a", "b"), (b"", b"z" if keyspace is Keyspace.TREE else b"com"), (1, 0), keyspace=keyspace)
    links = [QueuedUrl(url, PAGES[0], 1, 1) for url in PAGES if before.owner_of(sort_key(url)) == "b"]
    assert links
    for plan, owner in ((before, "b"), (recovered(before, ("c",), {"b"}, committed=True), "c")):
        gatherer.adopt(plan)
        for _ in range(2):
            gatherer.ownership.router.route(links)
        ((to, block),) = gatherer.ownership.router.close_blocks()
        assert (to, [link.url for link in block.links]) == (owner, [link.url for link in links])


def test_host_that_a_ghost_hands_over_begins_with_a_pause(tmp_path: Path) -> None:
    """The dead gatherer may have asked the host just before it died, and nobody knows when that was."""
    gatherer = Gatherer(tmp_path, Politeness(delay_s=30.0, robots=False))
    gatherer.adopt(Plan(1, ("b",), (b"",), (0,)))
    gatherer.adopt(plan := Plan(2, ("a",), (b"",), (0,)))
    gatherer.ownership.accept(HandOver(2, b"", LAST_KEY, True, [QueuedUrl(PAGES[0])]), plan, now=100.0)
    gatherer.frontier.insert(entries := gatherer.ownership.step(plan, 100.0))
    gatherer.dispatcher.queued(entries)
    for now, started in ((100.0, 0), (129.0, 0), (130.0, 1)):
        gatherer.turn(now, room=1)
        assert len(gatherer.engine.started) == started
    gatherer.frontier.close()


def test_range_is_not_closed_while_a_page_of_it_is_in_flight(gatherer: Gatherer) -> None:
    gatherer.adopt(MINE)
    gatherer.frontier.insert([QueuedUrl(url) for url in PAGES])
    gatherer.dispatcher.queued([QueuedUrl(url) for url in PAGES])
    gatherer.turn(1.0, room=2)
    first, second = gatherer.engine.started
    half = Plan(2, ("a", "b"), (b"", sort_key(first.url), sort_key(first.url) + b"\x00"), (0, 1, 0))
    gatherer.adopt(half)
    for now in (2.0, 3.0):
        gatherer.turn(now, room=0)
        assert gatherer.sent() == [] and not gatherer.ownership.is_settled
    gatherer.fails(second, 4.0)  # not in the range that is lost
    gatherer.turn(4.0, room=0)
    assert gatherer.sent() == []
    gatherer.fails(first, 5.0)
    gatherer.turn(5.0, room=0)
    (part,) = gatherer.sent()
    assert [each.url for each in part.queued] == [first.url] and part.last
    gatherer.turn(6.0, room=9)
    assert {request.url for request in gatherer.engine.started[2:]} == set(PAGES) - {first.url}
