"""Cho's Figure 7: URLs told per page in exchange mode, by the number of gatherers and the partition function."""

from collections.abc import Sequence
from dataclasses import dataclass

from gcs.core.plan.metrics import communication
from gcs.sim.engine.reach import told
from gcs.sim.graph.owners import page_owners
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, line, lines, rises

TITLE = "URLs told per page in exchange mode (Cho, Figure 7)"
ABOUT = "The whole graph is crawled; every link into another's pages is told to the owner."
KS = (2, 4, 8, 16, 32, 64)
PARTITIONERS = ("site-hash", "url-hash")


@dataclass(frozen=True, slots=True)
class CommunicationRow:
    """One team under one partition function."""

    n: int
    partitioner: str
    #: URLs told per page fetched, when every link is told at once
    urls_per_page: float
    #: the same, when a gatherer tells a URL only once (the c-hit table of the live crawl)
    urls_per_page_once: float | None = None


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[CommunicationRow]:
    """Crossing links of the whole graph."""
    rows = []
    cases = [(n, name) for name in PARTITIONERS for n in request.ks or KS]
    for place, (n, name) in enumerate(cases):
        tick(place / len(cases), f"{n} gatherers, {name}")
        found = told(graph, page_owners(graph, name, n, request.seed), n)
        shares = (communication(int(counts.sum()), graph.pages) for counts in (found.links, found.tellers))
        rows.append(CommunicationRow(n, name, *shares))
    return rows


PAPER = (
    CommunicationRow(2, "site-hash", 0.4),
    CommunicationRow(16, "site-hash", 0.8),
    CommunicationRow(64, "site-hash", 0.86),
    CommunicationRow(2, "url-hash", 5.0),
)


def charts(rows: Sequence[CommunicationRow]) -> list[Chart]:
    paper = [row for row in PAPER if row.partitioner == "site-hash"]
    by_site = [row for row in rows if row.partitioner == "site-hash"]
    drawn = [
        *lines(rows, "partitioner", "n", "urls_per_page"),
        line(by_site, "n", "urls_per_page_once", "site-hash, each URL once"),
        line(paper, "n", "urls_per_page", "Cho, site-hash", from_paper=True),
    ]
    return [Chart("Exchange mode", "gatherers n", "URLs told per page", drawn, log_x=True, log_y=True)]


def findings(rows: Sequence[CommunicationRow]) -> list[Finding]:
    site = [row for row in rows if row.partitioner == "site-hash"]
    whole = [row for row in rows if row.partitioner == "url-hash"]
    by_site, by_url = site[0].urls_per_page, whole[0].urls_per_page
    once = site[-1].urls_per_page_once or 0
    grows = Finding(
        "more gatherers tell one another more",
        "0.4 URLs a page (n = 2), 0.8 (n = 16)",
        f"{site[0].urls_per_page:.2f} (n = {site[0].n}) to {site[-1].urls_per_page:.2f} (n = {site[-1].n})",
        rises([row.urls_per_page for row in site]),
        "the level is that of the links that leave a site: one per page in the paper's web",
    )
    return [
        *([grows] if len(site) > 1 else []),
        checked(
            "the hash of the site tells far less than that of the URL",
            "0.4 against 5 (n = 2): 12 times",
            f"{by_site:.2g} against {by_url:.2g} (n = {site[0].n})"
            + (f": {by_url / by_site:,.0f} times" if by_site else ""),
            by_url > 2 * by_site,
            f"of {by_url:.2g} links a page between the two, {by_site:.2g} leave their site here: a site keeps few to "
            "itself",
        ),
        checked(
            "a URL is told again for every link to it",
            "(the paper keeps no list of what was told)",
            f"told once by each gatherer: {once:.3f} a page at n = {site[-1].n}, "
            f"{1 - once / site[-1].urls_per_page if site[-1].urls_per_page else 0:.0%} less",
            once < site[-1].urls_per_page,
            "there is nothing to tell, or no URL is found twice by the same gatherer",
        ),
    ]


STUDY = Study(
    "cho-communication",
    TITLE,
    ABOUT,
    CommunicationRow,
    run,
    charts,
    findings,
    PAPER,
    keys=("n", "partitioner"),
    by_sites=True,
)
