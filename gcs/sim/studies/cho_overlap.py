"""Cho's Figure 6: what a cross-over crawl fetches twice, by how much of the web it has covered.

Nobody tells anybody anything, so each gatherer is crawled alone, and the team is the sum of its members. A gatherer
fetches its own pages first; when it has none left, it fetches a block of those that it has found abroad, and looks for
pages of its own again.

A gatherer is as fast as its part is large, so that all run out of own pages at once: then nothing is fetched twice
before the firewall coverage is reached. In the columns `…_equal` all are equally fast, and owners of small parts go
abroad while others are still busy with their own pages.

Invariant: a gatherer fetches a page at most once; overlap is between gatherers only.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gcs.core.plan.metrics import coverage, overlap
from gcs.sim.engine.reach import FirstOf, fetched, reach
from gcs.sim.engine.sim_queue import Pages
from gcs.sim.graph.owners import page_owners, random_seeds
from gcs.sim.graph.web_graph import Ids, WebGraph
from gcs.sim.studies.study import Chart, ChartLine, Finding, Study, StudyRequest, Tick, lines

TITLE = "Overlap of a cross-over crawl (Cho, Figure 6)"
ABOUT = (
    "Pages are given to gatherers by the hash of their site, five seeds each; a gatherer that has run dry follows "
    "links abroad. Coverage is a part of what one crawler reaches from all the seeds."
)
Mask = NDArray[np.bool_]

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


@dataclass(frozen=True, slots=True)
class Alone:
    """The pages that one gatherer fetches, in its order, and how many of them before its first trip abroad."""

    pages: Pages = field(repr=False)
    at_home: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The downloads of a team up to some time."""

    time: float
    downloads: int
    unique: int

    @property
    def overlap(self) -> float:
        return overlap(self.downloads, self.unique)

    def coverage(self, reachable: int) -> float:
        return coverage(self.unique, reachable)


def alone(graph: WebGraph, mine: Mask, seeds: Ids, block: int = 1, first: FirstOf | None = None) -> Alone:
    """Crawl by one gatherer from its seeds; `mine` are its own pages, which it fetches first."""
    first = first or FirstOf(graph.pages)
    known = np.zeros(graph.pages, np.bool_)
    order: list[Pages] = []
    abroad: deque[Pages] = deque()
    home: Pages = seeds.astype(np.int32)
    known[home] = True
    at_home = -1
    while True:
        while len(home):
            order.append(home)
            home = _follow(graph, home, known, mine, abroad, first)
        if at_home < 0:
            at_home = sum(map(len, order))
        if not abroad:
            break
        trip = _take(abroad, block)
        order.append(trip)
        home = _follow(graph, trip, known, mine, abroad, first)
    return Alone(np.concatenate(order), at_home)


def _follow(graph: WebGraph, pages: Pages, known: Mask, mine: Mask, abroad: deque[Pages], first: FirstOf) -> Pages:
    """The links of the pages: new ones at home are returned, those abroad are queued, in the order of discovery."""
    home = []
    for batch in graph.batches(pages):
        _, targets = graph.links_of(batch)
        found = first.of(targets[~known[targets]])
        known[found] = True
        near = mine[found]
        home.append(found[near])
        if len(home[-1]) < len(found):
            abroad.append(found[~near])
    return home[0] if len(home) == 1 else np.concatenate(home)


def _take(queue: deque[Pages], count: int) -> Pages:
    """The first so many pages of the queue; fewer where there are fewer."""
    parts = []
    while queue and count:
        part = queue.popleft()
        if len(part) > count:
            queue.appendleft(part[count:])
            part = part[:count]
        parts.append(part)
        count -= len(part)
    return np.concatenate(parts)


class SimClock:
    """Adds up gatherers into a team, and tells how it stands at some moments that are fixed before."""

    def __init__(self, pages: int, times: Sequence[float]) -> None:
        self._times = times
        self._downloads = np.zeros(len(times), np.int64)
        #: the moment by which each page was fetched by anybody; the one after the last for those that never were
        self._fetched_by = np.full(pages, len(times), np.int16)

    def add(self, one: Alone, speed: float) -> None:
        """A gatherer that fetches `speed` pages per unit of time."""
        total = len(one.pages)
        upto = np.array([min(int(time * speed), total) for time in self._times])
        self._downloads += upto
        moment = np.repeat(np.arange(len(upto), dtype=np.int16), np.diff(upto, prepend=0))
        pages = one.pages[: len(moment)]
        self._fetched_by[pages] = np.minimum(self._fetched_by[pages], moment)

    def moments(self) -> list[Moment]:
        """The team at each moment, as long as anything happens."""
        unique = np.cumsum(np.bincount(self._fetched_by, minlength=len(self._times))[: len(self._times)])
        stands = zip(self._times, self._downloads.tolist(), unique.tolist())
        found = [Moment(time, downloads, pages) for time, downloads, pages in stands if pages]
        return [now for before, now in zip([None, *found], found) if not before or before.downloads < now.downloads]


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[OverlapRow]:
    """Cross-over crawls to the end."""
    ks = request.ks or KS
    block = max(int(graph.pages * TRIP), 1)
    rows: list[OverlapRow] = []
    first = FirstOf(graph.pages)
    done, work = 0, sum(ks)
    for n in ks:
        owners = page_owners(graph, "site-hash", n, request.seed)
        seeds = random_seeds(owners, [SEEDS_EACH] * n, np.random.default_rng(request.seed))
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
            figures = now.coverage(reachable), now.overlap, walls, now.downloads, now.unique
            rows.append(OverlapRow(n, *figures, twin.coverage(reachable), twin.overlap))
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
    paper = [ChartLine("Cho, 16", [0.5], [0.0], from_paper=True), ChartLine("Cho, 4", [1.0], [2.5], from_paper=True)]
    even = lines(rows, "n", "coverage", "overlap", "{} gatherers")
    equal = lines(rows, "n", "coverage_equal", "overlap_equal", "{} gatherers")
    return [
        Chart("Cross-over mode", "coverage", "overlap (N − I) / I", [*even, *paper]),
        Chart("Cross-over mode, equal speeds", "coverage", "overlap (N − I) / I", equal),
    ]


def findings(rows: Sequence[OverlapRow]) -> list[Finding]:
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


STUDY = Study("cho-overlap", TITLE, ABOUT, OverlapRow, run, charts, findings, PAPER, by_sites=True)
