"""Marin's Figure 7: how many pages a gatherer may fetch before it has to send, predicted from the last session.

The graph is the last session, replayed in the order of PageRank by `core.ordering.superstep`: for every tolerance β of
messages that may wait, the pages R that the busiest gatherer fetches in a superstep, and the error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.ordering.pagerank import pagerank
from gcs.core.ordering.superstep import BOUND, Replay, Superstep, predict
from gcs.sim.graph.owners import page_owners
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, lines, rises

TITLE = "How far gatherers may go without a word (Marin, Figure 7)"
ABOUT = "The graph is replayed in the order of PageRank; messages wait until one gatherer has more than β of them."
KS = (4,)
TOLERANCES = (100, 300, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000)


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """One team under one tolerance."""

    n: int
    #: β: messages to one gatherer that may wait
    tolerance: int
    #: R: pages of the busiest gatherer per superstep
    pages: int
    #: share of the pages that a message would have come too late for, averaged over the supersteps
    error: float
    supersteps: int | None = None
    #: whether this is the largest tolerance within the bound of 5 %
    chosen: bool = False


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[PredictionRow]:
    """Replays under each tolerance, and the one that is chosen."""
    ks = request.ks or KS
    tick(0, "PageRank")
    importance = pagerank(graph.offsets, graph.targets, 1e-6)
    rows = []
    for place, n in enumerate(ks):
        tick((place + 0.3) / len(ks), f"{n} gatherers")
        owners = page_owners(graph, "site-hash", n, request.seed).astype(np.int64)
        replay = Replay(graph.offsets, graph.targets, owners, importance)
        for number, tolerance in enumerate(TOLERANCES):
            tick((place + 0.4 + 0.3 * number / len(TOLERANCES)) / len(ks), f"{n} gatherers, tolerance {tolerance}")
            rows.append(_row(n, replay.run(tolerance)))
        tick((place + 0.7) / len(ks), f"{n} gatherers, the largest tolerance within the bound")
        rows.append(_row(n, predict(replay), chosen=True))
    return rows


def _row(n: int, found: Superstep, chosen: bool = False) -> PredictionRow:
    return PredictionRow(n, found.messages, found.pages, found.error, found.count, chosen)


#: R / P of Figure 6, which the prediction for β = 1,000 is said to be like
PAPER = (PredictionRow(4, 1_000, 3_000, 0.01),)


def charts(rows: Sequence[PredictionRow]) -> list[Chart]:
    tried = [row for row in rows if not row.chosen]
    return [
        Chart(title, "tolerance β", y, lines(tried, "n", "tolerance", field, "{} gatherers"), log_x=True)
        for title, y, field in (("Prediction", "pages R per superstep", "pages"), ("Error", "pages missed", "error"))
    ]


def findings(rows: Sequence[PredictionRow]) -> list[Finding]:
    tried = [row for row in rows if not row.chosen and row.n == rows[0].n]
    chosen = [row for row in rows if row.chosen]
    thousand = next((row for row in tried if row.tolerance == 1_000), tried[0])
    return [
        checked(
            "the more messages may wait, the more pages are fetched in between",
            "β = 1,000 … 10,000 (P = 4, 2 million pages)",
            f"R = {tried[0].pages:,} (β = {tried[0].tolerance}) to {tried[-1].pages:,} (β = {tried[-1].tolerance:,})",
            rises([float(row.pages) for row in tried]),
            f"already with β = {tried[0].tolerance} all is fetched in {tried[0].supersteps} supersteps: so few links "
            "cross",
        ),
        checked(
            "a tolerance of 1,000 keeps the error quite below 1 %",
            "below 1 %, with R of about 3,000",
            f"{thousand.error:.2%} at β = {thousand.tolerance:,}, with R = {thousand.pages:,}",
            thousand.error < 0.01,
            "a superstep is a larger part of this web than of the paper's 2 million pages: there are only "
            f"{thousand.supersteps:,} of them, so more pages are fetched before a message about them",
        ),
        checked(
            "a tolerance can be found within an error of 5 %",
            "by binary search",
            ", ".join(f"β = {row.tolerance:,}, R = {row.pages:,}, {row.error:.2%} (n = {row.n})" for row in chosen),
            all(row.error <= BOUND for row in chosen),
            "not even the least tolerance keeps it",
        ),
    ]


STUDY = Study("marin-prediction", TITLE, ABOUT, PredictionRow, run, charts, findings, PAPER, keys=("n", "tolerance"))
