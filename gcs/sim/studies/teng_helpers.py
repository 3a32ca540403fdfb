"""Teng §7: a team with light-weight helpers that come and go.

A gatherer has time for R pages per superstep. What it has no time for it lends, as the live one does. A helper fetches
and summarises a quarter as many for it; the gatherer spends `HANDLING` of a page's time on each summary (links, marks,
record: what is measured of the live crawl). A helper stays for a while and leaves in the middle of its work: what it
held comes back when its lease is over. Speed is that of the first nine tenths of a crawl: the last pages of a deep
site come one by one, whoever fetches them.

Besides, half of the gatherers get all the helpers, and the sites are shared out by Partition I, with the mean help
counted in the rates or not: how long does the whole crawl take?
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.partition import PartitionProblem, partition
from gcs.core.partition.partition_graph import Floats
from gcs.sim.engine.sim_queue import Pages
from gcs.sim.engine.spread import spread
from gcs.sim.engine.supersteps import SteppedCrawl, SuperstepRules
from gcs.sim.graph.owners import Owners, sites_of
from gcs.sim.graph.web_graph import Ids, WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, line

TITLE = "Light-weight helpers (Teng §7)"
ABOUT = (
    "Breadth first in exchange mode; helpers fetch and summarise for their gatherer, stay for a while and vanish in "
    "the middle of their work."
)
KS = (8,)
HELPERS = (0, 1, 2, 4, 8, 16)
#: supersteps that a helper stays on average; 0 is for good
STAYS = (0, 50, 5)
#: part of a page's time that a gatherer spends on a summary of a helper's
HANDLING = 0.3
#: speed of a helper beside that of a gatherer
SPEED = 0.25
#: supersteps until what a vanished helper held is given out again
LEASE = 3
#: supersteps that a team without helpers needs, about
SUPERSTEPS = 200
#: R is at least this, so that parts of pages do not matter
LEAST = 20.0
SEEDS_EACH = 200


@dataclass(frozen=True, slots=True)
class HelpersRow:
    """One team with some helpers for each gatherer."""

    k: int
    #: helpers for each gatherer, present on average
    helpers: int
    #: supersteps that one stays on average; 0 is for good
    stay: int
    #: pages per superstep beside a team without helpers, until nine tenths are fetched
    speedup: float
    #: part of the pages given to helpers that came back unfetched
    lost: float
    #: pages fetched twice, or never, though somebody linked to them
    twice_or_never: int
    #: supersteps of the whole crawl when half of the gatherers have all the helpers: with the help counted in the rates
    #: of the partition, and without
    supersteps_counted: int | None = None
    supersteps_uncounted: int | None = None


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[HelpersRow]:
    """Crawls of all that can be reached, with more and more helpers."""
    cases = [(k, stay, helpers) for k in request.ks or KS for stay in STAYS for helpers in HELPERS]
    rows: list[HelpersRow] = []
    alone = 1.0
    for place, found in enumerate(spread(lambda case: _case(graph, *case, request.seed), cases)):
        k, stay, helpers = cases[place]
        tick((place + 1) / len(cases), f"{k} gatherers, {helpers} helpers each")
        outcome, *counted = found
        alone = alone if helpers else outcome.pages_per_superstep
        speedup = outcome.pages_per_superstep / alone
        rows.append(HelpersRow(k, helpers, stay, speedup, outcome.lost, outcome.wrong, *counted))
    return rows


def _case(graph: WebGraph, k: int, stay: int, helpers: int, seed: int) -> tuple["_Outcome", int | None, int | None]:
    """A team with so many helpers for each; and how long it takes with all of them at one half, counted and not."""
    owners = _balanced(graph, k, np.ones(k))
    outcome = _crawl(graph, owners, np.full(k, helpers), stay, seed)
    if stay or not helpers:
        return outcome, None, None
    help_each = np.where(np.arange(k) < k // 2, 2 * helpers, 0)
    by_help = _balanced(graph, k, _rates(help_each))
    return (
        outcome,
        _crawl(graph, by_help, help_each, stay, seed).supersteps,
        _crawl(graph, owners, help_each, stay, seed).supersteps,
    )


def _rates(helpers: Ids) -> Floats:
    """Pages per superstep of gatherers with helpers, in pages of one without: each summary takes some of its time."""
    helped = np.minimum(helpers * SPEED, 1 / HANDLING)
    rates: Floats = helped + 1 - HANDLING * helped
    return rates


def _balanced(graph: WebGraph, k: int, rates: Floats) -> Owners:
    """Sites shared out by Partition I, in proportion to the rates."""
    sites = sites_of(graph)
    weights = np.bincount(sites)
    return partition("partition-i", PartitionProblem(weights, k, rates=rates)).astype(np.int16)[sites]


@dataclass(frozen=True, slots=True)
class _Outcome:
    pages_per_superstep: float
    supersteps: int
    lost: float
    wrong: int


def _crawl(graph: WebGraph, owners: Owners, helpers: Ids, stay: int, seed: int) -> _Outcome:
    k = len(helpers)
    chance = np.random.default_rng(seed)
    own = max(graph.pages / (SUPERSTEPS * k), LEAST)
    seeds = chance.choice(graph.pages, min(SEEDS_EACH * k, graph.pages), replace=False)
    crawl = SteppedCrawl(graph, SuperstepRules(owners, k), seeds)
    times = np.zeros(graph.pages, np.int64)
    back: dict[int, list[Pages]] = {}
    steps = given = lost = 0
    upto = [0]
    while back or not crawl.is_over:
        for pages in back.pop(steps, ()):
            crawl.give_back(pages)
        helped = np.floor(np.minimum(helpers * SPEED, 1 / HANDLING) * own).astype(np.int64)
        quota = np.maximum(helped + np.maximum(own - HANDLING * helped, 0.0).astype(np.int64), 1)
        fetched = []
        for me, taken in enumerate(crawl.take(quota)):
            at_home, for_helpers = taken[: quota[me] - helped[me]], taken[quota[me] - helped[me] :]
            gone = chance.random(int(helpers[me])) < (1 / stay if stay else 0.0)
            # what a helper has lost was half done on average: the other half it has brought back
            part = np.array_split(for_helpers, max(int(helpers[me]), 1))
            vanished = [share[len(share) // 2 :] for share, left in zip(part, gone) if left]
            missing = np.concatenate([for_helpers[:0], *vanished])
            given += len(for_helpers)
            lost += len(missing)
            if len(missing):
                back.setdefault(steps + LEASE, []).append(missing)
            fetched += [at_home, np.setdiff1d(for_helpers, missing, assume_unique=True)]
        pages = np.concatenate(fetched)
        times[pages] += 1
        upto.append(upto[-1] + len(pages))
        crawl.fetch(pages)
        crawl.exchange()
        steps += 1
    linked = np.zeros(graph.pages, np.bool_)
    linked[seeds] = True
    for batch in graph.batches(np.flatnonzero(times)):
        linked[graph.links_of(batch)[1]] = True
    wrong = int((times > 1).sum() + (linked & (times == 0)).sum())
    most = int(np.searchsorted(upto, 0.9 * upto[-1]))
    return _Outcome(upto[most] / max(most, 1), steps, lost / given if given else 0.0, wrong)


def charts(rows: Sequence[HelpersRow]) -> list[Chart]:
    speed = [
        line([row for row in rows if row.stay == stay], "helpers", "speedup", f"stay for {stays}")
        for stay, stays in {row.stay: f"{row.stay} supersteps" if row.stay else "good" for row in rows}.items()
    ]
    told = [row for row in rows if row.supersteps_counted]
    uneven = [
        line(told, "helpers", "supersteps_counted", "help counted in the rates"),
        line(told, "helpers", "supersteps_uncounted", "help not counted"),
    ]
    return [
        Chart("Helpers", "helpers for each gatherer", "speed beside a team without", speed),
        Chart("Half of the gatherers have all helpers", "helpers per gatherer of the team", "supersteps", uneven),
    ]


def findings(rows: Sequence[HelpersRow]) -> list[Finding]:
    steady = [row for row in rows if not row.stay]
    fickle = [row for row in rows if row.stay == STAYS[-1]]
    wrong = sum(row.twice_or_never for row in rows)
    told = [row for row in rows if row.supersteps_counted]
    return [
        checked(
            "helpers speed a crawl up",
            "(no figures)",
            f"{steady[1].speedup:.2f} × with {steady[1].helpers} for each gatherer, {steady[-1].speedup:.2f} × with "
            f"{steady[-1].helpers}; at most {1 / HANDLING:.1f} ×, since a gatherer handles every summary",
            steady[-1].speedup > steady[0].speedup,
            "there is not more to fetch at a time than the gatherers manage by themselves",
        ),
        Finding(
            "they may vanish at any moment",
            "no state, no queue, no rebalance",
            f"staying for {fickle[-1].stay} supersteps only, {fickle[-1].lost:.0%} of what they hold comes back, speed "
            f"{fickle[-1].speedup:.2f} ×; {wrong} pages fetched twice or never",
            wrong == 0,
        ),
        checked(
            "the average help can be counted in load balancing",
            "(no figures)",
            f"{told[-1].supersteps_counted} supersteps instead of {told[-1].supersteps_uncounted} with "
            f"{told[-1].helpers} helpers per gatherer, all at one half of the team",
            (told[-1].supersteps_counted or 0) < (told[-1].supersteps_uncounted or 0),
            "the sites are too few, or too deep, to be shared out by speed: the longest of them decides",
        ),
    ]


STUDY = Study("teng-helpers", TITLE, ABOUT, HelpersRow, run, charts, findings)
