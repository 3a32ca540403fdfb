"""A crawl by a team that the user puts together: what it covers, repeats, finds and tells, from its start to its end.

It is no experiment of a paper, and so no part of `all`: it is for one's own questions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.metrics import communication, coverage, imbalance, overlap, quality
from gcs.sim.engine.partitions import URL_BYTES
from gcs.sim.engine.sim_team import SimTeam, make_team
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, lines

KS = (4, 16, 64)
#: the first look is at this part of what can be reached, and each of the others when so many times as much is fetched
FIRST, GROWTH = 0.01, 1.25


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A team at one moment."""

    n: int
    supersteps: int
    #: N and I: pages fetched, and different ones
    downloads: int
    unique: int
    #: I / U, where U is what one crawler reaches from the same seeds; (N - I) / I
    coverage: float
    overlap: float
    #: part of the I truly most linked pages that was fetched
    quality: float
    #: [URL, worth] pairs told per page, and the bytes of their URLs
    urls_per_page: float
    bytes_per_page: float
    #: max/mean - 1 of what the gatherers have fetched, in pages and in bytes
    request_imbalance: float
    storage_imbalance: float
    #: links told per superstep of pages that were fetched already
    late: float


def run(graph: WebGraph, wish: StudyRequest, tick: Tick) -> list[TeamRow]:
    """One crawl for each number of gatherers."""
    ks = wish.ks or KS
    rows = []
    for place, k in enumerate(ks):
        tick(place / len(ks), f"{k} gatherers")
        rows += list(looks(make_team(graph, wish.setup, k, wish.seed)))
    return rows


def looks(team: SimTeam) -> Iterator[TeamRow]:
    """The team now and then, and at the end."""
    graph, k = team.graph, team.k
    importance = graph.in_degrees()
    sizes = np.ones(graph.pages, np.int64) if graph.sizes_bytes is None else graph.sizes_bytes
    lengths = np.array([len(url) for url in graph.urls]) if graph.urls else np.full(graph.pages, URL_BYTES)
    got = np.zeros(graph.pages, np.bool_)
    asked, stored = np.zeros(k, np.int64), np.zeros(k)
    supersteps = told = told_bytes = late = 0
    next_look = FIRST * team.reachable

    def look() -> TeamRow:
        downloads, unique = int(asked.sum()), int(got.sum())
        return TeamRow(
            k,
            supersteps,
            downloads,
            unique,
            coverage(unique, team.reachable),
            overlap(downloads, unique),
            quality(importance, np.flatnonzero(got)),
            communication(told, downloads),
            communication(told_bytes, downloads),
            imbalance(asked.astype(np.float64)),
            imbalance(stored),
            late / supersteps,
        )

    for turn in team.turns():
        supersteps += 1
        got[turn.pages] = True
        asked += np.bincount(turn.fetchers, minlength=k)
        stored += np.bincount(turn.fetchers, sizes[turn.pages], k)
        told += len(turn.told_pages)
        told_bytes += int(lengths[turn.told_pages].sum())
        late += turn.late
        looked = asked.sum() >= next_look
        if looked:
            yield look()
            next_look = GROWTH * float(asked.sum())
    if supersteps and not looked:
        yield look()


def charts(rows: Sequence[TeamRow]) -> list[Chart]:
    """What a team has, and what it costs."""
    pictures = (
        ("Coverage", "coverage", "coverage I / U"),
        ("Overlap", "overlap", "overlap (N − I) / I"),
        ("Quality", "quality", "part of the most linked pages"),
        ("Communication", "urls_per_page", "pairs told per page"),
    )
    return [
        Chart(title, "pages fetched", label, lines(rows, "n", "downloads", field, "{} gatherers"))
        for title, field, label in pictures
    ]


def findings(rows: Sequence[TeamRow]) -> list[Finding]:  # noqa: ARG001
    """It holds nothing against a paper."""
    return []


STUDY = Study(
    "run",
    "A team of your own",
    "A team of any make, looked at again and again until its crawl ends.",
    TeamRow,
    run,
    charts,
    findings,
)
