"""Teng §5: superpages and imbalance over rounds of dynamic load balancing, for k gatherers and δ.

URLs are found in the order of a crawl. After each round the gatherers' trees are merged, superpages are made with the
threshold Δ = W/(kδ) and shared out by Partition I. The paper gives no figures; what it claims is that the load gets
balanced, and that Partition II heeds links besides. Large graphs are thinned out, every n-th URL being found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.partition import PartitionProblem, partition
from gcs.core.plan.metrics import imbalance as unevenness
from gcs.core.plan.metrics import loads
from gcs.core.plan.plan import Plan
from gcs.core.plan.session_graph import SessionGraph
from gcs.sim.engine.partitions import crawled, crossing
from gcs.sim.engine.reach import NEVER, reach
from gcs.sim.engine.spread import spread
from gcs.sim.engine.superpage_rounds import RoundTeam, count, imbalance, rounds
from gcs.sim.graph.web_graph import Ids, WebGraph, from_links
from gcs.sim.studies.study import Chart, ChartLine, Finding, Study, StudyRequest, Tick, checked, line, lines

TITLE = "Superpages and imbalance over rounds (Teng §5)"
ABOUT = (
    "URLs are found in the order of a crawl; four times the trees of all gatherers are merged, superpages are made "
    "and shared out."
)
KS = (8, 16, 32, 64)
DELTAS = (5.0, 10.0, 20.0, 40.0)
#: the δ of the paper
USUAL = 20.0
#: parts of the URLs that are found when each round ends
ROUNDS = (0.125, 0.25, 0.5, 1.0)
#: URLs that are found at most
MOST = 60_000
SEEDS = 1000


@dataclass(frozen=True, slots=True)
class SuperpagesRow:
    """One team after one round."""

    k: int
    delta: float
    round: int
    #: URLs found so far
    found: int
    superpages: int
    #: max/mean - 1 of the URLs of each gatherer: under the plan of the round before, and under that of this round
    imbalance_before: float
    imbalance: float
    #: part of the URLs found that changed hands
    moved: float
    #: the same URLs given out by the hash of their site
    imbalance_site_hash: float
    #: part of all links that cross under Partition I and II (after the last round, δ = 20, the whole graph)
    crossing_i: float | None = None
    crossing_ii: float | None = None


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[SuperpagesRow]:
    """Rounds for every k and δ."""
    tick(0, "putting the pages in order")
    data = crawled(graph)
    ks = request.ks or KS
    order = found_order(data, request.seed)
    keys = [data.keys[page] for page in order[:: max(-(-len(order) // MOST), 1)].tolist()]
    ends = [max(round(part * len(keys)), 1) for part in ROUNDS]
    cases = [(k, delta) for k in ks for delta in DELTAS]
    rows: list[SuperpagesRow] = []
    for place, found in enumerate(spread(lambda case: _rounds(data, keys, ends, *case, request.seed), cases)):
        tick((place + 1) / len(cases), "{} gatherers, δ = {:g}".format(*cases[place]))
        rows += found
    return rows


def _rounds(
    data: SessionGraph, keys: Sequence[bytes], ends: Sequence[int], k: int, delta: float, seed: int
) -> list[SuperpagesRow]:
    plan: Plan | None = None
    rows = []
    for number, done in enumerate(rounds(keys, RoundTeam([1.0] * k, delta=delta, seed=seed), ends), 1):
        before = _drifted(keys[: done.found], plan, k)
        plan = done.plan
        hashed = _hashed(keys[: done.found], k, seed)
        moved = done.moved / done.found
        last = number == len(ends) and delta == USUAL
        links = [row.crossing_share for row in crossing(data, k, ("partition-i", "partition-ii"))] if last else ()
        sizes = done.found, done.superpages
        rows.append(SuperpagesRow(k, delta, number, *sizes, before, done.imbalance, moved, hashed, *links))
    return rows


def found_order(data: SessionGraph, seed: int) -> Ids:
    """The pages as a breadth-first crawl from random seeds finds them; what it does not find comes last."""
    session = data.session
    web = from_links("", session.sources, session.targets, session.pages)
    chance = np.random.default_rng(seed)
    seeds = chance.choice(web.pages, min(SEEDS, web.pages), replace=False)
    depth = reach(web, seeds)
    mixed = chance.permutation(web.pages)
    return mixed[np.argsort(np.where(depth == NEVER, np.iinfo(np.int32).max, depth)[mixed], kind="stable")]


def _drifted(keys: Sequence[bytes], plan: Plan | None, k: int) -> float:
    """How ill the load is balanced under a plan that was made when fewer URLs were known; at first all is one's."""
    if plan is None:
        return k - 1.0
    return imbalance(count(sorted(keys), plan.cuts), [1.0] * k, plan.owners)


