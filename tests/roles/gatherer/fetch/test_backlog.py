"""The backlog: the count of each host follows what is queued, taken, put back and retried, on a real frontier."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.core.polite.politeness import Politeness
from gcs.core.polite.window import Window
from gcs.core.report.counters import Counters
from gcs.core.report.workload import SlowHost
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier import Frontier, FrontierSettings, Mark
from gcs.roles.gatherer.fetch.backlog import NAMED, SlowHosts
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher, DispatcherParts
from gcs.roles.gatherer.fetch.robots_cache import RobotsCache
from tests.roles.gatherer.fetch.test_dispatcher import Engine

LIMITS = FrontierSettings(fsync=False, host_window_urls=4, window_urls=100)


class Desk:
    """A dispatcher whose hosts have a delay of one second."""

    def __init__(self, directory: Path, delay_s: float = 1.0) -> None:
        rules = Politeness(delay_s=delay_s, robots=False)
        self.frontier, self.engine = Frontier(directory, LIMITS), Engine()
        self.window: Window[QueuedUrl] = Window(rules)
        fetcher: Any = self.engine
        robots = RobotsCache(rules, "gcs", self.frontier.note, self.frontier.set_note)
        self.dispatcher = Dispatcher(DispatcherParts(self.frontier, LIMITS, self.window, robots, fetcher, Counters()))

    def queue(self, host: str, *numbers: int) -> None:
        urls = [QueuedUrl(f"http://{host}/{number}") for number in numbers]
        self.dispatcher.queued(self.frontier.insert(urls))

    def turn(self, now: float) -> None:
        self.dispatcher.fill(now, 9)
        self.dispatcher.dispatch(now, 9)

    def look(self, now: float = 0.0) -> SlowHosts:
        return self.dispatcher.backlog.slow_hosts(now)

    def counts(self) -> dict[str, int]:
        return {host.host: host.queued for host in self.look().named}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.frontier.close()


def test_backlog_counts_what_waits_in_the_window_on_disk_and_in_flight(desk: Desk) -> None:
    desk.queue("a.example", *range(10))
    desk.queue("b.example", 1)
    assert desk.counts() == {"a.example": 10, "b.example": 1}
    desk.turn(1.0)
    assert len(desk.engine.started) == 2
    assert desk.counts() == {"a.example": 10, "b.example": 1}, "what is in flight is not done"
    desk.queue("a.example", *range(8, 13))
    assert desk.counts() == {"a.example": 13, "b.example": 1}
    assert desk.look().urls == desk.frontier.queued()


def test_backlog_follows_a_host_to_its_end(desk: Desk) -> None:
    desk.queue("a.example", *range(11))
    done: list[str] = []
    for now in range(1, 40):
        desk.turn(float(now))
        for url in desk.engine.started[len(done) :]:
            done.append(url)
            host = desk.window.hosts["a.example"]
            desk.window.ended(host, float(now))
            desk.frontier.finish(url, Mark.DONE)
            assert desk.look().urls == desk.frontier.queued()
    assert len(done) == 11 and desk.counts() == {}


def test_backlog_is_counted_anew_when_the_plan_has_changed(desk: Desk) -> None:
    desk.queue("a.example", *range(10))
    desk.turn(1.0)
    desk.look()
    desk.dispatcher.put_back()
    desk.turn(1.0)
    assert desk.look().urls == desk.frontier.queued() == 10


def test_backlog_names_the_slowest_hosts_and_counts_those_like_it(desk: Desk) -> None:
    for number, urls in enumerate((20, 19, 18, 12, 3)):
        desk.queue(f"h{number}.example", *range(urls))
    desk.window.host("h4.example").pace.crawl_delay_s = 10.0
    found = desk.look()
    assert [host.host for host in found.named] == ["h4.example", "h0.example", "h1.example"]
    assert (len(found.named), found.count, found.urls) == (NAMED, 4, 72)
    assert found.named[0] == SlowHost("h4.example", 3, 10.0, "crawl-delay 10", 0.0)
    assert found.named[1].cause == "--delay 1"


def test_backlog_knows_a_host_that_asked_to_be_left_alone(desk: Desk) -> None:
    desk.queue("a.example", 1)
    pace = desk.window.host("a.example").pace
    pace.adaptive_s, pace.next_at = 4.0, 130.0
    assert desk.look(100.0).named == [SlowHost("a.example", 1, 4.0, "overloaded", 30.0)]


def test_backlog_does_not_look_at_hosts_without_a_delay(tmp_path: Path) -> None:
    desk = Desk(tmp_path, delay_s=0.0)
    desk.queue("a.example", *range(10))
    assert desk.look() == SlowHosts()
    desk.frontier.close()
