"""Cho's Figures 9 to 11: quality and communication of an exchange-mode crawl, by how often the gatherers exchange.

Pages with the most back-links go first, as far as their owner knows them. A crawl fetches 1.2, 5 or 20 % of the web
(what can be reached from the seeds, the same for every n) in supersteps, and exchanges x times on the way, never
(x = 0, firewall), or after every superstep. A gatherer is as fast as its part is large, as in cho-overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.metrics import communication, quality
from gcs.sim.engine.reach import NEVER, reach
from gcs.sim.engine.spread import spread
from gcs.sim.engine.supersteps import SteppedCrawl, SuperstepRules
from gcs.sim.graph.owners import Owners, page_owners
from gcs.sim.graph.web_graph import Ids, Pages, WebGraph
from gcs.sim.studies.study import Chart, ChartLine, Finding, Study, StudyRequest, Tick, checked, lines

TITLE = "Quality and batch communication (Cho, Figures 9–11)"
ABOUT = (
    "The pages with the most back-links known to their owner go first; the gatherers tell one another [URL, count] "
    "pairs x times in a crawl. Quality is the part of the truly most linked pages that was fetched, averaged over "
    "four draws of seeds."
)
SEEDS = 320
KS = (2, 8, 32, 64)
#: parts of the web that are fetched: Figures 9, 10 and 11
SHARES = (0.012, 0.05, 0.2)
EXCHANGES = (0, 1, 2, 4, 10, 20, 50, 99)
#: draws of seeds and hash functions, which are averaged
RUNS = 4
#: supersteps of a crawl: as often at most can it exchange
SUPERSTEPS = 256
#: qualities that differ by no more are taken for the same
SAME = 0.01


@dataclass(frozen=True, slots=True)
class BatchQualityRow:
    """One team, one share of the web, one number of exchanges, averaged over the runs."""

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


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[BatchQualityRow]:
    """Crawls by back-links of the part of the graph that can be reached, several times from other seeds."""
    ks, runs = request.ks or KS, request.runs or RUNS
    cases = [(n, share, x) for share in SHARES for n in ks for x in (*EXCHANGES, SUPERSTEPS)]
    tick(0, f"{runs} times {len(cases)} crawls")
    found = []
    for number, figures in enumerate(spread(lambda run: _once(graph, cases, request.seed + run), range(runs)), 1):
        tick(number / runs, f"run {number} of {runs}")
        found.append(figures)
    return [BatchQualityRow(*case, *figures) for case, figures in zip(cases, np.mean(found, axis=0).tolist())]


def _once(graph: WebGraph, cases: Sequence[tuple[int, float, int]], seed: int) -> list[tuple[float, float, float]]:
    """Quality, pairs told per page and the quality of one gatherer, in every case."""
    seeds = np.random.default_rng(seed).choice(graph.pages, min(SEEDS, graph.pages), replace=False)
    reached = reach(graph, seeds) != NEVER
    web, seeds = graph.induced(reached), (np.cumsum(reached) - 1)[seeds]
    importance = web.in_degrees()
    found, single = [], {}
    for n, share, exchanges in cases:
        most = max(int(share * web.pages), 1)
        if share not in single:
            pages, _ = _crawl(web, seeds, np.zeros(web.pages, np.int16), 1, most, SUPERSTEPS)
            single[share] = quality(importance, pages, most)
        pages, told = _crawl(web, seeds, page_owners(web, "site-hash", n, seed), n, most, exchanges)
        found.append((quality(importance, pages, most), told, single[share]))
    return found


def _crawl(web: WebGraph, seeds: Ids, owners: Owners, n: int, most: int, exchanges: int) -> tuple[Pages, float]:
    """The pages that a team fetches, and the pairs that it tells per page."""
    rules = SuperstepRules(
        owners,
        n,
        "exchange" if exchanges else "firewall",
        "backlink",
        most / (n * SUPERSTEPS),
        np.bincount(owners, minlength=n).astype(np.float64),
        max(SUPERSTEPS // (exchanges + 1), 1),
    )
    steps = list(SteppedCrawl(web, rules, seeds).steps(most))
    pages = np.concatenate([step.pages for step in steps])
    return pages, communication(sum(step.told for step in steps), len(pages))


#: the ends of Figure 9 (a): what two and 64 gatherers reach without a word
PAPER = (BatchQualityRow(2, 0.012, 0, 0.12), BatchQualityRow(64, 0.012, 0, 0.025))


def charts(rows: Sequence[BatchQualityRow]) -> list[Chart]:
    drawn = []
    for share in dict.fromkeys(row.share for row in rows):
        here = [row for row in rows if row.share == share]
        ends = sorted({row.exchanges for row in here})[:: len({row.exchanges for row in here}) - 1]
        single = ChartLine("one crawler", ends, [here[0].quality_single or 0] * len(ends), from_paper=True)
        quality_lines = [*lines(here, "n", "exchanges", "quality", "{} gatherers"), single]
        drawn.append(Chart(f"{share:.1%} of the web fetched", "exchanges x", "quality", quality_lines, log_x=True))
    told = lines(here, "n", "exchanges", "urls_per_page", "{} gatherers")
    return [*drawn, Chart(f"{share:.1%} of the web fetched", "exchanges x", "pairs told per page", told, log_x=True)]


def findings(rows: Sequence[BatchQualityRow]) -> list[Finding]:
    often, always = max(EXCHANGES), max(row.exchanges for row in rows)
    at = {(row.share, row.n, row.exchanges): row for row in rows}
    teams = list(dict.fromkeys((row.share, row.n) for row in rows))
    below = {team: (at[*team, often].quality_single or 0) - at[*team, often].quality for team in teams}
    worst = max(teams, key=lambda team: below[team])
    above = max(0.0, -min(below.values()))
    # the same quality as one crawler: neither below nor above
    is_same = max(map(abs, below.values())) <= SAME
    missing = at[*worst, always].quality - at[*worst, often].quality
    enough = min(
        x
        for x in dict.fromkeys(row.exchanges for row in rows)
        if all(at[*team, always].quality - at[*team, x].quality <= SAME for team in teams)
    )
    silence = {team: at[*team, always].quality - at[*team, 0].quality for team in teams}
    small, large = ([team for team in teams if team[0] == share] for share in (teams[0][0], teams[-1][0]))
    lost_small, lost_large = (
        max(silence[team] / max(at[*team, always].quality, 1e-9) for team in part) for part in (small, large)
    )
    told = {x: at[*teams[-1], x].urls_per_page or 0 for x in (min(x for x in EXCHANGES if x), always)}
    few, many = told.values()
    like_paper = at.get((0.2, 8, 10))
    example = f"; {like_paper.urls_per_page or 0:.2f} as in the paper's example" if like_paper else ""
    suffers = Finding(
        "without exchanges, quality suffers, the more so the more gatherers there are",
        "0.12 (n = 2), 0.025 (n = 64) at 1.2 % of the web",
        ", ".join(f"{at[*team, 0].quality:.3f} (n = {team[1]})" for team in small)
        + "; below the same team that exchanges always by "
        + ", ".join(f"{silence[team]:.3f}" for team in small),
        silence[small[-1]] >= silence[small[0]] > 0 and at[*small[-1], 0].quality < at[*small[0], 0].quality,
        f"one crawler has {at[*small[0], 0].quality_single or 0:.3f}. Where most links stay in their site, an "
        "owner knows the back-links of its pages by itself, and many owners are at work on more sites at once, "
        "which is good for quality",
    )
    return [
        Finding(
            "fewer than 100 exchanges reach the quality of one crawler",
            "in all cases",
            f"with {often} exchanges at most {max(below[worst], 0.0):.3f} below it and {above:.3f} above it, over "
            f"{len(teams)} cases",
            is_same,
            ""
            if is_same
            else "teams are better than one crawler: many owners are at work on many sites at once, and the order "
            "of one is no oracle"
            if below[worst] <= SAME
            else f"not for want of words: an exchange after every superstep adds {missing:.3f} there (n = {worst[1]}, "
            f"{worst[0]:.1%} of the web). One crawler spends its pages where the most links are, a team in all its "
            "parts",
        ),
        checked(
            "more exchanges are of no use",
            "the curves are flat from 100 on",
            f"from {enough} exchanges on all are within {SAME} of an exchange after each of {always} supersteps",
            enough <= often,
            "where a crawl fetches few pages, each of them is a larger part of the quality than that",
        ),
        *([suffers] if len(small) > 1 else []),
        checked(
            "silence costs less when much of the web is fetched",
            "large at 1.2 and 5 %, small at 20 %, none beyond 50 %",
            f"{lost_small:.0%} of the quality at {small[0][0]:.1%}, {lost_large:.0%} at {large[0][0]:.1%}",
            lost_large <= lost_small,
            "behind walls a crawl runs out of the best pages that it knows: the more it fetches, the more it misses "
            "those that only others have found",
        ),
        checked(
            "communication does not grow in proportion to the exchanges",
            "the curves bend: a URL is told once in each batch; 0.17 pairs a page with 10 exchanges (n = 8, 20 %)",
            f"{many / few if few else 0:.1f} times the pairs for {max(told)} exchanges instead of {min(told)} "
            f"(n = {teams[-1][1]})" + example,
            many <= few * max(told) / 4 if few else True,
            "few URLs are found again between two exchanges",
        ),
    ]


STUDY = Study(
    "cho-quality",
    TITLE,
    ABOUT,
    BatchQualityRow,
    run,
    charts,
    findings,
    PAPER,
    keys=("n", "share", "exchanges"),
    by_sites=True,
)
