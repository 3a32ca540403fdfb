"""The simulated clock: times worked out by hand, politeness whatever happens, and the plans of a live leader."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.plan.team_settings import TeamSettings
from gcs.core.polite.politeness import Politeness
from gcs.core.polite.window import Window
from gcs.sim.engine.timed_crawl import (
    ALONE_END_S,
    ALONE_START_S,
    REQUEST_S,
    TEAM_END_S,
    TEAM_START_S,
    TimedCrawl,
)
from gcs.sim.engine.timed_web import CrawlPace, TimedWeb
from gcs.sim.graph.graph_files import from_crawl

TEAM = TeamSettings()
NO_ROBOTS = {"robots": False}


def star(*sizes):
    """Hosts of so many pages; the first page of each links to all others of its host, the very first to all hosts."""
    urls = [
        [f"http://h{host}.example/d{page % 20:02}/{page}" for page in range(size)] for host, size in enumerate(sizes)
    ]
    homes = [pages[0] for pages in urls]
    rows = [(page, 1, pages if page == pages[0] else ()) for pages in urls for page in pages]
    rows[0] = (rows[0][0], 1, [*rows[0][2], *homes])
    return TimedWeb.of(from_crawl("star", rows))


def pace(delay_s=0.0, latency_s=0.0, cpu_s=0.0, cores=4, **rules):
    return CrawlPace(Politeness(delay_s=delay_s, **(NO_ROBOTS | rules)), latency_s, {}, cpu_s, 0.0, cores)


def seconds(web, given, gatherers=1):
    return TimedCrawl(web, given, gatherers, TEAM).run()


def test_one_polite_host_takes_its_delay_and_its_answers():
    alone = seconds(star(20), pace(delay_s=0.5, latency_s=0.1, cpu_s=0.01, robots=True))
    request_s = REQUEST_S + 0.1
    assert alone == pytest.approx(ALONE_START_S + request_s + 20 * (0.5 + request_s + 0.01) + ALONE_END_S)
    team = seconds(star(20), pace(delay_s=0.5, latency_s=0.1, cpu_s=0.01, robots=True), 4)
    assert team - alone == pytest.approx(TEAM_START_S - ALONE_START_S + TEAM_END_S - ALONE_END_S)


def test_answers_are_waited_for_over_all_connections():
    """One page, and then eight at a time."""
    found = seconds(star(1 + 8 * 25), pace(latency_s=0.1))
    assert found == pytest.approx(ALONE_START_S + 26 * (REQUEST_S + 0.1) + ALONE_END_S)


def test_hosts_answer_each_in_its_own_time():
    slow = CrawlPace(Politeness(delay_s=1.0, robots=False), 0.1, {b"example\x00h1": 2.0}, 0.0, 0.0, 1)
    # the page of the first host that names the others; then five pages of the slow host
    assert seconds(star(5, 5), slow) == pytest.approx(
        ALONE_START_S + 0.1 + REQUEST_S + 5 * (2.0 + REQUEST_S) + 4 * 1.0 + ALONE_END_S
    )


@pytest.mark.parametrize(("gatherers", "cores", "times"), [(2, 1, 1.0), (2, 2, 2.0), (8, 4, 4.0)])
def test_cpu_is_shared_by_cores(gatherers, cores, times):
    """With so much CPU per page, starting and sharing do not count."""
    web = star(*[100] * 32)
    alone = seconds(web, pace(cpu_s=0.2, cores=cores))
    assert alone / seconds(web, pace(cpu_s=0.2, cores=cores), gatherers) == pytest.approx(times, rel=0.1)


def test_latency_is_shared_by_gatherers():
    web = star(4000)
    assert seconds(web, pace(latency_s=0.2)) / seconds(web, pace(latency_s=0.2), 4) > 3.2


def test_team_leaves_a_host_whole_that_its_delay_limits():
    """As the live leader does: the same giant has several owners where there is no delay."""
    web = star(600, *[60] * 150)

    def owners(given):
        crawl = TimedCrawl(web, given, 4, TEAM)
        crawl.run()
        assert crawl.plan.epoch > 1, "the team was rebalanced"
        return {crawl.plan.owner_of(key) for key in web.keys if b"h0\x00" in key}

    assert len(owners(pace(delay_s=0.02, latency_s=0.05))) == 1
    assert len(owners(pace(latency_s=0.05))) > 1


def test_nothing_moves_while_the_slowest_host_decides():
    crawl = TimedCrawl(star(1500, *[30] * 20), pace(delay_s=1.0, latency_s=0.5), 4, TEAM)
    crawl.run()
    assert crawl.plan.epoch == 1


@given(st.lists(st.integers(1, 120), min_size=1, max_size=8), st.sampled_from([0.004, 0.02, 0.3]), st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_every_page_is_asked_for_once_and_never_too_early(sizes, delay_s, gatherers):
    web, begun = star(*sizes), []

    class Watched(Window):
        def begin(self, host, now):
            begun.append((host.name, now))
            super().begin(host, now)

    crawl = TimedCrawl(web, pace(delay_s, 0.01, 0.001, robots=True), gatherers, TEAM)
    for gatherer in crawl._gatherers:
        gatherer.window.__class__ = Watched
    crawl.run()
    assert len(begun) == sum(sizes) + len(sizes), "each page, and each robots.txt"
    for host in {name for name, _ in begun}:
        moments = sorted(now for name, now in begun if name == host)
        assert np.diff(moments).min(initial=np.inf) >= delay_s - 1e-9


def test_pages_that_no_link_leads_to_are_seeds():
    lonely = from_crawl("x", [("http://a.example/", 1, ()), ("http://b.example/", 1, ["http://c.example/"]),
                              ("http://c.example/", 1, ()), ("http://d.example/", 1, ["http://e.example/"]),
                              ("http://e.example/", 1, ["http://d.example/"])])  # fmt: skip
    assert TimedWeb.of(lonely).seeds.tolist() == [0, 1, 3]
