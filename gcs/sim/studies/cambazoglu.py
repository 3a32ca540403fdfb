"""Cambazoglu's Tables 1 to 3: storage, requests and link exchange under graph partitioning and under hashing.

    page-gp    METIS on the page graph, both weights balanced within 5 %
    page-hash  the hash of the URL
    site-gp    METIS on the site graph, of whole sites as in the paper; where these cannot be balanced, sites that
               outweigh a part are cut into ranges; where that is not enough, all large ones. `cut` says how many
    site-hash  the hash of the site, which stays whole

The volume is the total length of the URLs that name pages of another part, over all links of the session.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gcs.core.partition import PartitionProblem, partition
from gcs.core.partition.partition_graph import Model, page_model, superpage_model
from gcs.core.plan.blueprint import site_units
from gcs.core.plan.metrics import imbalance, loads
from gcs.core.plan.session_graph import SessionGraph
from gcs.sim.engine.partitions import crawled
from gcs.sim.engine.spread import spread
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, Finding, Steps, Study, StudyRequest, Tick, checked, lines

TITLE = "Graph partitioning against hashing (Cambazoglu, Tables 1–3)"
ABOUT = (
    "The graph is the last session; each model gives its units to K gatherers, with METIS or by hash, averaged over "
    "eight runs with other seeds."
)
KS = (8, 16, 24, 32, 40, 48, 56, 64)
RUNS = 8
#: a graph is not cut into parts of fewer pages, unless asked for: no whole number of them would be balanced
PAGES_EACH = 200
#: imbalance that is allowed on both weights
TOLERANCE = 0.05
#: storage imbalance, request imbalance, bytes
Figures = tuple[float, float, float]
MODELS = ("page-gp", "page-hash", "site-gp", "site-hash")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model at one K, averaged over the runs: a line of Tables 1, 2 and 3."""

    K: int
    model: str
    storage_imbalance: float
    request_imbalance: float
    bytes: float
    runs: int = RUNS
    #: pages, sites or ranges of sites that were given out
    units: int | None = None
    #: volume when the same units are hashed
    bytes_hashed: float | None = None
    #: sites that were cut
    cut: int | None = None


def ks(graph: WebGraph, request: StudyRequest) -> Sequence[int]:
    """Those of the request, or those of the paper that the graph has pages for."""
    return request.ks or [k for k in KS if graph.pages >= PAGES_EACH * k or k == KS[0]]


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[ModelRow]:
    return [row for rows in steps(graph, request, tick) for row in rows]


def steps(graph: WebGraph, request: StudyRequest, tick: Tick) -> Iterator[list[ModelRow]]:
    """Every model at one K after the other, so many times with another seed, on all cores."""
    tick(0, "putting the pages in order")
    data = crawled(graph)
    parts, runs = ks(graph, request), request.runs or RUNS
    pages = _Task(data, page_model(data.session))
    sites = _Task(data, superpage_model(data.session, data.session.sites))
    for place, k in enumerate(parts):
        ranges, cut = _sites(data, k)

        def one(seed: int, k: int = k, ranges: _Task = ranges) -> list[Figures]:
            return [
                pages.figures("metis", k, seed),
                pages.figures("url-hash", k, seed),
                ranges.figures("metis", k, seed),
                sites.figures("site-hash", k, seed),
                ranges.figures("url-hash", k, seed),
            ]

        found = []
        for number, figures in enumerate(spread(one, range(runs))):
            tick((place + (number + 1) / runs) / len(parts), f"K = {k}, run {number + 1} of {runs}")
            found.append(figures)
        means: list[Figures] = np.mean(found, axis=0).tolist()
        page_gp, page_hash, site_gp, site_hash, ranges_hash = means
        yield [
            ModelRow(k, "page-gp", *page_gp, runs, pages.units, page_hash[2]),
            ModelRow(k, "page-hash", *page_hash, runs, pages.units),
            ModelRow(k, "site-gp", *site_gp, runs, ranges.units, ranges_hash[2], cut),
            ModelRow(k, "site-hash", *site_hash, runs, sites.units),
        ]


def _sites(data: SessionGraph, k: int) -> tuple["_Task", int]:
    """The units of site-gp, and how many sites are cut: the first that METIS balances, of whole sites if it can."""
    whole = data.session.sites.max(initial=-1) + 1
    for units in site_units(data.session, k, TOLERANCE):
        task = _Task(data, superpage_model(data.session, units))
        cut = int(
            (np.bincount(data.session.sites[np.flatnonzero(np.diff(units, prepend=-1))], minlength=whole) > 1).sum()
        )
        (tried,) = spread(partial(task.figures, "metis", k), [0])
        if max(tried[:2]) <= TOLERANCE:
            break
    return task, cut


