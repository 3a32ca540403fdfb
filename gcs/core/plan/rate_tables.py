"""The tables of §4.5 as arrays, from what was counted: R (pages per second), c (URLs per second), S (links).

The time of a page has two parts. *Access* is the way to the host: it grows with the round trip, which every gatherer
can measure to any host, its own or not (`core.plan.probes`). *Processing* is the rest: the server's work, the transfer,
our own. So a gatherer that has never fetched from a superpage has a rate there all the same: processing as its speed
and the superpage's say, access as its own round trips say. Where it has not probed, those of gatherers of the same
place count, or else the mean of all.

Invariant: a table has no zero and no NaN, whatever was measured. This module loads numpy.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from gcs.core.partition.partition_graph import Floats, Ints
from gcs.core.tree.statistics import MeasuredWork, SuperpageStatistics
from gcs.core.tree.tree import Cuts
from gcs.core.url.sortkey import PAGES, PAGES_END

#: pages (or URLs) of evidence that a prior rate is worth
_PRIOR = 10.0
#: rounds in which the speeds of gatherers and superpages are fitted to each other
_FITS = 10
#: gatherers whose speed is within this factor of the median count as equal, beyond the second as measured: what is
#: measured in a busy machine differs by as much for no reason, and would move work about for ever
_EQUAL, _DIFFERENT = 1.2, 1.4
#: standard errors of what was measured by which both factors are wider
_ERRORS = 2.0
#: seconds that are added to every round trip: differences that are smaller mean nothing
_NO_WAY_S = 1e-3
#: round trips of a page, at most (on a kept connection it takes one), and the part of its time that they may be
_TRIPS, _MOST_ACCESS = 2.0, 0.9
#: a team is far apart if rates differ by this factor, beyond what gatherers and superpages differ by on average
_APART = 1.5


def access_table(
    statistics: SuperpageStatistics, gatherers: Sequence[str], places: Sequence[str], cuts: Cuts
) -> Floats:
    """(k, m) the seconds of a round trip from each gatherer to each superpage; NaN where nobody has probed it."""
    sums, counts = np.zeros((len(gatherers), len(cuts))), np.zeros((len(gatherers), len(cuts)))
    for i, gatherer in enumerate(gatherers):
        for host, seconds in statistics.access.get(gatherer, {}).items():
            part = slice(bisect_right(cuts, host + PAGES) - 1, bisect_left(cuts, host + PAGES_END))
            sums[i, part] += seconds + _NO_WAY_S
            counts[i, part] += 1
    known = counts > 0
    table: Floats = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=known)
    for same in (np.equal.outer(places, places), np.ones((len(gatherers), len(gatherers)), np.bool_)):
        others = same.astype(np.float64) @ known
        mean = np.divide(same.astype(np.float64) @ np.where(known, table, 0.0), others, where=others > 0, out=table + 0)
        table = np.where(np.isnan(table), mean, table)
    return table


def rate_table(
    statistics: SuperpageStatistics,
    gatherers: Sequence[str],
    access: tuple[Floats, Floats],
    origins: Ints,
) -> Floats:
    """R as a k × m table of pages per second, for superpages that come from old ones (`origins`).

    `access`: the round trips to the old superpages, in which the rates were measured, and to the new ones.
    Where little or nothing was measured, processing leans on (speed of the gatherer) × (speed of the superpage), which
    are fitted to all that was.
    """
    before, after = access
    amount, seconds = np.zeros(before.shape), np.zeros(before.shape)
    for i, gatherer in enumerate(gatherers):
        for j, work in statistics.rates.get(gatherer, {}).items():
            amount[i, j], seconds[i, j] = work.amount, work.seconds
    page_s = np.divide(seconds, amount, out=np.zeros_like(seconds), where=amount > 0)
    access_s = np.nan_to_num(np.minimum(_TRIPS * before, _MOST_ACCESS * page_s))
    way_s = amount * access_s
    processing_s = seconds - way_s
    mean = _mean(float(amount.sum()), float(processing_s.sum()))
    # the most likely speeds, the pages being Poisson: each in turn, given the others
    of_gatherer, of_superpage = np.ones(len(gatherers)), np.full(before.shape[1], mean)
    for _ in range(_FITS):
        of_gatherer = (amount.sum(axis=1) + _PRIOR) / (processing_s @ of_superpage + _PRIOR)
        of_superpage = (amount.sum(axis=0) + _PRIOR) / (of_gatherer @ processing_s + _PRIOR / mean)
    guess = np.outer(of_gatherer, of_superpage)
    processing = (amount + _PRIOR) / (processing_s + _PRIOR / guess)
    processing *= (_levelled(of_gatherer, amount.sum(axis=1)) / of_gatherer)[:, None]
    # round trips of a page in each superpage, as its owners have measured them; where nobody has probed, their time
    trips = _ratio(way_s.sum(axis=0), (amount * np.nan_to_num(before)).sum(axis=0))
    usual_s = _ratio(way_s.sum(axis=0), amount.sum(axis=0), 0.0)[origins]
    after = np.where(np.isnan(after), before[:, origins], after)
    rates: Floats = 1 / (1 / processing[:, origins] + np.where(np.isnan(after), usual_s, trips[origins] * after))
    return rates


def is_far_apart(rates: "float | Floats") -> bool:
    """Whether it matters which gatherer has which superpage: some are near to some, others to others."""
    table = np.asarray(rates)
    if table.ndim != 2 or not table.size:
        return False
    logs = np.log(table)
    residual = logs - logs.mean(axis=0) - logs.mean(axis=1)[:, None] + logs.mean()
    return bool(np.abs(residual).mean() > math.log(_APART))


def exchange_rates(statistics: SuperpageStatistics, gatherers: Sequence[str]) -> Floats:
    """c: URLs per second that each gatherer exchanges; the team's mean where it is not known."""
    works = [statistics.exchange.get(gatherer, MeasuredWork()) for gatherer in gatherers]
    mean = _mean(sum(work.amount for work in works), math.fsum(work.seconds for work in works))
    return np.array([(work.amount + _PRIOR) / (work.seconds + _PRIOR / mean) for work in works])


