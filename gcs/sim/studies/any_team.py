"""A crawl by a team that the user puts together: what it covers, repeats, finds and tells, from its start to its end.

k gatherers work under any partitioner, mode, order, queue, exchange interval and replication. Gatherers that exchange
URLs, or that have a wall between them, are one `SteppedCrawl`. In cross-over and independent mode nobody tells anybody
anything: each gatherer is crawled alone, and the crawls are laid side by side, superstep by superstep.

This study repeats no experiment of a paper and is not part of `all`: it is for the user's own questions.

Invariant: a gatherer fetches a page at most once; in exchange and firewall mode, so does the team.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from gcs.core.plan.metrics import communication, coverage, imbalance, overlap, quality
from gcs.core.queues.queue_maker import make_queue
from gcs.errors import UsageError
from gcs.sim.engine.partitions import URL_BYTES
from gcs.sim.engine.reach import fetched, most_linked, reach
from gcs.sim.engine.sim_queue import Pages
from gcs.sim.engine.supersteps import SteppedCrawl, SuperstepRules
from gcs.sim.graph.owners import Owners, page_owners
from gcs.sim.graph.web_graph import Ids, WebGraph
from gcs.sim.studies.study import Chart, Setup, Study, StudyRequest, Tick, lines

TITLE = "A team of your own"
ABOUT = "A team of any make, looked at again and again until its crawl ends."
KS = (4, 16, 64)
#: supersteps of a crawl, where the user does not say how many pages one has
SUPERSTEPS = 256
#: the first look is at this part of what can be reached, and each of the others when so many times as much is fetched
FIRST, GROWTH = 0.01, 1.25


@dataclass(frozen=True, slots=True)
class TeamTurn:
    """What a team did in one superstep."""

    pages: Pages = field(repr=False)
    #: who fetched each of them
    fetchers: Owners = field(repr=False)
    #: the page of each [URL, worth] pair told at its end
    told_pages: Pages = field(repr=False)
    #: links told of pages that were fetched already
    late: int = 0


@dataclass(frozen=True, slots=True)
class SimTeam:
    """A team before its crawl."""

    graph: WebGraph = field(repr=False)
    setup: Setup
    k: int
    owners: Owners = field(repr=False)
    seeds: Ids = field(repr=False)
    replicated: Pages = field(repr=False)
    #: pages that one crawler reaches from the same seeds
    reachable: int

    def turns(self) -> Iterator[TeamTurn]:
        """The crawl, a superstep at a time."""
        most = int(self.setup.part * self.reachable) or self.k * self.graph.pages
        rules = self._rules()
        if self.setup.mode not in ("cross-over", "independent"):  # in these, gatherers go abroad and tell nobody
            for step in SteppedCrawl(self.graph, rules, self.seeds).steps(most):
                yield TeamTurn(step.pages, self.owners[step.pages], step.told_pages, step.late)
            return
        members = [list(self._alone(rules, me, most)) for me in range(self.k)]
        for parts in zip_longest(*members, fillvalue=self.replicated[:0]):
            fetchers = np.repeat(np.arange(self.k, dtype=np.int16), [len(part) for part in parts])[:most]
            yield TeamTurn(np.concatenate(parts)[:most], fetchers, self.replicated[:0])
            most -= len(fetchers)
            if not most:
                return

    def _rules(self) -> SuperstepRules:
        setup, queue = self.setup, self.setup.queue
        return SuperstepRules(
            self.owners,
            self.k,
            "firewall" if setup.mode == "firewall" else "exchange",
            setup.order,
            setup.superstep_pages or self.reachable / (self.k * SUPERSTEPS),
            np.bincount(self.owners, minlength=self.k).astype(np.float64) if setup.speeds == "size" else None,
            setup.exchange_every,
            self.replicated,
            make_queue=None if queue == "scan" else lambda: make_queue(queue),
        )

    def _alone(self, rules: SuperstepRules, me: int, most: int) -> Iterator[Pages]:
        """What one gatherer fetches, superstep after superstep."""
        mine = self.owners == me
        speed = rules.pages_each * (self.k * float(mine.mean()) if self.setup.speeds == "size" else 1.0)
        alone = replace(rules, owners=np.zeros_like(self.owners), k=1, pages_each=speed, speeds=None)
        if self.setup.mode == "cross-over":
            alone = replace(alone, abroad=~mine)
        for step in SteppedCrawl(self.graph, alone, self.seeds[mine[self.seeds]]).steps(most):
            yield step.pages


def make_team(graph: WebGraph, setup: Setup, k: int, seed: int) -> SimTeam:
    """A team of k; the same for the same seed."""
    if setup.replicated and setup.mode != "exchange":
        raise UsageError(f"replicated URLs are of no use: nothing is told in {setup.mode} mode")
    seeds = np.random.default_rng(seed).choice(graph.pages, min(setup.seeds, graph.pages), replace=False)
    replicated = most_linked(graph)[: setup.replicated].astype(np.int32)
    reachable = fetched(reach(graph, np.concatenate([seeds, replicated])))
    return SimTeam(graph, setup, k, page_owners(graph, setup.partitioner, k, seed), seeds, replicated, reachable)


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A team at one moment."""

    n: int
    supersteps: int
    #: N and I: pages fetched, and different ones
    downloads: int
    unique: int
    #: I / U, where U is what one crawler reaches from the same seeds; (N - I) / I
    coverage: float
    overlap: float
    #: part of the I truly most linked pages that was fetched
    quality: float
    #: [URL, worth] pairs told per page, and the bytes of their URLs
    urls_per_page: float
    bytes_per_page: float
    #: max/mean - 1 of what the gatherers have fetched, in pages and in bytes
    request_imbalance: float
    storage_imbalance: float
    #: links told per superstep of pages that were fetched already
    late: float


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[TeamRow]:
    """One crawl for each number of gatherers."""
    ks = request.ks or KS
    rows = []
    for place, k in enumerate(ks):
        tick(place / len(ks), f"{k} gatherers")
        rows += list(looks(make_team(graph, request.setup, k, request.seed)))
    return rows


