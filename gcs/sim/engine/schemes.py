"""Schemes compared on a graph that was crawled: who fetches what, how often, and what they tell one another (G1, G5).

A crawl from given seeds under a plan, without a network. In the modes in which nobody depends on when others act, what
comes out is certain:

    exchange      every page that the seeds reach, once, by its owner; a page of another's is named once by each finder
    firewall      a gatherer reaches what its own pages reach from its own seeds
    cross-over    and then everything that they reach, whosever it is
    independent   the same, at once
    seed-server   every page once, by the client of its domain; a report names every link of its pages once

Invariant: owners are those of `core.plan.plan`, the figures those of `core.plan.metrics`: what a live crawl reports.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gcs.core.partition.partition_graph import Ints
from gcs.core.plan.metrics import communication, coverage, imbalance, overlap, posted
from gcs.core.plan.plan import ExchangeMode, Plan
from gcs.core.plan.session_graph import SessionGraph
from gcs.core.url.sortkey import sort_key
from gcs.sim.engine.reach import NEVER, reach
from gcs.sim.graph.web_graph import from_links


@dataclass(frozen=True, slots=True)
class Scheme:
    """What a crawl under one plan comes to."""

    coverage: float
    overlap: float
    exchanged_urls: int
    exchanged_bytes: int
    urls_per_page: float
    #: max/mean − 1 of the pages that the gatherers fetch
    imbalance: float


def foretell_server(data: SessionGraph, owners: Ints, reports: Ints) -> Scheme:
    """What clients of a seed-server tell it (S1), who have these pages and tell them in these reports (-1: not at all).

    How many pages a report holds is a matter of time, so it has to be given.
    """
    session, told = data.session, np.flatnonzero(reports >= 0)
    known = reports[session.sources] >= 0
    named = np.unique(reports[session.sources[known]] * session.pages + session.targets[known])
    volume = int(session.url_bytes[named % session.pages].sum())
    share = communication(len(named), len(told))
    return Scheme(1.0, 0.0, len(named), volume, share, imbalance(np.bincount(owners[told])))


def _numbers(data: SessionGraph, seeds: Iterable[str]) -> Ints:
    """The pages of the graph that are seeds."""
    number = {key: page for page, key in enumerate(data.keys)}
    return np.array([number[key] for url in seeds if (key := sort_key(url)) in number], np.int64)


def foretell(data: SessionGraph, plan: Plan, seeds: Iterable[str]) -> Scheme:
    """The crawl of these seeds under this plan; coverage is counted against what one alone would reach."""
    k, session = len(plan.gatherers), data.session
    owners = np.array([plan.owners[at] for at in plan.locate_many(data.keys)], np.int64)
    roots = _numbers(data, seeds)
    web = from_links("", session.sources, session.targets, session.pages)
    everything = reach(web, roots) != NEVER
    if plan.mode is ExchangeMode.EXCHANGE:
        fetched = [everything & (owners == part) for part in range(k)]
        known = everything[session.sources]
        told = posted(session.only(known), owners, k)
        urls, volume = told.total_urls, told.total_bytes
    else:
        walls = owners.astype(np.int16) if plan.mode is ExchangeMode.FIREWALL else None
        fetched = [reach(web, roots[owners[roots] == part], walls) != NEVER for part in range(k)]
        urls = volume = 0
    counts = np.array([mask.sum() for mask in fetched], np.int64)
    unique = int(np.logical_or.reduce(fetched).sum())
    downloads = int(counts.sum())
    shares = coverage(unique, int(everything.sum())), overlap(downloads, unique)
    return Scheme(*shares, urls, volume, communication(urls, downloads), imbalance(counts))
