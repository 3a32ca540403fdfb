"""Cho's Figure 5: coverage of a firewall-mode crawl by the number of seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.metrics import coverage
from gcs.sim.engine.reach import fetched, reach
from gcs.sim.graph.owners import Owners, page_owners
from gcs.sim.graph.web_graph import Ids, WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, line, lines, rises

TITLE = "Coverage by the number of seeds (Cho, Figure 5)"
ABOUT = "As in cho-coverage; each gatherer gets as many random pages of its own for seeds, the fewer among the more."
KS = (2, 8, 32, 64)
FEWEST, MOST = 64, 16_384


@dataclass(frozen=True, slots=True)
class SeedsRow:
    """One n with one number of seeds."""

    n: int
    #: seeds of the whole team, as many for each gatherer
    seeds: int
    #: I / U, where U is what one crawler reaches from the most seeds
    coverage: float
    pages: int | None = None


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[SeedsRow]:
    """Firewall crawls from ever more seeds: the fewer are always among the more."""
    ks = request.ks or KS
    sizes = [FEWEST << step for step in range((MOST // FEWEST).bit_length())]
    sizes = [size for size in sizes if size <= graph.pages // 4] or [max(graph.pages // 4, 1)]
    rows = []
    for place, n in enumerate(ks):
        owners = page_owners(graph, "site-hash", n, request.seed)
        turn = turns(owners, np.random.default_rng(request.seed))
        reachable = fetched(reach(graph, _seeds(turn, sizes[-1], n)))
        for number, size in enumerate(sizes):
            tick((place + number / len(sizes)) / len(ks), f"{n} gatherers, {size} seeds")
            pages = fetched(reach(graph, _seeds(turn, size, n), owners))
            rows.append(SeedsRow(n, size, coverage(pages, reachable), pages))
    return rows


def turns(owners: Owners, chance: np.random.Generator) -> Ids:
    """When each page becomes a seed of its owner: 0 for the first of each, in a random order."""
    order = chance.permutation(len(owners))
    grouped = order[np.argsort(owners[order], kind="stable")]
    counts = np.bincount(owners)
    turn = np.empty(len(owners), np.int64)
    turn[grouped] = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    return turn


def _seeds(turn: Ids, seeds: int, n: int) -> Ids:
    return np.flatnonzero(turn < max(seeds // n, 1))


PAPER = (SeedsRow(64, 64, 0.004), SeedsRow(64, 1024, 0.1))


def charts(rows: Sequence[SeedsRow]) -> list[Chart]:
    drawn = lines(rows, "n", "seeds", "coverage", "{} gatherers")
    paper = line(PAPER, "seeds", "coverage", "Cho, 64", from_paper=True)
    return [Chart("Firewall mode", "seeds of the team", "coverage I / U", [*drawn, paper], log_x=True)]


def findings(rows: Sequence[SeedsRow]) -> list[Finding]:
    by_n = {n: [row for row in rows if row.n == n] for n in dict.fromkeys(row.n for row in rows)}
    few, many = by_n[min(by_n)], by_n[max(by_n)]
    gain_few, gain_many = (part[-1].coverage - part[0].coverage for part in (few, many))
    marginal = Finding(
        "few gatherers hardly need more seeds",
        "marginal for n = 2 and 8",
        f"{few[0].coverage:.1%} to {few[-1].coverage:.1%} (n = {few[0].n}), against a gain of {gain_many:.1%} "
        f"(n = {many[0].n})",
        gain_few <= gain_many / 2 or gain_few < 0.1,
        "where the sites are islands, every seed opens one more, with walls or without",
    )
    return [
        checked(
            "more seeds, more coverage, when many gatherers run",
            "0.4 % with 64 seeds to 10 % with 1,024 (n = 64)",
            f"{many[0].coverage:.1%} with {many[0].seeds} to {many[-1].coverage:.1%} with {many[-1].seeds:,} "
            f"(n = {many[0].n})",
            rises([row.coverage for row in many]),
            "so few seeds reach all that can be reached behind walls",
        ),
        *([marginal] if len(by_n) > 1 else []),
    ]


STUDY = Study("cho-seeds", TITLE, ABOUT, SeedsRow, run, charts, findings, PAPER, keys=("n", "seeds"), by_sites=True)