def _hashed(keys: Sequence[bytes], k: int, seed: int) -> float:
    owners = partition("site-hash", PartitionProblem(np.ones(len(keys)), k, keys=keys, seed=seed))
    return unevenness(loads(np.ones(len(keys)), owners, k))


def charts(rows: Sequence[SuperpagesRow]) -> list[Chart]:
    last = [row for row in rows if row.round == len(ROUNDS)]
    usual = [row for row in rows if row.delta == USUAL]
    hashed = [row for row in last if row.delta == USUAL]
    per_k = [
        ChartLine(f"{k} gatherers", [row.delta for row in part], [row.superpages / k for row in part])
        for k in dict.fromkeys(row.k for row in last)
        for part in [[row for row in last if row.k == k]]
    ]
    drift = lines([row for row in usual if row.round > 1], "k", "round", "imbalance_before", "{} gatherers")
    by_k = [
        *lines(hashed, "delta", "k", "imbalance", "superpages, δ = {:g}"),
        line(hashed, "k", "imbalance_site_hash", "site-hash"),
    ]
    return [
        Chart("Superpages", "δ", "superpages per gatherer", per_k, log_x=True),
        Chart("Rounds, δ = 20", "round", "imbalance before its plan", drift),
        Chart("After the last round", "gatherers k", "imbalance", by_k, log_x=True, log_y=True),
    ]


def findings(rows: Sequence[SuperpagesRow]) -> list[Finding]:
    last = [row for row in rows if row.round == len(ROUNDS)]
    usual = [row for row in last if row.delta == USUAL]
    most = max(row.superpages / (row.k * row.delta) for row in rows)
    cut = [(row.crossing_i or 0, row.crossing_ii or 0) for row in usual]
    drifted = [row.imbalance_before for row in rows if row.delta == USUAL and row.round > 1]
    return [
        checked(
            "superpages of weight W/(kδ) balance the load",
            "(no figures) δ of 20 or more",
            f"at most {max(row.imbalance for row in usual):.1%} at δ = 20, site-hash "
            f"{max(row.imbalance_site_hash for row in usual):.0%}",
            max(row.imbalance for row in usual) <= 0.05,
            f"a URL cannot be cut, and there are {min(row.found // row.k for row in usual):,} for each gatherer",
        ),
        checked(
            "the load drifts away as the crawl goes on, so it has to be balanced again and again",
            "(no figures)",
            f"up to {max(drifted):.0%} when the URLs have doubled since the last plan",
            max(drifted) > max(row.imbalance for row in usual),
            "the URLs found later lie where the earlier ones did",
        ),
        checked(
            "superpages stay few",
            "(no figures) about kδ",
            f"at most {most:.2f}·kδ",
            most <= 2,
            "where URLs are few, rounding makes more of them",
        ),
        checked(
            "heeding links (Partition II) lets fewer of them cross",
            "(no figures)",
            ", ".join(f"{first:.1%} to {second:.1%} (k = {row.k})" for row, (first, second) in zip(usual, cut)),
            all(second < first for first, second in cut),
            "there are no links that it could keep from crossing",
        ),
    ]


STUDY = Study("teng-superpages", TITLE, ABOUT, SuperpagesRow, run, charts, findings)
