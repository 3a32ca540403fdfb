"""Teng §8, which the paper leaves to future research: special sub-graphs, recognised, taken out, and treated apart.

The sites of a session (giants in pieces) are shared out by METIS. A class of special pages is recognised in one of the
ways of `core.plan.hot_page_choice` and treated in one of these:

    told      the whole web is partitioned; then everybody is told of the class, and nobody names its pages
    apart     everybody is told of the class, and only the web that remains without the links to it is partitioned
    divided   the class is partitioned among all as a web of its own, the rest of the web without it; pages of the
              class are named like others
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.partition import PartitionProblem, partition
from gcs.core.partition.partition_graph import GIANT_SHARE, Ints, LinkArrays, SessionLinks, cut_giants, superpage_model
from gcs.core.plan.hot_page_choice import RECOGNISERS
from gcs.core.plan.metrics import communication, exchange, imbalance, loads, posted
from gcs.core.plan.session_graph import SessionGraph
from gcs.sim.engine.partitions import crawled
from gcs.sim.engine.spread import spread
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, Finding, Steps, Study, StudyRequest, Tick, checked, line

TITLE = "Special sub-graphs (Teng §8)"
ABOUT = (
    "Sites are shared out by METIS. Special pages are those that most pages link to (hot), that most units link to "
    "(named), or that lie in the densest cores of the links between units (core). `gcs plan` takes named, apart. "
    "It stays a choice of plans made ahead: to share dense cores gains less than to share what is named most, which "
    "the leader of a live team does already (hot pages), and to partition a class costs far more."
)
KS = (8, 64)
SIZES = (100, 1_000, 10_000)
TOLERANCE = 0.05
#: one page in so many can be special
LEAST_PAGES_EACH = 10
NOBODY = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class SpecialRow:
    """One class of special pages under one treatment."""

    k: int
    #: how the class was recognised; none where there is no class
    recogniser: str
    #: how it was treated
    treatment: str
    #: pages in the class
    special: int
    #: URLs named to another gatherer per page, when each gatherer names a page once
    posts_per_page: float
    #: links to pages of another gatherer that somebody has to look up or name, per page
    crossing_per_page: float
    #: max / mean - 1 of the pages
    imbalance: float


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[SpecialRow]:
    return [row for rows in steps(graph, request, tick) for row in rows]


def ks(_graph: WebGraph, request: StudyRequest) -> Sequence[int]:
    return request.ks or KS


def steps(graph: WebGraph, request: StudyRequest, tick: Tick) -> Iterator[list[SpecialRow]]:
    """Every class under every treatment, at one K after the other."""
    tick(0, "putting the pages in order")
    data = crawled(graph)
    sizes = [size for size in SIZES if size * LEAST_PAGES_EACH <= graph.pages]
    teams = ks(graph, request)
    for place, k in enumerate(teams):
        task = _Task(data, k, request.seed)
        rows = [task.row("none", "told", NOBODY, task.whole)]
        cases = [(name, size) for name in RECOGNISERS for size in sizes]
        for number, found in enumerate(spread(task.rows, cases), 1):
            tick((place + number / len(cases)) / len(teams), f"{k} gatherers, {number} of {len(cases)} classes")
            rows += found
        yield rows


class _Task:
    """A session that is shared out among k."""

    def __init__(self, data: SessionGraph, k: int, seed: int) -> None:
        self._session, self._k, self._seed = data.session, k, seed
        self.units = cut_giants(data.session, GIANT_SHARE / k)
        #: who owns each page where nobody is special
        self.whole = self._shared_out(self._named(NOBODY))

    def rows(self, case: tuple[str, int]) -> list[SpecialRow]:
        """One class, by its recogniser and size, under every treatment."""
        recogniser, size = case
        special = RECOGNISERS[recogniser](self._session, self.units, size)
        return [
            self.row(recogniser, "told", special, self.whole),
            self.row(recogniser, "apart", special, self._shared_out(self._named(special))),
            self.row(recogniser, "divided", special, self._divided(special)),
        ]

    def row(self, recogniser: str, treatment: str, special: Ints, owners: Ints) -> SpecialRow:
        """What a partition costs. A class that is divided is not told to anybody."""
        k, pages = self._k, self._session.pages
        named = self._session if treatment == "divided" else self._named(special)
        return SpecialRow(
            k,
            recogniser,
            treatment,
            len(special),
            communication(posted(named, owners, k).total_urls, pages),
            communication(exchange(named, owners, k).total_urls, pages),
            imbalance(loads(np.ones(pages), owners, k)),
        )

    def _named(self, told: Ints) -> SessionLinks:
        """The links that matter where units are given out whole, and everybody was told of some pages."""
        session = self._session
        return session.only(self.units[session.sources] != self.units[session.targets]).without_replicated(told)

    def _shared_out(self, session: SessionLinks) -> Ints:
        """The owner of each page, as METIS shares out the units by the links of this session."""
        model = superpage_model(session, self.units)
        return self._partition(model.weights, model.links)[self.units]

    def _divided(self, special: Ints) -> Ints:
        """The owner of each page, where the special ones are a web of their own, and the rest is one without them."""
        session = self._session
        is_special = np.zeros(session.pages, np.bool_)
        is_special[special] = True
        leaves, leads = is_special[session.sources], is_special[session.targets]
        owners = self._shared_out(session.only(~(leaves | leads)))
        number, inside = np.cumsum(is_special) - 1, session.only(leaves & leads)
        links = LinkArrays.between(len(special), number[inside.sources], number[inside.targets])
        weights = np.stack([session.page_bytes[is_special], np.ones(len(special), np.int64)], axis=1)
        owners[is_special] = self._partition(weights, links)
        return owners

    def _partition(self, weights: Ints, links: LinkArrays) -> Ints:
        return partition("metis", PartitionProblem(weights, self._k, links=links, tolerance=TOLERANCE, seed=self._seed))


def charts(rows: Sequence[SpecialRow]) -> list[Chart]:
    k = rows[-1].k
    treated = [*((name, treatment) for name in RECOGNISERS for treatment in ("told", "apart")), ("named", "divided")]
    parts = {pair: [row for row in rows if (row.k, row.recogniser, row.treatment) == (k, *pair)] for pair in treated}
    drawn = [line(part, "special", "posts_per_page", ", ".join(pair)) for pair, part in parts.items()]
    return [Chart(f"Special pages, {k} gatherers", "special pages", "URLs named per page", drawn, log_x=True)]


def findings(rows: Sequence[SpecialRow]) -> list[Finding]:
    k = rows[0].k
    none = next(row for row in rows if row.k == k)
    best = {}  # (recogniser, treatment) → the row with the most special pages
    for row in rows:
        if row.k == k:
            best[row.recogniser, row.treatment] = row
    if len(best) == 1:
        return []
    told, apart, divided = (best["named", treatment] for treatment in ("told", "apart", "divided"))
    ranked = sorted(RECOGNISERS, key=lambda name: best[name, "apart"].posts_per_page)
    return [
        Finding(
            "without special sub-graphs the web is easier to partition",
            "(expected)",
            f"{none.posts_per_page:.4f} URLs named a page without a class; {told.posts_per_page:.4f} when "
            f"{told.special:,} pages are told after the partition, {apart.posts_per_page:.4f} when before (k = {k})",
            apart.posts_per_page <= told.posts_per_page,
            "METIS is not exact: with other links it may end up in another place",
        ),
        checked(
            "to share them among all, or to partition them among all",
            "(either)",
            f"shared {apart.posts_per_page:.4f}, partitioned {divided.posts_per_page:.4f} URLs named a page",
            apart.posts_per_page <= divided.posts_per_page,
            "most links to the class come from the parts that its pages were put into",
        ),
        Finding(
            "sub-graphs that are highly connected themselves, and to other parts",
            "(hot pages are the first step)",
            ", ".join(f"{name} {best[name, 'apart'].posts_per_page:.4f}" for name in ranked)
            + f" URLs named a page with {apart.special:,} pages",
            ranked[0] != "hot",
            "here the pages that most others link to tie the parts together, wherever the links come from",
        ),
    ]


STUDY = Study("teng-special", TITLE, ABOUT, SpecialRow, run, charts, findings, steps=Steps(ks, steps))
