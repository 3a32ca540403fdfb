"""Cho's Figure 4: how much of the web a team in firewall mode sees, by the number of gatherers.

The walls are what is studied, so every n starts from the same seeds (five for each gatherer of the largest team), and
the coverage is a part of what one crawler reaches from them. The paper gives five seeds to each gatherer and counts all
pages of its collection: on a graph that is made of many islands that measures the seeds, so it has a column of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.metrics import coverage
from gcs.sim.engine.reach import fetched, reach
from gcs.sim.graph.owners import leaving_share, page_owners, random_seeds, sites_of
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, falls, line

TITLE = "Coverage of a firewall-mode crawl (Cho, Figure 4)"
ABOUT = (
    "Pages are given to gatherers by the hash of their site; links into another's sites are thrown away; every "
    "gatherer follows all others. Every n starts from the same seeds, and the coverage is a part of what one crawler "
    "reaches from them. The paper gives five seeds to each gatherer and counts all pages: a line of its own, which "
    "shows the seeds rather than the walls where a graph is made of islands."
)
SEEDS_EACH = 5
KS = (1, 2, 4, 8, 16, 32, 64)
RUNS = 3
#: gatherers that behind walls still see most of the web
FEW = 4


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One n, averaged over the runs."""

    n: int
    #: I / U: pages fetched behind walls over pages that one crawler reaches from the same seeds
    coverage: float
    #: the same on half of the sites, chosen at random (the dotted line)
    coverage_half: float | None = None
    #: five seeds for each gatherer, over all pages of the graph (as the paper has it)
    coverage_5_each: float | None = None
    seeds: int | None = None
    pages: float | None = None
    reachable: float | None = None
    #: part of the graph's links that lead to another site
    links_leaving: float = 0.1


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[CoverageRow]:
    """Firewall crawls of the whole graph, of half of its sites, and with the paper's seeds."""
    ks, runs = request.ks or KS, request.runs or RUNS
    half = _half(graph, request.seed)
    found = {n: np.zeros(5) for n in ks}
    for number in range(runs):
        chance = np.random.default_rng([request.seed, number])
        seeds = chance.choice(graph.pages, min(SEEDS_EACH * max(ks), graph.pages), replace=False)
        seeds_half = chance.choice(half.pages, min(SEEDS_EACH * max(ks), half.pages), replace=False)
        reachable, reachable_half = fetched(reach(graph, seeds)), fetched(reach(half, seeds_half))
        for place, n in enumerate(ks):
            tick((number + place / len(ks)) / runs, f"{n} gatherers, run {number + 1} of {runs}")
            owners = page_owners(graph, "site-hash", n, number)
            pages = fetched(reach(graph, seeds, owners))
            pages_half = fetched(reach(half, seeds_half, page_owners(half, "site-hash", n, number)))
            pages_each = fetched(reach(graph, random_seeds(owners, [SEEDS_EACH] * n, chance), owners))
            found[n] += [
                coverage(pages, reachable),
                coverage(pages_half, reachable_half),
                coverage(pages_each, graph.pages),
                pages,
                reachable,
            ]
    leaving = leaving_share(graph)
    return [
        CoverageRow(n, share, share_half, share_each, len(seeds), pages, reachable, leaving)
        for n, sums in found.items()
        for share, share_half, share_each, pages, reachable in [(sums / runs).tolist()]
    ]


def _half(graph: WebGraph, seed: int) -> WebGraph:
    sites = sites_of(graph)
    count = int(sites.max(initial=-1)) + 1
    kept = np.zeros(count, np.bool_)
    kept[np.random.default_rng(seed).permutation(count)[: (count + 1) // 2]] = True
    return graph.induced(kept[sites])


PAPER = (CoverageRow(1, 0.9), CoverageRow(4, 0.8), CoverageRow(16, 0.5), CoverageRow(64, 0.1))


def charts(rows: Sequence[CoverageRow]) -> list[Chart]:
    drawn = [
        line(rows, "n", "coverage", "same seeds"),
        line(rows, "n", "coverage_half", "half of the sites"),
        line(rows, "n", "coverage_5_each", "5 seeds each, of all pages"),
        line(PAPER, "n", "coverage", "Cho, 5 seeds each", from_paper=True),
    ]
    return [Chart("Firewall mode", "gatherers n", "coverage I / U", drawn, log_x=True)]


def findings(rows: Sequence[CoverageRow]) -> list[Finding]:
    most = rows[-1]
    if most.n == 1:
        return []
    few = max((row for row in rows if 1 < row.n <= FEW), key=lambda row: row.n, default=None)
    found = [
        Finding(
            "coverage falls as gatherers are added",
            "0.9 (n = 1) to below 0.1 (n = 64)",
            ", ".join(f"{row.coverage:.3f} (n = {row.n})" for row in rows),
            falls([1.0, *(row.coverage for row in rows if row.n > 1)]),
            "how far depends on the links that leave a site: 1 in 10 in the paper's web, "
            f"{most.links_leaving:.1%} of them here, and on how often a site is linked from several others",
        ),
    ]
    if few:
        found.append(
            checked(
                f"up to {FEW} gatherers lose little",
                "10 % less than one",
                f"{1 - few.coverage:.1%} less at n = {few.n}",
                few.coverage >= 0.8,
                f"{most.links_leaving:.1%} of the links leave their site: too many pages have no other way to them",
            )
        )
    # one gatherer sees all that there is, of half a web too
    pairs = [(half, whole) for half in rows for whole in rows if whole.n == 2 * half.n > 2]
    if pairs:
        half, whole = max(pairs, key=lambda pair: abs((pair[0].coverage_half or 0) - pair[1].coverage))
        far = abs((half.coverage_half or 0) - whole.coverage)
        found.append(
            checked(
                "a web of half the sites is covered as well by half the gatherers",
                "the dotted line is the solid one, shifted",
                f"at most {far:.2f} apart: {half.coverage_half or 0:.3f} of the half with {half.n}, "
                f"{whole.coverage:.3f} of the whole with {whole.n}",
                far <= 0.1,
                "half of the sites have lost their links to the other half, so a wall takes another share of what is "
                "left",
            )
        )
    return found


STUDY = Study("cho-coverage", TITLE, ABOUT, CoverageRow, run, charts, findings, PAPER, keys=("n",))