class _Task:
    """A model of the session, and what a partition of it costs."""

    def __init__(self, data: SessionGraph, model: Model) -> None:
        self._weights, self._links = model.weights, model.links
        first = np.flatnonzero(np.diff(model.unit_of_page, prepend=-1)).tolist()
        self._keys = [data.keys[page] for page in first]

    @property
    def units(self) -> int:
        return len(self._keys)

    def figures(self, partitioner: str, k: int, seed: int) -> Figures:
        """Storage imbalance, request imbalance, volume."""
        problem = PartitionProblem(self._weights, k, links=self._links, keys=self._keys, tolerance=TOLERANCE, seed=seed)
        owners = partition(partitioner, problem)
        storage, requests = (imbalance(loads(weights, owners, k)) for weights in self._weights.T)
        return storage, requests, float(self._links.crossing(owners))


#: K → (storage imbalance %, request imbalance %, bytes) of the models in their order
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
    ModelRow(k, model, storage / 100, requests / 100, volume)
    for k, figures in _TABLES.items()
    for model, (storage, requests, volume) in zip(MODELS, figures)
)


def charts(rows: Sequence[ModelRow]) -> list[Chart]:
    fields = ("storage_imbalance", "request_imbalance", "bytes")
    return [
        Chart(f"Table {number}", "parts K", field.replace("_", " "), lines(rows, "model", "K", field), log_y=True)
        for number, field in enumerate(fields, 1)
    ]


def findings(rows: Sequence[ModelRow]) -> list[Finding]:
    at = {(row.K, row.model): row for row in rows}
    ks = list(dict.fromkeys(row.K for row in rows))
    saved = {
        name: [at[k, f"{name}-hash"].bytes / max(at[k, f"{name}-gp"].bytes, 1) for k in ks] for name in ("page", "site")
    }
    same = [(at[k, "site-gp"].bytes_hashed or 0) / max(at[k, "site-gp"].bytes, 1) for k in ks]
    worst = max(max(at[k, m].storage_imbalance, at[k, m].request_imbalance) for k in ks for m in ("page-gp", "site-gp"))
    hashed = [at[k, "site-hash"].storage_imbalance for k in ks]
    cut = [at[k, "site-gp"].cut or 0 for k in ks]
    claims = [
        checked(
            "graph partitioning keeps storage and requests within 5 %",
            "at most 4.76 %",
            f"at most {worst:.2%}",
            worst <= TOLERANCE + 1e-9,
            "a part has too few pages, or one of them weighs too much, for any partition to do better",
        ),
        checked(
            "on pages it exchanges far fewer bytes than hashing",
            "65 to 82 times fewer",
            f"{min(saved['page']):,.3g} to {max(saved['page']):,.3g} times fewer",
            min(saved["page"]) > 1,
            "there are hardly any links, or none that could be kept inside a part",
        ),
        Finding(
            "on sites it exchanges fewer bytes than hashing",
            "4.8 to 7.6 times fewer",
            ", ".join(f"{factor:.2g} × (K = {k})" for k, factor in zip(ks, saved["site"]))
            + f"; {min(same):,.3g} to {max(same):,.3g} times fewer than hashing the same ranges",
            min(saved["site"]) > 1,
            "balance has a price that hashing whole sites does not pay: a site larger than a part must be cut, through "
            f"links that site-hash keeps at home, at up to {max(hashed):.0%} storage imbalance",
        ),
        Finding(
            "whole sites can be balanced",
            "at every K, of 15,820 sites",
            ", ".join(f"K = {k}: {'yes' if not count else f'no, {count} cut'}" for k, count in zip(ks, cut)),
            not any(cut),
            "where a site outweighs a part, no partition is balanced; where many are large, METIS finds none",
        ),
        checked(
            "hashed sites are ill balanced",
            "15 % (K = 8) to 54 % (K = 64) in storage",
            f"{hashed[0]:.0%} (K = {ks[0]}) to {hashed[-1]:.0%} (K = {ks[-1]})",
            hashed[-1] > TOLERANCE,
            "many small sites even one another out",
        ),
    ]
    return [*claims[:2], *(replace(claim, by_sites=True) for claim in claims[2:])]


STUDY = Study("cambazoglu", TITLE, ABOUT, ModelRow, run, charts, findings, PAPER, Steps(ks, steps), keys=("K", "model"))
