"""Partitions compared on a graph that was crawled: the tables behind `gcs study cambazoglu` and `teng-superpages`.

Three questions, each a function that returns rows: what the models of Cambazoglu save against hashing (Tables 1–3),
what Partition II saves against Partition I on Teng's superpages, and what the sticky form hands over when a gatherer
joins or leaves.

Invariant: the partitions are those of `core.partition`, the figures those of `core.metrics`; nothing is decided here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.canon import canonical
from gcs.core.crawled import Crawled, Visits, superpages
from gcs.core.crawled import crawled as in_key_order
from gcs.core.graph import Links, Model, Session, page_model, site_model, superpage_model
from gcs.core.metrics import exchange, imbalance, least_moved, loads, moved_weight
from gcs.core.partition import GONE, Problem, partition
from gcs.core.sortkey import sort_key
from gcs.errors import UsageError
from gcs.sim.graph import WebGraph

#: the schemes: (partitioner, what it is given). The paper's site model and site-hash leave sites whole, so that a site
#: larger than a part ruins the balance of both; the last two are given the same sites, with the giant ones cut
SCHEMES = {
    "metis-page": ("metis", "pages"),
    "page-hash": ("url-hash", "pages"),
    "metis-whole-site": ("metis", "sites"),
    "site-hash": ("site-hash", "sites"),
    "metis-site": ("metis", "cut sites"),
    "cut-site-hash": ("url-hash", "cut sites"),
}


def crawled(graph: WebGraph) -> Crawled:
    """Put the pages of a graph in key order. A page of unknown size counts one byte, so that both weights agree."""
    if not graph.urls:
        raise UsageError(f"{graph.name}: sites and keys come from URLs, and this graph has no urls.txt.gz")
    keys = [sort_key(canonical(url) or url) for url in graph.urls]
    url_bytes = np.array([len(url) for url in graph.urls], np.int64)
    page_bytes = np.ones(len(keys), np.int64) if graph.sizes_bytes is None else graph.sizes_bytes
    return in_key_order(Visits(keys, page_bytes, url_bytes), graph.sources(), graph.targets)


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One scheme at one K, averaged over the runs: a line of Cambazoglu's Tables 1, 2 and 3."""

    k: int
    scheme: str
    #: how many pages, sites or pieces of sites were given to the partitioner
    units: int
    storage_imbalance: float
    request_imbalance: float
    exchanged_bytes: float
    #: None in the paper's own rows, which give bytes only
    exchanged_urls: float | None = None


#: K → (storage imbalance %, request imbalance %, bytes) of metis-page, page-hash, metis-whole-site and site-hash
_TABLES = {
    8: ((3.31, 3.44, 64_489), (1.04, 0.78, 5_306_461), (4.59, 4.57, 131_129), (15.32, 3.84, 1_001_602)),
    16: ((4.02, 4.01, 69_643), (1.73, 1.15, 5_685_823), (4.72, 4.75, 151_264), (22.94, 6.17, 1_070_871)),
    24: ((4.44, 4.50, 71_385), (1.88, 1.40, 5_811_600), (4.74, 4.75, 163_454), (30.15, 7.03, 1_095_860)),
    32: ((4.66, 4.68, 75_285), (2.53, 1.56, 5_875_123), (4.75, 4.75, 180_751), (36.61, 8.89, 1_108_891)),
    40: ((4.68, 4.74, 82_038), (2.64, 1.66, 5_912_733), (4.76, 4.76, 187_987), (41.22, 10.78, 1_114_957)),
    48: ((4.69, 4.74, 80_038), (2.93, 1.95, 5_938_494), (4.76, 4.76, 193_011), (44.59, 12.16, 1_117_739)),
    56: ((4.76, 4.76, 92_947), (3.70, 2.09, 5_956_059), (4.76, 4.76, 213_642), (52.73, 13.49, 1_122_955)),
    64: ((4.76, 4.76, 92_467), (3.84, 2.34, 5_969_393), (4.76, 4.76, 234_272), (54.19, 13.73, 1_126_470)),
}
#: what Cambazoglu et al. measured on 913,570 pages of 15,820 sites
PAPER = tuple(
    ModelRow(k, scheme, units, storage / 100, requests / 100, volume)
    for k, figures in _TABLES.items()
    for scheme, units, (storage, requests, volume) in zip(
        ("metis-page", "page-hash", "metis-whole-site", "site-hash"), (913_570, 913_570, 15_820, 15_820), figures
    )
)


