"""Cho's Figure 4: how much of the web a team in firewall mode sees, by the number of gatherers.

As in the paper, each gatherer has five seeds, and coverage is a part of all pages. On a graph that is made of many
islands that measures the seeds, too. So the walls alone have columns of their own: there every n starts from the same
seeds (five for each gatherer of the largest team), and the coverage is a part of what one crawler reaches from them.
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
    "gatherer follows all others. Each has five seeds, and coverage is a part of all pages, as in the paper. Where a "
    "graph is made of islands that shows the seeds, too: the lines of the walls alone start every n from the same "
    "seeds, and take a part of what one crawler reaches from them."
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
    #: I / U: pages fetched behind walls, from five seeds for each gatherer, over all pages of the graph
    coverage: float
    #: the walls alone: over pages that one crawler reaches, from the same seeds
    coverage_walls: float | None = None
    #: the same on half of the sites, chosen at random (the dotted line)
    coverage_half: float | None = None
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
            shares = coverage(pages_each, graph.pages), coverage(pages, reachable), coverage(pages_half, reachable_half)
            found[n] += [*shares, pages, reachable]
    leaving = leaving_share(graph)
    return [
        CoverageRow(n, share, share_walls, share_half, len(seeds), pages, reachable, leaving)
        for n, sums in found.items()
        for share, share_walls, share_half, pages, reachable in [(sums / runs).tolist()]
    ]


def _half(graph: WebGraph, seed: int) -> WebGraph:
    sites = sites_of(graph)
    count = int(sites.max(initial=-1)) + 1
    kept = np.zeros(count, np.bool_)
    kept[np.random.default_rng(seed).permutation(count)[: (count + 1) // 2]] = True
    return graph.induced(kept[sites])


PAPER = (CoverageRow(1, 0.9), CoverageRow(4, 0.8), CoverageRow(16, 0.5), CoverageRow(64, 0.1))


def _walls(row: CoverageRow) -> float:
    return row.coverage_walls or 0.0


def charts(rows: Sequence[CoverageRow]) -> list[Chart]:
    drawn = [
        line(rows, "n", "coverage", "5 seeds each, of all pages"),
        line(rows, "n", "coverage_walls", "same seeds, of what one reaches"),
        line(rows, "n", "coverage_half", "the same, half of the sites"),
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
            ", ".join(f"{row.coverage:.3f} (n = {row.n})" for row in rows)
            + "; from the same seeds "
            + ", ".join(f"{_walls(row):.3f} (n = {row.n})" for row in rows),
            falls([*([1.0] if rows[0] is most else ()), *(row.coverage for row in rows)]),
            "more gatherers have more seeds, which helps where a graph is made of islands; "
            "how much walls cost depends on the links that leave a site: 1 in 10 in the paper's web, "
            f"{most.links_leaving:.1%} of them here, and on how often a site is linked from several others",
        ),
    ]
    if few:
        found.append(
            checked(
                f"up to {FEW} gatherers lose little",
                "10 % less than one",
                f"{1 - _walls(few):.1%} less at n = {few.n}, from the same seeds",
                _walls(few) >= 0.8,
                f"{most.links_leaving:.1%} of the links leave their site: too many pages have no other way to them",
            )
        )
    # one gatherer sees all that there is, of half a web too
    pairs = [(half, whole) for half in rows for whole in rows if whole.n == 2 * half.n > 2]
    if pairs:
        half, whole = max(pairs, key=lambda pair: abs((pair[0].coverage_half or 0) - _walls(pair[1])))
        far = abs((half.coverage_half or 0) - _walls(whole))
        found.append(
            checked(
                "a web of half the sites is covered as well by half the gatherers",
                "the dotted line is the solid one, shifted",
                f"at most {far:.2f} apart: {half.coverage_half or 0:.3f} of the half with {half.n}, "
                f"{_walls(whole):.3f} of the whole with {whole.n}",
                far <= 0.1,
                "half of the sites have lost their links to the other half, so a wall takes another share of what is "
                "left",
            )
        )
    return found


STUDY = Study("cho-coverage", TITLE, ABOUT, CoverageRow, run, charts, findings, PAPER, keys=("n",), by_sites=True)
