"""Cho's Figures 9 to 11: quality and communication of an exchange-mode crawl, by how often the gatherers exchange.

Pages with the most back-links go first, as far as their owner knows them. A crawl fetches 1.2, 5 or 20 % of the web
(what can be reached from the seeds, the same for every n) in supersteps, and exchanges x times on the way, never
(x = 0, firewall), or after every superstep. A gatherer is as fast as its part is large, as in cho-overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.metrics import communication, quality
from gcs.sim.graph import Ids, WebGraph
from gcs.sim.owners import page_owners
from gcs.sim.reach import NEVER, reach
from gcs.sim.studies.study import Chart, Finding, Line, Study, Tick, Wish, falls
from gcs.sim.supersteps import Crawl, Rules

SEEDS = 320
KS = (2, 8, 32, 64)
#: parts of the web that are fetched: Figures 9, 10 and 11
SHARES = (0.012, 0.05, 0.2)
EXCHANGES = (0, 1, 2, 4, 10, 20, 50, 99)
#: supersteps of a crawl: as often at most can it exchange
SUPERSTEPS = 256


@dataclass(frozen=True, slots=True)
class QualityRow:
    """One team, one share of the web, one number of exchanges."""

    n: int
    #: part of the web that is fetched
    share: float
    #: exchanges on the way; that of every superstep is the most there can be
    exchanges: int
    #: part of the truly most linked pages that is among those fetched
    quality: float
    #: [URL, back-link count] pairs told per page
    urls_per_page: float | None = None
    #: quality of one gatherer with the same seeds
    quality_single: float | None = None


def run(graph: WebGraph, wish: Wish, tick: Tick) -> list[QualityRow]:
    """Crawls by back-links of the part of the graph that can be reached."""
    web, seeds = _web(graph, wish.seed)
    importance = web.in_degrees()
    ks = wish.ks or KS
    rows = []
    cases = len(SHARES) * len(ks)
    for place, share in enumerate(SHARES):
        most = max(int(share * web.pages), 1)
        best, _ = _crawl(web, importance, seeds, 1, most, SUPERSTEPS, wish.seed)
        for number, n in enumerate(ks):
            for step, exchanges in enumerate((*EXCHANGES, SUPERSTEPS)):
                done = place * len(ks) + number + step / (len(EXCHANGES) + 1)
                tick(done / cases, f"{share:.1%} of the web, {n} gatherers, {exchanges} exchanges")
                reached, told = _crawl(web, importance, seeds, n, most, exchanges, wish.seed)
                rows.append(QualityRow(n, share, exchanges, reached, told, best))
    return rows


def _web(graph: WebGraph, seed: int) -> tuple[WebGraph, Ids]:
    """What can be reached from some random seeds, and the seeds in it."""
    seeds = np.random.default_rng(seed).choice(graph.pages, min(SEEDS, graph.pages), replace=False)
    reached = reach(graph, seeds) != NEVER
    return graph.induced(reached), (np.cumsum(reached) - 1)[seeds]


def _crawl(
    web: WebGraph, importance: Ids, seeds: Ids, n: int, most: int, exchanges: int, seed: int
) -> tuple[float, float]:
    """Quality of a crawl, and what it tells per page."""
    owners = page_owners(web, "site-hash", n, seed)
    rules = Rules(
        owners,
        n,
        "exchange" if exchanges else "firewall",
        "backlink",
        most / (n * SUPERSTEPS),
        np.bincount(owners, minlength=n).astype(np.float64),
        max(SUPERSTEPS // (exchanges + 1), 1),
    )
    steps = list(Crawl(web, rules, seeds).steps(most))
    pages = np.concatenate([step.pages for step in steps])
    return quality(importance, pages, most), communication(sum(step.told for step in steps), len(pages))


#: the ends of Figure 9 (a): what two and 64 gatherers reach without a word
PAPER = (QualityRow(2, 0.012, 0, 0.12), QualityRow(64, 0.012, 0, 0.025), QualityRow(8, 0.2, 10, 0.0, 0.17))


def charts(rows: Sequence[QualityRow]) -> list[Chart]:
    """Figures 9, 10 and 11: quality above, communication beside it."""
    drawn = []
    for share in dict.fromkeys(row.share for row in rows):
        here = [row for row in rows if row.share == share]
        quality_lines = [
            Line(f"{n} gatherers", [row.exchanges for row in part], [row.quality for row in part])
            for n in dict.fromkeys(row.n for row in here)
            for part in [[row for row in here if row.n == n]]
        ]
        drawn.append(Chart(f"{share:.1%} of the web fetched", "exchanges x", "quality", quality_lines, log_x=True))
    last = [row for row in rows if row.share == rows[-1].share]
    told = [
        Line(f"{n} gatherers", [row.exchanges for row in part], [row.urls_per_page or 0 for row in part])
        for n in dict.fromkeys(row.n for row in last)
        for part in [[row for row in last if row.n == n]]
    ]
    return [*drawn, Chart(f"{last[0].share:.1%} fetched", "exchanges x", "pairs told per page", told, log_x=True)]


def findings(rows: Sequence[QualityRow]) -> list[Finding]:
    """What the paper says of Figures 9 to 11."""
    small = [row for row in rows if row.share == rows[0].share]
    large = [row for row in rows if row.share == rows[-1].share]
    never = [row for row in small if row.exchanges == 0]
    often = [row for row in rows if row.exchanges == max(x for x in EXCHANGES)]
    gaps = [(row.quality_single or 0) - row.quality for row in often]
    loss_small, loss_large = (
        max((row.quality_single or 0) - row.quality for row in part if row.exchanges == 0) for part in (small, large)
    )
    most = max(row.n for row in rows)
    told = {row.exchanges: row.urls_per_page or 0 for row in large if row.n == most}
    few, many = told[min(x for x in told if x)], told[max(told)]
    return [
        Finding(
            "fewer than 100 exchanges reach the quality of one crawler",
            "in all cases",
            f"with {often[0].exchanges} exchanges at most {max(gaps):.3f} below it, over {len(often)} cases",
            max(gaps) <= 0.01,
        ),
        Finding(
            "without exchanges, more gatherers do worse",
            "0.12 (n = 2), 0.025 (n = 64) at 1.2 % of the web",
            ", ".join(f"{row.quality:.3f} (n = {row.n})" for row in never),
            falls([row.quality for row in never], 0.005) or never[-1].quality < never[0].quality,
            f"one crawler has {never[0].quality_single or 0:.3f}; where few links leave a site, an owner knows most "
            "back-links of its pages by itself",
        ),
        Finding(
            "silence costs less when much of the web is fetched",
            "large at 1.2 and 5 %, small at 20 %, none beyond 50 %",
            f"{loss_small:.3f} at {small[0].share:.1%}, {loss_large:.3f} at {large[0].share:.1%}",
            loss_large <= loss_small + 0.005,
        ),
        Finding(
            "communication does not grow in proportion to the exchanges",
            "the curves bend: a URL is told once in each batch",
            f"{many / few if few else 0:.1f} times the pairs for {max(told)} exchanges instead of "
            f"{min(x for x in told if x)} (n = {most})",
            many <= few * max(told) / 4 if few else True,
        ),
    ]


STUDY = Study(
    "cho-quality",
    "Quality and batch communication (Cho, Figures 9–11)",
    "The pages with the most back-links known to their owner go first; the gatherers tell one another [URL, count] "
    "pairs x times in a crawl. Quality is the part of the truly most linked pages that was fetched.",
    QualityRow,
    run,
    charts,
    findings,
    PAPER,
)
