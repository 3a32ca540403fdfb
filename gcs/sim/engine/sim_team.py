"""A team of any make: k gatherers under any partitioner, mode, order, queue, exchange interval and replication.

Gatherers that talk, or that have a wall between them, are one `Crawl`. Those that go abroad without a word (cross-over
and independent mode) are crawled each alone, and laid side by side superstep by superstep.

Invariant: a gatherer fetches a page at most once; in exchange and firewall mode, so does the team.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from gcs.core.queues.queue_maker import make_queue
from gcs.errors import UsageError
from gcs.sim.engine.reach import fetched, most_linked, reach
from gcs.sim.engine.setup import Setup
from gcs.sim.engine.sim_queue import Pages
from gcs.sim.engine.supersteps import Crawl, SuperstepRules
from gcs.sim.graph.owners import Owners, page_owners
from gcs.sim.graph.web_graph import Ids, WebGraph

#: supersteps of a crawl, where nobody says how many pages one has
SUPERSTEPS = 256


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

    @property
    def is_silent(self) -> bool:
        """Whether its gatherers go abroad and tell nobody."""
        return self.setup.mode in ("cross-over", "independent")

    def turns(self) -> Iterator[TeamTurn]:
        """Its crawl, a superstep at a time."""
        most = int(self.setup.part * self.reachable) or self.k * self.graph.pages
        rules = self._rules()
        if not self.is_silent:
            for step in Crawl(self.graph, rules, self.seeds).steps(most):
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
        for step in Crawl(self.graph, alone, self.seeds[mine[self.seeds]]).steps(most):
            yield step.pages


def make_team(graph: WebGraph, setup: Setup, k: int, seed: int) -> SimTeam:
    """A team of k; the same for the same seed."""
    if setup.replicated and setup.mode != "exchange":
        raise UsageError(f"replicated URLs are spared from being told: nothing is told in {setup.mode} mode")
    seeds = np.random.default_rng(seed).choice(graph.pages, min(setup.seeds, graph.pages), replace=False)
    replicated = most_linked(graph)[: setup.replicated].astype(np.int32)
    reachable = fetched(reach(graph, np.concatenate([seeds, replicated])))
    return SimTeam(graph, setup, k, page_owners(graph, setup.partitioner, k, seed), seeds, replicated, reachable)
