"""The dispatcher: when a request starts, between a real frontier and a clock that the test sets."""

from pathlib import Path
from typing import Any

import pytest

from gcs.core.messages.tuples import BusyNote
from gcs.core.page.values import Request, Response
from gcs.core.polite.politeness import Politeness
from gcs.core.polite.window import Window
from gcs.core.report.counters import Counters
from gcs.ports.frontier import Entry, Frontier, FrontierSettings
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher, DispatcherParts, PageVisit
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
    window: Window[Entry] = Window(rules, not_before=100.0)
    fetcher: Any = engine
    dispatcher = Dispatcher(DispatcherParts(frontier, FrontierSettings(), window, robots, fetcher, Counters()))
    dispatcher.queued(frontier.insert([Entry(PAGE)]))
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
    window: Window[Entry] = Window(rules)
    robots = RobotsCache(rules, "gcs", frontier.note, frontier.set_note)
    fetcher: Any = Engine()
    dispatcher = Dispatcher(DispatcherParts(frontier, FrontierSettings(), window, robots, fetcher, Counters()))
    host = window.host("example.com")
    host.pace.adaptive_s = 4.0  # the host was overloaded
    window.begin(host, 100.0)
    answer = Response(Request(PAGE), 200, "OK", "1.1", (), b"", b"", b"", "10.0.0.1", 100.0, 0.1, "somebody")
    dispatcher.page_ended(PageVisit(host, Entry(PAGE), doubted=doubted), answer, 101.0)
    assert (host.ip, host.pace.adaptive_s, host.pace.next_at) == (ip, pause_s, 101.0 + pause_s)
    frontier.close()


def test_dispatcher_waits_when_another_owner_of_a_host_is_told_to_wait(tmp_path: Path) -> None:
    """A 503 with Retry-After: `on_busy` is called, and a dispatcher that gets the note starts nothing until then."""
    rules, engine = Politeness(delay_s=1.0, robots=False), Engine()
    frontier = Frontier(tmp_path, FrontierSettings(fsync=False))
    window: Window[Entry] = Window(rules)
    robots = RobotsCache(rules, "gcs", frontier.note, frontier.set_note)
    fetcher: Any = engine
    told: list[tuple[str, float, float]] = []
    dispatcher = Dispatcher(
        DispatcherParts(
            frontier, FrontierSettings(), window, robots, fetcher, Counters(), on_busy=lambda *what: told.append(what)
        )
    )
    host = window.host("other.com")
    for status, headers in ((200, ()), (503, (("Retry-After", "40"),))):
        window.begin(host, 100.0)
        answer = Response(Request(PAGE), status, "", "1.1", headers, b"", b"", b"", "10.0.0.1", 100.0, 0.1)
        dispatcher.page_ended(PageVisit(host, Entry(PAGE)), answer, 101.0)
    assert told == [("other.com", 141.0, 101.0)]
    dispatcher.queued(frontier.insert([Entry(PAGE)]))
    dispatcher.take_note(BusyNote("example.com", 140.0), 100.0)
    for now, started in ((139.9, []), (140.0, [PAGE])):
        dispatcher.fill(now, 1)
        dispatcher.dispatch(now, 1)
        assert engine.started == started
    frontier.close()