def models(
    data: Crawled, ks: Sequence[int] = tuple(_TABLES), runs: int = 8, schemes: Sequence[str] = tuple(SCHEMES)
) -> Iterator[ModelRow]:
    """Cambazoglu's experiment: storage, requests and link exchange of each scheme at each K."""
    given: dict[str, Model] = {}
    for k in ks:
        given.pop("cut sites", None)  # where to cut depends on K
        for scheme in schemes:
            name, what = SCHEMES[scheme]
            model = given[what] = given[what] if what in given else _model(data.session, what, k)
            first = np.flatnonzero(np.diff(model.unit_of_page, prepend=-1)).tolist()
            keys = [data.keys[page] for page in first]
            figures = []
            for seed in range(runs):
                owners = partition(name, Problem(model.weights, k, links=model.links, keys=keys, seed=seed))
                told = exchange(data.session, owners[model.unit_of_page], k)
                balance = [imbalance(loads(weights, owners, k)) for weights in model.weights.T]
                figures.append([*balance, told.total_bytes, told.total_urls])
            yield ModelRow(k, scheme, len(keys), *np.mean(figures, axis=0).tolist())


def _model(session: Session, what: str, k: int) -> Model:
    if what == "pages":
        return page_model(session)
    return site_model(session, k) if what == "cut sites" else superpage_model(session, session.sites)


@dataclass(frozen=True, slots=True)
class CrossingRow:
    """One partitioner on the superpages of one K."""

    k: int
    partitioner: str
    superpages: int
    #: links between superpages of different owners, and their part of all links
    crossing_links: int
    crossing_share: float
    #: max / mean - 1 of the pages
    imbalance: float


def crossing(
    data: Crawled,
    ks: Sequence[int],
    partitioners: Sequence[str] = ("partition-i", "partition-ii", "metis", "site-hash"),
    tolerance: float = 0.05,
) -> Iterator[CrossingRow]:
    """Teng's superpages (δ = 20), partitioned within one tolerance with and without regard for links."""
    for k in ks:
        units = superpages(data.keys, k)
        session, count = data.session, int(units.max(initial=-1)) + 1
        work = np.bincount(units, minlength=count)
        links = Links.between(count, units[session.sources], units[session.targets])
        first = np.flatnonzero(np.diff(units, prepend=-1)).tolist()
        problem = Problem(work, k, links=links, keys=[data.keys[page] for page in first], tolerance=tolerance)
        for name in partitioners:
            owners = partition(name, problem)
            cut = links.crossing(owners)
            share = cut / max(len(session.sources), 1)
            yield CrossingRow(k, name, count, cut, share, imbalance(loads(work, owners, k)))


@dataclass(frozen=True, slots=True)
class StickyRow:
    """One gatherer joins or leaves a team of k."""

    k: int
    event: str
    superpages: int
    #: part of all work that changes hands, and that part over the least that had to
    moved_share: float
    moved_to_least: float
    imbalance: float


def sticky(data: Crawled, k: int = 16, tolerance: float = 0.05, heed_links: bool = True) -> Iterator[StickyRow]:
    """What the sticky form hands over when a gatherer joins a balanced team of k, and when each one of it leaves."""
    units = superpages(data.keys, k)
    work = np.bincount(units)
    links = None
    if heed_links:
        links = Links.between(len(work), units[data.session.sources], units[data.session.targets])
    before = partition("sticky", Problem(work, k, links=links, tolerance=tolerance))
    left = [np.where(before == gone, GONE, before - (before > gone)) for gone in range(k)]
    events = [("join", k + 1, before), *((f"leave {gone}", k - 1, current) for gone, current in enumerate(left))]
    for event, size, current in events:
        after = partition("sticky", Problem(work, size, links=links, current=current, tolerance=tolerance))
        moved, least = moved_weight(work, current, after), least_moved(work, current, size, tolerance)
        yield StickyRow(
            size,
            event,
            len(work),
            moved / float(work.sum()),
            moved / least if least else float(moved > 0),
            imbalance(loads(work, after, size)),
        )
