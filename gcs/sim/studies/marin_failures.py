"""Marin's Figure 6: messages that come too late, by superstep.

A team crawls by OPIC from the home pages of all sites, R pages per superstep in all. A link into another's pages is
told at the end of the superstep; where the page has been fetched already, that is a failure: told in time, it might
have gone before others. The same can be said of links inside a part, which one crawler meets too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.sim.engine.supersteps import SteppedCrawl, SuperstepRules
from gcs.sim.graph.owners import page_owners, sites_of
from gcs.sim.graph.web_graph import Ids, WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, lines

TITLE = "Messages that come too late (Marin, Figure 6)"
ABOUT = (
    "OPIC from the home pages of all sites; links into another's pages are told at the end of each superstep. A "
    "failure is a link that is told of a page that has been fetched."
)
KS = (4, 8, 16, 32)
#: pages per superstep of the whole team, or else this part of the graph
R, PART = 12_000, 1 / 100
#: supersteps that are averaged into one row
AVERAGED = 10


@dataclass(frozen=True, slots=True)
class FailuresRow:
    """Ten supersteps of one team, averaged."""

    n: int
    #: the last of them
    superstep: int
    #: links told too late, and links inside a part that came too late, of all gatherers together
    failures: float
    failures_home: float
    #: links told, and pages fetched
    told: float
    pages: float


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[FailuresRow]:
    """Crawls of everything that can be reached from the home pages."""
    ks = request.ks or KS
    seeds = home_pages(graph)
    size = max(min(R, int(graph.pages * PART)), 1)
    rows = []
    for place, n in enumerate(ks):
        owners = page_owners(graph, "site-hash", n, request.seed)
        rules = SuperstepRules(owners, n, order="opic", pages_each=max(size // n, 1))
        figures: list[tuple[int, int, int, int]] = []
        done = 0
        for step in SteppedCrawl(graph, rules, seeds).steps():
            figures.append((step.late, step.late_inside, step.told_links, len(step.pages)))
            done += len(step.pages)
            tick((place + done / graph.pages) / len(ks), f"{n} gatherers, superstep {len(figures)}")
        for start in range(0, len(figures), AVERAGED):
            part = np.mean(figures[start : start + AVERAGED], axis=0).tolist()
            rows.append(FailuresRow(n, min(start + AVERAGED, len(figures)), *part))
    return rows


def home_pages(graph: WebGraph) -> Ids:
    """The first page of each site: in the order of URLs, its root."""
    return np.unique(sites_of(graph), return_index=True)[1]


def charts(rows: Sequence[FailuresRow]) -> list[Chart]:
    return [
        Chart(title, "superstep", "failures", lines(rows, "n", "superstep", field, "{} gatherers"))
        for title, field in (("Messages from others", "failures"), ("Links inside a part", "failures_home"))
    ]


def findings(rows: Sequence[FailuresRow]) -> list[Finding]:
    by_n = {n: [row for row in rows if row.n == n] for n in dict.fromkeys(row.n for row in rows)}
    least, most = by_n[min(by_n)], by_n[max(by_n)]
    early = [part[0].failures for part in (least, most)]
    ratios = {n: sum(r.failures for r in part) / max(sum(r.failures_home for r in part), 1) for n, part in by_n.items()}
    more = checked(
        "with more gatherers, more messages come late in the first supersteps",
        "most for P = 32",
        f"{early[0]:,.0f} (n = {least[0].n}), {early[1]:,.0f} (n = {most[0].n}) in each of the first {AVERAGED}",
        early[1] >= early[0],
        f"the first supersteps are short here ({least[0].pages:,.0f} and {most[0].pages:,.0f} pages): a gatherer "
        "whose sites are few and small has soon nothing to fetch",
    )
    return [
        *([more] if len(by_n) > 1 else []),
        Finding(
            "that is nothing beside what comes late inside the parts",
            "below 10 %",
            ", ".join(f"{ratio:.1%} (n = {n})" for n, ratio in ratios.items()),
            max(ratios.values()) < 0.1,
            "it follows the share of links that leave a site",
        ),
    ]


STUDY = Study("marin-failures", TITLE, ABOUT, FailuresRow, run, charts, findings, by_sites=True)