def looks(team: SimTeam) -> Iterator[TeamRow]:
    """Rows of the team now and then, and at the end."""
    graph, k = team.graph, team.k
    importance = graph.in_degrees()
    sizes = np.ones(graph.pages, np.int64) if graph.sizes_bytes is None else graph.sizes_bytes
    lengths = np.array([len(url) for url in graph.urls]) if graph.urls else np.full(graph.pages, URL_BYTES)
    got = np.zeros(graph.pages, np.bool_)
    asked, stored = np.zeros(k, np.int64), np.zeros(k)
    supersteps = told = told_bytes = late = 0
    next_look = FIRST * team.reachable

    def look() -> TeamRow:
        downloads, unique = int(asked.sum()), int(got.sum())
        return TeamRow(
            k,
            supersteps,
            downloads,
            unique,
            coverage(unique, team.reachable),
            overlap(downloads, unique),
            quality(importance, np.flatnonzero(got)),
            communication(told, downloads),
            communication(told_bytes, downloads),
            imbalance(asked.astype(np.float64)),
            imbalance(stored),
            late / supersteps,
        )

    for turn in team.turns():
        supersteps += 1
        got[turn.pages] = True
        asked += np.bincount(turn.fetchers, minlength=k)
        stored += np.bincount(turn.fetchers, sizes[turn.pages], k)
        told += len(turn.told_pages)
        told_bytes += int(lengths[turn.told_pages].sum())
        late += turn.late
        looked = asked.sum() >= next_look
        if looked:
            yield look()
            next_look = GROWTH * float(asked.sum())
    if supersteps and not looked:
        yield look()


def charts(rows: Sequence[TeamRow]) -> list[Chart]:
    pictures = (
        ("Coverage", "coverage", "coverage I / U"),
        ("Overlap", "overlap", "overlap (N − I) / I"),
        ("Quality", "quality", "part of the most linked pages"),
        ("Communication", "urls_per_page", "pairs told per page"),
    )
    return [
        Chart(title, "pages fetched", label, lines(rows, "n", "downloads", field, "{} gatherers"))
        for title, field, label in pictures
    ]


STUDY = Study("run", TITLE, ABOUT, TeamRow, run, charts)
