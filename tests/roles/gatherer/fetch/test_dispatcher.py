"""The dispatcher: when a request starts, between a real frontier and a clock that the test sets."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from gcs.core.messages.tuples import BusyNote, HostState
from gcs.core.page.values import Request, Response
from gcs.core.polite.politeness import Politeness
from gcs.core.polite.window import Window
from gcs.core.report.counters import Counters
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import host_key
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher, DispatcherParts, PageVisit, RobotsVisit
from gcs.roles.gatherer.fetch.robots_cache import RobotsCache

PAGE = "http://example.com/page"


class Engine:
    def __init__(self) -> None:
        self.started: list[str] = []

    def start(self, request: Request) -> None:
        self.started.append(request.url)


def test_dispatcher_keeps_the_crawl_delay_after_a_restart(tmp_path: Path) -> None:
    """The host may have been asked just before the restart; its robots.txt is on disk."""
    rules, engine = Politeness(delay_s=1.0), Engine()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    robots = RobotsCache(rules, "gcs", frontier.note, frontier.set_note)
    robots.answered("http://example.com", 200, b"User-agent: *\nCrawl-delay: 10", 90.0)
    window: Window[QueuedUrl] = Window(rules, not_before=100.0)
    fetcher: Any = engine
    dispatcher = Dispatcher(DispatcherParts(frontier, FrontierSettings(), window, robots, fetcher, Counters()))
    dispatcher.queued(frontier.insert([QueuedUrl(PAGE)]))
    for now, started in ((100.0, []), (101.0, []), (109.9, []), (110.0, [PAGE])):
        dispatcher.fill(now, 1)
        dispatcher.dispatch(now, 1)
        assert engine.started == started
    frontier.close()


@pytest.mark.parametrize(("doubted", "ip", "pause_s"), [(False, "10.0.0.1", 3.2), (True, "", 4.0)])
def test_dispatcher_keeps_the_delay_of_a_host_whatever_an_untrusted_helper_reports(
    tmp_path: Path, doubted: bool, ip: str, pause_s: float
) -> None:
    """The status and the address that an untrusted helper reports do not change the delay of a host."""
    rules = Politeness(delay_s=1.0)
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    window: Window[QueuedUrl] = Window(rules)
    robots = RobotsCache(rules, "gcs", frontier.note, frontier.set_note)
    fetcher: Any = Engine()
    dispatcher = Dispatcher(DispatcherParts(frontier, FrontierSettings(), window, robots, fetcher, Counters()))
    host = window.host("example.com")
    host.pace.adaptive_s = 4.0  # the host was overloaded
    window.begin(host, 100.0)
    answer = Response(Request(PAGE), 200, "OK", "1.1", (), b"", b"", b"", "10.0.0.1", 100.0, 0.1, "somebody")
    dispatcher.page_ended(PageVisit(host, QueuedUrl(PAGE), doubted=doubted), answer, 101.0)
    assert (host.ip, host.pace.adaptive_s, host.pace.next_at) == (ip, pause_s, 101.0 + pause_s)
    frontier.close()


def test_dispatcher_waits_when_another_owner_of_a_host_is_told_to_wait(tmp_path: Path) -> None:
    """A 503 with Retry-After: `on_busy` is called, and a dispatcher that gets the note starts nothing until then."""
    rules, engine = Politeness(delay_s=1.0, robots=False), Engine()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    window: Window[QueuedUrl] = Window(rules)
    robots = RobotsCache(rules, "gcs", frontier.note, frontier.set_note)
    fetcher: Any = engine
    told: list[tuple[str, float]] = []
    dispatcher = Dispatcher(
        DispatcherParts(
            frontier, FrontierSettings(), window, robots, fetcher, Counters(), on_busy=lambda *what: told.append(what)
        )
    )
    host = window.host("other.com")
    for status, headers in ((200, ()), (503, (("Retry-After", "40"),))):
        window.begin(host, 100.0)
        answer = Response(Request(PAGE), status, "", "1.1", headers, b"", b"", b"", "10.0.0.1", 100.0, 0.1)
        dispatcher.page_ended(PageVisit(host, QueuedUrl(PAGE)), answer, 101.0)
    assert told == [("other.com", 40.0)]
    dispatcher.queued(frontier.insert([QueuedUrl(PAGE)]))
    dispatcher.take_note(BusyNote("example.com", 40.0), 100.0)
    for now, started in ((139.9, []), (140.0, [PAGE])):
        dispatcher.fill(now, 1)
        dispatcher.dispatch(now, 1)
        assert engine.started == started
    frontier.close()


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    "headers",
    [
        (("Retry-After", "3600"),),
        (("Date", "Thu, 01 Jan 1970 00:00:00 GMT"), ("Retry-After", "Thu, 01 Jan 1970 01:00:00 GMT")),
    ],
)
def test_an_overloaded_robots_txt_means_what_an_overloaded_page_means(
    tmp_path: Path, status: int, headers: tuple[tuple[str, str], ...]
) -> None:
    """The host is left alone for as long as it asks, its delay grows, and the other owners are told."""
    rules, engine = Politeness(delay_s=1.0, robots_tries=3), Engine()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    window: Window[QueuedUrl] = Window(rules)
    robots = RobotsCache(rules, "gcs", frontier.note, frontier.set_note)
    fetcher: Any = engine
    told: list[tuple[str, float]] = []
    dispatcher = Dispatcher(
        DispatcherParts(
            frontier, FrontierSettings(), window, robots, fetcher, Counters(), on_busy=lambda *what: told.append(what)
        )
    )
    dispatcher.queued(frontier.insert([QueuedUrl(PAGE)]))

    def turn(now: float) -> list[str]:
        dispatcher.fill(now, 1)
        dispatcher.dispatch(now, 1)
        return engine.started

    robots_txt = "http://example.com/robots.txt"
    assert turn(100.0) == [robots_txt]
    host = window.hosts["example.com"]
    answer = Response(Request(robots_txt), status, "", "1.1", headers, b"", b"", b"", "10.0.0.1", 100.0, 0.1)
    assert dispatcher.robots_answered(RobotsVisit(host, "http://example.com", 0), answer, None, 100.0) is None
    assert told == [("example.com", 3_600.0)] and host.pace.adaptive_s == 2.0
    assert turn(3_699.0) == [robots_txt] and turn(3_700.0) == [robots_txt] * 2
    good = msgspec.structs.replace(answer, status=200, headers=())
    assert dispatcher.robots_answered(RobotsVisit(host, "http://example.com", 0), good, None, 3_700.0)
    assert turn(3_701.0)[2:] == [], "the delay has grown"
    assert turn(3_702.0)[2:] == [PAGE]
    frontier.close()


def test_dispatcher_takes_over_what_a_host_is_owed_from_an_owner_whose_clock_is_wrong(tmp_path: Path) -> None:
    """Hand-overs tell for how long to wait. What no delay can have caused is cut, what is owed at least is waited."""
    rules, engine = Politeness(delay_s=1.0, robots=False, max_pause_s=50.0), Engine()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    fetcher: Any = engine

    def dispatcher() -> Dispatcher:
        robots = RobotsCache(rules, "gcs", frontier.note, frontier.set_note)
        return Dispatcher(DispatcherParts(frontier, FrontierSettings(), Window(rules), robots, fetcher, Counters()))

    loser, winner, now = dispatcher(), dispatcher(), 1_000.0
    for ahead_s in (3_600.0, -600.0):
        loser.rest([PAGE], now + ahead_s + 7.0)
        [state] = loser.host_states(now + ahead_s)
        winner.take_over([state], now)
        assert winner.free_in("example.com", now) == pytest.approx(7.0)
        loser, winner = dispatcher(), dispatcher()
    for wait_s, waited_s in ((1e9, 60.0), (0.0, 1.0)):
        winner = dispatcher()
        winner.take_over([HostState(host_key("example.com"), wait_s=wait_s)], now)
        assert winner.free_in("example.com", now) == pytest.approx(waited_s)
    frontier.close()


def test_robots_txt_of_a_disk_is_believed_no_longer_than_a_new_one(tmp_path: Path) -> None:
    """It was stored by a clock that was a year ahead."""
    rules = Politeness(robots_cache_s=100.0)
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    RobotsCache(rules, "gcs", frontier.note, frontier.set_note).answered("http://a.org", 200, b"", 1e9)
    robots = RobotsCache(rules, "gcs", frontier.note, frontier.set_note)
    assert robots.rules("http://a.org", 50.0) is not None
    assert robots.rules("http://a.org", 149.0) is not None
    assert robots.rules("http://a.org", 151.0) is None
    frontier.close()
