"""Whether a team pays: what a crawl takes 1, 2, 4 and 8 gatherers, and what limits it.

The crawl is simulated against the clock (`engine.timed_crawl`) with the politeness, the plans and the triggers of a
live crawl, start-up and hand-overs included. Beside the simulated time stand three bounds, none of which a crawl can
beat: the slowest host at its delay, the answers over all connections, and the CPU over all cores.

This study repeats no experiment of a paper and is not part of `all`: it answers a question of the user.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.team_settings import TeamSettings
from gcs.core.polite.politeness import Politeness
from gcs.core.url.sortkey import host_key, host_name
from gcs.errors import UsageError
from gcs.sim.engine.timed_crawl import ALONE_END_S, ALONE_START_S, TEAM_END_S, TEAM_START_S, TimedCrawl
from gcs.sim.engine.timed_web import CrawlPace, TimedWeb
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, Study, StudyRequest, Tick, line

TITLE = "Whether a team pays"
ABOUT = (
    "A crawl from its command to its end, simulated for teams of several sizes with the politeness, plans and triggers "
    "of a live crawl. Start-up and hand-overs take what was measured on live teams."
)
KS = (1, 2, 4, 8)
#: gatherers of a team, at most: each has a table of all pages
MOST = 256
#: what can limit a crawl
POLITENESS, LATENCY, CPU, OVERHEAD, LINKS = "politeness", "latency", "CPU", "start and end", "finding pages"
#: a team pays if it is so many times as fast; a larger one, if it is so many times as fast as the one before
PAYS, PAYS_MORE = 1.2, 1.1


@dataclass(frozen=True, slots=True)
class TeamTimesRow:
    """A team of one size."""

    n: int
    #: from the command to its end, and how many times as fast as one gatherer
    seconds: float
    times_one: float
    limited_by: str
    #: the least that politeness allows: the host with most to wait for, its pages, and the seconds between two of them
    polite_s: float
    slowest_host: str
    host_pages: int
    page_s: float
    #: the least that the answers take over all connections, and the pages over all cores
    latency_s: float
    cpu_s: float
    cores: int
    #: of `seconds`, what starting and ending take
    overhead_s: float


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[TeamTimesRow]:
    """One crawl for each number of gatherers, and always one by a single gatherer."""
    number = {url: page for page, url in enumerate(graph.urls)} if request.seen.seeds else {}
    web = TimedWeb.of(graph, [number[url] for url in request.seen.seeds if url in number] or [0])
    pace = pace_of(request)
    ks = sorted({1, *(request.ks or KS)})
    if ks[-1] > MOST:
        raise UsageError(f"{ks[-1]:,} gatherers: this study has room for {MOST}")
    rows: list[TeamTimesRow] = []
    for place, n in enumerate(ks):

        def step(share: float, place: int = place, n: int = n) -> None:
            tick((place + share) / len(ks), f"{n} gatherers")

        seconds = TimedCrawl(web, pace, n, TeamSettings()).run(step)
        rows.append(row_of(web, pace, n, seconds, rows[0].seconds if rows else seconds))
    return rows


def pace_of(request: StudyRequest) -> CrawlPace:
    """What the user, or the crawl, says of the times."""
    times = request.times
    return CrawlPace(
        Politeness(delay_s=times.delay_s, host_connections=times.host_connections),
        times.latency_s,
        {host_key(host): seconds for host, seconds in request.seen.latencies_s},
        times.cpu_per_page_s,
        request.costs.team_cpu_s,
        times.cores,
        times.connections,
    )


def row_of(web: TimedWeb, pace: CrawlPace, n: int, seconds: float, alone_s: float) -> TeamTimesRow:
    """The simulated time of a team beside the bounds."""
    rules = pace.politeness
    pages = np.bincount(web.host_of, minlength=len(web.hosts))
    latencies = np.array([pace.latencies_s.get(host, pace.latency_s) for host in web.hosts])
    slowest = int((pages * (rules.delay_s + latencies)).argmax())
    page_s = float(rules.delay_s + latencies[slowest])
    at_one_host = 0.0 if rules.delay_s else float((pages * latencies).max()) / (rules.host_connections * n)
    bounds = {
        POLITENESS: float(pages[slowest]) * page_s if rules.delay_s else 0.0,
        LATENCY: max(at_one_host, float((pages * latencies).sum()) / (pace.connections * n)),
        CPU: web.graph.pages * pace.page_cpu_s / min(n, pace.cores),
        OVERHEAD: TEAM_START_S + TEAM_END_S if n > 1 else ALONE_START_S + ALONE_END_S,
    }
    most = max(bounds, key=lambda each: bounds[each])
    return TeamTimesRow(
        n,
        round(seconds, 2),
        round(alone_s / seconds, 2),
        most if bounds[most] >= seconds / 2 else LINKS,
        round(bounds[POLITENESS], 2),
        host_name(web.hosts[slowest]),
        int(pages[slowest]),
        round(page_s, 3),
        round(bounds[LATENCY], 2),
        round(bounds[CPU], 2),
        pace.cores,
        round(bounds[OVERHEAD], 2),
    )


def advice(rows: Sequence[TeamTimesRow]) -> str:
    """Whether a team pays, how large it should be, and why."""
    one, best = rows[0], rows[0]
    for row in rows[1:]:
        if row.times_one >= PAYS and best.seconds >= PAYS_MORE * row.seconds:
            best = row
    if best is not one:
        return (
            f"a team pays: {best.n} gatherers take {_time(best.seconds)}, one takes {_time(one.seconds)} "
            f"({best.times_one:.1f} times as fast); then {_limit(best)}"
        )
    fastest = min(rows[1:], key=lambda row: row.seconds, default=one)
    if fastest.limited_by in (POLITENESS, CPU):
        return f"a team does not pay: {_limit(fastest)}"
    return (
        f"a team does not pay: one gatherer is done in {_time(one.seconds)}, and {fastest.n} take "
        f"{_time(fastest.seconds)}, because {_limit(fastest)}"
    )


def _limit(row: TeamTimesRow) -> str:
    match row.limited_by:
        case "politeness":
            return f"the host {row.slowest_host} needs {_time(row.polite_s)} at {row.page_s:g} s a page"
        case "latency":
            return f"waiting for answers takes {_time(row.latency_s)}"
        case "CPU":
            return f"the pages need {_time(row.cpu_s)} of CPU on {min(row.n, row.cores)} of {row.cores} cores"
    if row.overhead_s > row.seconds / 4:
        return f"starting and ending alone take {_time(row.overhead_s)}"
    return "most pages are not known before others are fetched"


def _time(seconds: float) -> str:
    return (
        f"{seconds:,.1f} s" if seconds < 100 else f"{seconds:,.0f} s" if seconds < 7200 else f"{seconds / 3600:,.1f} h"
    )


def charts(rows: Sequence[TeamTimesRow]) -> list[Chart]:
    bounds = [
        line(rows, "n", "polite_s", "politeness"),
        line(rows, "n", "latency_s", "latency"),
        line(rows, "n", "cpu_s", "CPU"),
    ]
    return [Chart("Time of the crawl", "gatherers n", "seconds", [line(rows, "n", "seconds", "simulated"), *bounds])]


STUDY = Study("teams", TITLE, ABOUT, TeamTimesRow, run, charts, advice=advice)
