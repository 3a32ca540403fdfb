"""What each choice would cost: the next session under several blueprints, foretold from the graph of the last one.

Invariant: the figures are those that a crawl of the same graph reports: every page once, a foreign page named once by
each gatherer that finds it, pages that everybody knows by nobody.
"""

import msgspec
import numpy as np

from gcs.core.blueprint import Blueprint
from gcs.core.crawled import Crawled
from gcs.core.graph import Ints
from gcs.core.metrics import communication, imbalance, loads, posted
from gcs.core.sortkey import sort_key


class Forecast(msgspec.Struct, frozen=True):
    """One line of the table."""

    model: str
    parts: int
    superpages: int
    #: max/mean − 1 of the pages and of the bytes that a part fetches
    imbalance_pages: float
    imbalance_bytes: float
    #: pages named to their owners, the length of these names, and how many there are per page fetched
    exchanged_urls: int
    exchanged_bytes: int
    urls_per_page: float
    #: hosts that several parts ask, which have to take turns
    shared_hosts: int


def forecast(data: Crawled, blueprint: Blueprint) -> Forecast:
    """What the next session will cost under this blueprint, if the web stays as it was."""
    session, k = data.session, blueprint.parts
    owners = blueprint.owners_of(data)
    known = {sort_key(url) for url in blueprint.hot_pages}
    told = posted(session.without_replicated(_pages(data, known)), owners, k)
    return Forecast(
        model=blueprint.model,
        parts=k,
        superpages=len(blueprint.cuts),
        imbalance_pages=imbalance(loads(np.ones(session.pages), owners, k)),
        imbalance_bytes=imbalance(loads(session.page_bytes, owners, k)),
        exchanged_urls=told.total_urls,
        exchanged_bytes=told.total_bytes,
        urls_per_page=communication(told.total_urls, session.pages),
        shared_hosts=_shared(session.sites, owners, k),
    )


def _pages(data: Crawled, known: set[bytes]) -> Ints:
    return np.array([at for at, key in enumerate(data.keys) if key in known], np.int64)


def _shared(sites: Ints, owners: Ints, k: int) -> int:
    pairs = np.unique(sites * k + owners)
    return int((np.bincount(pairs // k) > 1).sum())
