"""Cho's Figure 8: URLs told per page when the most linked URLs are known everywhere."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.metrics import communication
from gcs.sim.engine.reach import most_linked, told
from gcs.sim.graph.owners import page_owners
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, line, lines

TITLE = "Replication of the most linked URLs (Cho, Figure 8)"
ABOUT = "As in cho-communication; the URLs with the most in-links in the whole graph are known to all and are not told."
KS = (2, 4, 8, 16, 32, 64)
REPLICATED = (0, 100, 1_000, 10_000, 50_000, 100_000, 200_000)


@dataclass(frozen=True, slots=True)
class ReplicationRow:
    """One team with one number of URLs that everybody knows."""

    n: int
    replicated: int
    urls_per_page: float
    #: part of what is told without replication that is saved
    saved: float | None = None
    #: URLs told per page, when a gatherer tells a URL only once besides
    urls_per_page_once: float | None = None


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[ReplicationRow]:
    """What is told of the most linked pages, taken away."""
    ks = request.ks or KS
    best = most_linked(graph)
    rows = []
    for place, n in enumerate(ks):
        tick(place / len(ks), f"{n} gatherers")
        found = told(graph, page_owners(graph, "site-hash", n, request.seed), n)
        links, tellers = (np.concatenate([[0], np.cumsum(counts[best])]) for counts in (found.links, found.tellers))
        for replicated in REPLICATED:
            if replicated <= graph.pages:
                left, left_once = (int(sums[-1] - sums[replicated]) for sums in (links, tellers))
                saved = 1 - left / int(links[-1]) if links[-1] else 0.0
                shares = communication(left, graph.pages), communication(left_once, graph.pages)
                rows.append(ReplicationRow(n, replicated, shares[0], saved, shares[1]))
    return rows


PAPER = (
    ReplicationRow(64, 0, 0.86, 0.0),
    ReplicationRow(64, 10_000, 0.52, 0.40),
    ReplicationRow(64, 100_000, 0.42, 0.51),
    ReplicationRow(64, 200_000, 0.40, 0.53),
)


def charts(rows: Sequence[ReplicationRow]) -> list[Chart]:
    shown = [row for row in rows if row.replicated]
    paper = [row for row in PAPER if row.replicated]
    drawn = [
        *lines(shown, "n", "replicated", "urls_per_page", "{} gatherers"),
        line(paper, "replicated", "urls_per_page", "Cho, 64", from_paper=True),
    ]
    return [Chart("Exchange mode with replication", "replicated URLs", "URLs told per page", drawn, log_x=True)]


def findings(rows: Sequence[ReplicationRow]) -> list[Finding]:
    most = [row for row in rows if row.n == max(row.n for row in rows)]
    at = {row.replicated: row for row in most}
    tenth = at.get(10_000, most[-1])
    last = most[-1]
    return [
        checked(
            "replicating the 10,000 most linked URLs saves much",
            "40 % (0.86 to 0.52 at n = 64)",
            f"{tenth.saved or 0:.0%} ({most[0].urls_per_page:.2f} to {tenth.urls_per_page:.2f} at n = {tenth.n}, "
            f"{tenth.replicated:,} URLs)",
            (tenth.saved or 0) >= 0.3,
            "there is nothing to save"
            if not most[0].urls_per_page
            else "links into other sites are spread over more pages than those",
        ),
        Finding(
            "replicating more saves little more",
            "51 % with 100,000, 53 % with 200,000 of 40 million",
            f"{last.saved or 0:.0%} with {last.replicated:,}",
            (last.saved or 0) - (tenth.saved or 0) < 0.3,
            "the same number is a larger part of a smaller graph",
        ),
    ]


STUDY = Study(
    "cho-replication",
    TITLE,
    ABOUT,
    ReplicationRow,
    run,
    charts,
    findings,
    PAPER,
    keys=("n", "replicated"),
    by_sites=True,
)
