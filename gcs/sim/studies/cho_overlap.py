"""Cho's Figure 6: what a cross-over crawl fetches twice, by how much of the web it has covered.

A gatherer is as fast as its part is large, so that all run dry at once: then nothing is fetched twice before the
firewall coverage is reached. In the columns `…_equal` all are equally fast, and owners of small parts go abroad while
others are still busy at home.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.metrics import coverage
from gcs.sim.engine.crossover import SimClock, alone
from gcs.sim.engine.reach import FirstOf, fetched, reach
from gcs.sim.graph.owners import page_owners, random_seeds
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, ChartLine, Finding, Study, StudyRequest, Tick, lines

SEEDS_EACH = 5
KS = (2, 4, 8, 16, 32, 64)
#: moments before all have run dry, and after
BEFORE, AFTER = 10, 60
#: a trip abroad is this part of all pages
TRIP = 1 / 200


@dataclass(frozen=True, slots=True)
class OverlapRow:
    """A team at one moment."""

    n: int
    coverage: float
    overlap: float
    #: the coverage that it has when all have run dry at home
    firewall_coverage: float | None = None
    downloads: int | None = None
    unique: int | None = None
    #: at about as many downloads, with gatherers of equal speed
    coverage_equal: float | None = None
    overlap_equal: float | None = None


def run(graph: WebGraph, wish: StudyRequest, tick: Tick) -> list[OverlapRow]:
    """Cross-over crawls to the end."""
    ks = wish.ks or KS
    block = max(int(graph.pages * TRIP), 1)
    rows: list[OverlapRow] = []
    first = FirstOf(graph.pages)
    done, work = 0, sum(ks)
    for n in ks:
        owners = page_owners(graph, "site-hash", n, wish.seed)
        seeds = random_seeds(owners, [SEEDS_EACH] * n, np.random.default_rng(wish.seed))
        reachable = fetched(reach(graph, seeds))
        even, equal = _clocks(graph.pages)
        for me in range(n):
            tick(done / work, f"{n} gatherers, the {me + 1}. of them")
            done += 1
            own = seeds[owners[seeds] == me]
            if len(own):
                one = alone(graph, owners == me, own, block, first)
                even.add(one, one.at_home)
                equal.add(one, 1.0)
        walls = coverage(fetched(reach(graph, seeds, owners)), reachable)
        twins = equal.moments()
        for now in even.moments():
            twin = min(twins, key=lambda other: abs(other.downloads - now.downloads))
            rows.append(
                OverlapRow(
                    n,
                    now.coverage(reachable),
                    now.overlap,
                    walls,
                    now.downloads,
                    now.unique,
                    twin.coverage(reachable),
                    twin.overlap,
                )
            )
    return rows


def _clocks(pages: int) -> tuple[SimClock, SimClock]:
    """One for speeds by size, where all have run dry at 1.0, and one for a page per unit of time."""
    before = [(step + 1) / BEFORE for step in range(BEFORE)]
    growth = max(pages, 2) ** (1 / AFTER)
    after = [growth ** (step + 1) for step in range(AFTER)]
    return SimClock(pages, [*before, *after]), SimClock(pages, after)


#: at the end of the curves; that of n = 16 is 0 up to its firewall coverage
PAPER = (OverlapRow(16, 0.5, 0.0), OverlapRow(4, 1.0, 2.5))


def charts(rows: Sequence[OverlapRow]) -> list[Chart]:
    """Figure 6, and the same at equal speeds."""
    paper = [ChartLine("Cho, 16", [0.5], [0.0], from_paper=True), ChartLine("Cho, 4", [1.0], [2.5], from_paper=True)]
    even = lines(rows, "n", "coverage", "overlap", "{} gatherers")
    equal = lines(rows, "n", "coverage_equal", "overlap_equal", "{} gatherers")
    return [
        Chart("Cross-over mode", "coverage", "overlap (N − I) / I", [*even, *paper]),
        Chart("Cross-over mode, equal speeds", "coverage", "overlap (N − I) / I", equal),
    ]


def findings(rows: Sequence[OverlapRow]) -> list[Finding]:
    """What the paper says of Figure 6."""
    ends = {row.n: row for row in rows}
    behind = [row for row in rows if row.coverage < (row.firewall_coverage or 0)]
    least, most = ends[min(ends)], ends[max(ends)]
    early = [row for row in rows if (row.coverage_equal or 0) < (row.firewall_coverage or 0)]
    worst = max((row.overlap_equal or 0 for row in early), default=0.0)
    return [
        Finding(
            "nothing is fetched twice until the firewall coverage is reached",
            "0 up to 0.5 (n = 16)",
            f"at most {max((row.overlap for row in behind), default=0.0):.3f} before, in {len(behind)} looks; "
            f"{worst:.3f} where all are equally fast",
            all(row.overlap == 0 for row in behind),
        ),
        Finding(
            "full coverage is paid with overlap, the more the more gatherers there are",
            "2.5 at n = 4",
            f"{least.overlap:.2f} at n = {least.n}, {most.overlap:.2f} at n = {most.n}",
            most.overlap >= least.overlap > 0,
            "at most n - 1, where everybody reaches everything; less where seeds lie on different islands",
        ),
    ]


STUDY = Study(
    "cho-overlap",
    "Overlap of a cross-over crawl (Cho, Figure 6)",
    "Pages are given to gatherers by the hash of their site, five seeds each; a gatherer that has run dry follows "
    "links abroad. Coverage is a part of what one crawler reaches from all the seeds.",
    OverlapRow,
    run,
    charts,
    findings,
    PAPER,
)
