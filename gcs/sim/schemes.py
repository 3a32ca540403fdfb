"""Schemes compared on a graph that was crawled: who fetches what, how often, and what they tell one another (G1, G5).

A crawl from given seeds under a plan, without a network. In the modes in which nobody depends on when others act, what
comes out is certain:

    exchange      every page that the seeds reach, once, by its owner; a page of another's is named once by each finder
    firewall      a gatherer reaches what its own pages reach from its own seeds
    cross-over    and then everything that they reach, whosever it is
    independent   the same, at once

Invariant: owners are those of `core.plan`, the figures those of `core.metrics`: what a live crawl reports.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.crawled import Crawled
from gcs.core.graph import Ints, Session
from gcs.core.metrics import communication, coverage, imbalance, overlap, posted
from gcs.core.plan import ExchangeMode, Plan
from gcs.core.sortkey import sort_key


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


def foretell(data: Crawled, plan: Plan, seeds: Iterable[str]) -> Scheme:
    """The crawl of these seeds under this plan; coverage is counted against what one alone would reach."""
    k, session = len(plan.gatherers), data.session
    owners = np.array([plan.owners[at] for at in plan.locate_many(data.keys)], np.int64)
    number = {key: page for page, key in enumerate(data.keys)}
    roots = np.array([number[key] for url in seeds if (key := sort_key(url)) in number], np.int64)
    rows = _Rows(session)
    everything = rows.reached(roots)
    if plan.mode is ExchangeMode.EXCHANGE:
        fetched = [everything & (owners == part) for part in range(k)]
        known = everything[session.sources]
        told = posted(
            Session(
                session.sources[known], session.targets[known], session.url_bytes, session.page_bytes, session.sites
            ),
            owners,
            k,
        )
        urls, volume = told.total_urls, told.total_bytes
    else:
        walls = plan.mode is ExchangeMode.FIREWALL
        fetched = [rows.reached(roots[owners[roots] == part], owners == part if walls else None) for part in range(k)]
        urls = volume = 0
    counts = np.array([mask.sum() for mask in fetched], np.int64)
    unique = int(np.logical_or.reduce(fetched).sum())
    downloads = int(counts.sum())
    return Scheme(
        coverage(unique, int(everything.sum())),
        overlap(downloads, unique),
        urls,
        volume,
        communication(urls, downloads),
        imbalance(counts),
    )


class _Rows:
    """The links of a session by source."""

    def __init__(self, session: Session) -> None:
        order = np.argsort(session.sources, kind="stable")
        self._targets = session.targets[order]
        self._offsets = np.zeros(session.pages + 1, np.int64)
        np.cumsum(np.bincount(session.sources, minlength=session.pages), out=self._offsets[1:])
        self._pages = session.pages

    def reached(
        self, roots: Ints, within: "np.typing.NDArray[np.bool_] | None" = None
    ) -> "np.typing.NDArray[np.bool_]":
        """The pages that links lead to from these, through pages `within` only."""
        known = np.zeros(self._pages, np.bool_)
        front: Sequence[int] = np.unique(roots).tolist()
        known[front] = True
        while front:
            found = np.concatenate([self._targets[self._offsets[page] : self._offsets[page + 1]] for page in front])
            fresh = np.unique(found[~known[found]])
            if within is not None:
                fresh = fresh[within[fresh]]
            known[fresh] = True
            front = fresh.tolist()
        return known