def help_factors(statistics: SuperpageStatistics, gatherers: Sequence[str]) -> Floats:
    """How many times its own rate each gatherer has with the help that it gets on average (§7)."""
    own = np.array([sum(work.amount for work in statistics.rates.get(each, {}).values()) for each in gatherers])
    helped = np.array([statistics.helped.get(each, 0) for each in gatherers])
    factors: Floats = 1.0 + helped / (own + _PRIOR)
    return factors


def link_table(statistics: SuperpageStatistics) -> tuple[Ints, Ints, Ints]:
    """S as three parallel arrays: from superpage, to superpage, links (for `LinkArrays.between`)."""
    entries = [(source, target, links) for source, row in statistics.links.items() for target, links in row.items()]
    table = np.array(entries, np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _levelled(speeds: Floats, pages: Floats) -> Floats:
    """The speeds, each measured on so many pages, without differences that mean nothing."""
    median = np.median(np.log(speeds))
    apart = np.log(speeds) - median
    noise = math.log(_EQUAL) + _ERRORS / np.sqrt(pages + 1)
    heeded = (np.abs(apart) - noise) / math.log(_DIFFERENT / _EQUAL)
    levelled: Floats = np.exp(median + apart * np.clip(heeded, 0.0, 1.0))
    return levelled


def _mean(amount: float, seconds: float) -> float:
    return amount / seconds if amount and seconds else 1.0


def _ratio(part: Floats, whole: Floats, otherwise: float = 1.0) -> Floats:
    ratio: Floats = np.divide(part, whole, out=np.full_like(part, otherwise), where=whole > 0)
    return ratio
