"""WEB-SAILOR's Figure 6 and its load balancing: pages over time of crawl-clients under a seed-server.

The web is cut into domains (top-level ones, or hosts where there are too few of them), each client has a set of them.
All links go to the server, which gives a client the most linked URLs of its DSet, as many as it has connections. One
client joins when a third of the time is over. The same is run twice: with the connections that the clients came with,
and with a server that says "hurry up" and "slow down" (`core.plan.seed_domains` decides).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.metrics import quality
from gcs.core.plan.seed_domains import SeedServerSettings, domain_of, fair_moves, say
from gcs.core.url.canonical import canonical
from gcs.sim.engine.reach import NEVER, reach
from gcs.sim.engine.supersteps import SteppedCrawl, SuperstepRules
from gcs.sim.graph.owners import Owners, sites_of
from gcs.sim.graph.web_graph import Ids, WebGraph
from gcs.sim.studies.study import Chart, ChartLine, Finding, Study, StudyRequest, Tick, checked, lines

TITLE = "A seed-server and its crawl-clients (WEB-SAILOR, Figure 6)"
ABOUT = (
    "Clients of 25 and 10 connections, a third one joins on the way; every link goes to the server, which hands out "
    "the most linked URLs of each client's domains."
)
CLIENTS = 3
#: connections of the first client and of the others, as in the paper
FIRST, OTHERS = 25, 10
#: steps of time, and how many of them make one row
STEPS, WINDOW = 240, 10
#: part of the web that the first clients would fetch in that time if they had always enough seeds
SHARE = 0.5
SEEDS = 200
#: with fewer top-level domains than this for each client, a domain is a host
FEWEST = 2


@dataclass(frozen=True, slots=True)
class SailorRow:
    """One client in one window of time."""

    #: whether the server says "hurry up" and "slow down"
    balanced: bool
    #: the last step of the window
    step: int
    client: int
    #: connections at its end, and the part of them that had something to fetch
    connections: int
    busy: float
    #: pages fetched since the beginning, and per step in the window
    pages: int
    pages_per_step: float
    #: seeds that the server holds for it
    held: int
    #: quality of all that was fetched so far by all, and that of one crawler with as many pages
    quality: float
    quality_single: float


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[SailorRow]:
    """One run with the connections that the clients came with, one with a server that balances them."""
    clients = max(request.ks[0] if request.ks else CLIENTS, 2)
    seeds = np.random.default_rng(request.seed).choice(graph.pages, min(SEEDS, graph.pages), replace=False)
    reached = reach(graph, seeds) != NEVER
    web, start = graph.induced(reached), (np.cumsum(reached) - 1)[seeds]
    domains = _domains(web, clients)
    rows = []
    for balanced in (False, True):
        fleet = _Fleet(web, domains, start, clients, balanced)
        for step in range(1, STEPS + 1):
            tick((balanced + step / STEPS) / 2, f"step {step}, {'with' if balanced else 'without'} load balancing")
            fleet.sail(step)
            if step % WINDOW == 0:
                rows += fleet.rows(step)
    return rows


def _domains(web: WebGraph, clients: int) -> Ids:
    """The domain of each page, numbered by size: 0 has the most pages."""
    _, first, sites = np.unique(sites_of(web), return_index=True, return_inverse=True)
    names = [_top_level(web.urls[page]) for page in first.tolist()] if web.urls else []
    if len(set(names)) < FEWEST * clients:
        names = [str(site) for site in range(len(first))]
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    of_page = np.array([number[name] for name in names])[sites]
    order = np.argsort(-np.bincount(of_page), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    ranked: Ids = rank[of_page]
    return ranked


def _top_level(url: str) -> str:
    known = canonical(url)
    return domain_of(known, "top") if known else url


class _Fleet:
    """The server and its clients."""

    def __init__(self, web: WebGraph, domains: Ids, seeds: Ids, clients: int, balanced: bool) -> None:
        self._web, self._domains, self._balanced = web, domains, balanced
        self._rules = SeedServerSettings()
        self._connections = [FIRST, *[OTHERS] * (clients - 2), 0]
        #: pages that a connection fetches in a step
        self._speed = max(int(SHARE * web.pages / (STEPS * sum(self._connections))), 1)
        self._owner_of = _by_connections(domains, self._connections[:-1])
        self._crawl = SteppedCrawl(web, SuperstepRules(self._owners(), clients, order="backlink"), seeds)
        self._alone = SteppedCrawl(web, SuperstepRules(np.zeros(web.pages, np.int16), 1, order="backlink"), seeds)
        self._fetched: list[list[int]] = [[] for _ in range(clients)]
        self._offered: list[list[int]] = [[] for _ in range(clients)]
        self._join = STEPS // 3

    def sail(self, step: int) -> None:
        if step == self._join:
            self._connections[-1] = OTHERS
            self._share_out()
        quota = np.array(self._connections) * self._speed
        taken = self._crawl.take(quota)
        pages = np.concatenate(taken)
        self._crawl.fetch(pages)
        self._crawl.exchange()
        self._alone.fetch(self._alone.take(np.array([len(pages)]))[0])
        for client, part in enumerate(taken):
            self._fetched[client].append(len(part))
            self._offered[client].append(int(quota[client]))
        if self._balanced:
            held = self._crawl.waiting() // self._speed
            for client, connections in enumerate(self._connections):
                if connections:
                    self._connections[client] = say(connections, int(held[client]), self._rules)[1]

    def rows(self, step: int) -> list[SailorRow]:
        importance = self._web.in_degrees()
        reached = [quality(importance, np.flatnonzero(crawl.fetched)) for crawl in (self._crawl, self._alone)]
        held = self._crawl.waiting().tolist()
        return [
            SailorRow(
                self._balanced,
                step,
                client + 1,
                connections,
                sum(self._fetched[client][-WINDOW:]) / max(sum(self._offered[client][-WINDOW:]), 1),
                sum(self._fetched[client]),
                sum(self._fetched[client][-WINDOW:]) / WINDOW,
                held[client],
                *reached,
            )
            for client, connections in enumerate(self._connections)
        ]

    def _owners(self) -> Owners:
        owners: Owners = self._owner_of.astype(np.int16)[self._domains]
        return owners

    def _share_out(self) -> None:
        """Give the client that has just come domains of others'."""
        waits = np.bincount(self._domains[self._crawl.waits], minlength=len(self._owner_of))
        names = {str(domain): str(client) for domain, client in enumerate(self._owner_of.tolist())}
        waiting = {str(domain): count for domain, count in enumerate(waits.tolist())}
        clients = [str(client) for client in range(len(self._connections))]
        for domain, client in fair_moves(names, waiting, clients, self._rules).items():
            self._owner_of[int(domain)] = int(client)
        self._crawl.hand_over(self._owners())


def _by_connections(domains: Ids, connections: Sequence[int]) -> Ids:
    """The client of each domain, largest domains first: to whom has least for each of its connections."""
    loads = np.zeros(len(connections))
    owner = []
    for size in np.bincount(domains).tolist():
        owner.append(int(np.argmin((loads + size) / connections)))
        loads[owner[-1]] += size
    return np.array(owner)


def charts(rows: Sequence[SailorRow]) -> list[Chart]:
    fixed, steered = ([row for row in rows if row.balanced is kind] for kind in (False, True))
    steps = list(dict.fromkeys(row.step for row in rows))

    def pages(part: list[SailorRow]) -> list[ChartLine]:
        totals = [float(sum(row.pages for row in part if row.step == step)) for step in steps]
        return [*lines(part, "client", "step", "pages", "client {}"), ChartLine("total", steps, totals)]

    return [
        Chart("Figure 6", "steps", "pages", pages(fixed)),
        Chart("With load balancing", "steps", "pages", pages(steered)),
        Chart("Connections", "steps", "connections", lines(steered, "client", "step", "connections", "client {}")),
    ]


def findings(rows: Sequence[SailorRow]) -> list[Finding]:
    fixed, steered = ([row for row in rows if row.balanced is kind] for kind in (False, True))
    before = [row for row in fixed if row.step < STEPS // 3 and row.client == 1]
    rates = [row.pages_per_step for row in before]
    spread = (max(rates) - min(rates)) / max(max(rates), 1)
    busy = [
        sum(row.busy * row.connections for row in part) / max(sum(row.connections for row in part), 1)
        for part in (fixed, steered)
    ]
    ends = [sum(row.pages for row in part if row.step == part[-1].step) for part in (fixed, steered)]
    last = fixed[-1]
    joined = [row for row in fixed if row.client == last.client and row.pages]
    changed = {row.connections for row in steered if row.client == 1}
    return [
        Finding(
            "the rate of each client stays steady",
            "straight lines in Figure 6",
            f"client 1: {min(rates):,.0f} to {max(rates):,.0f} pages per step until a client joins",
            spread <= 0.1,
            "" if spread <= 0.1 else "its DSet runs out of seeds",
        ),
        checked(
            "a client can join while the crawl runs",
            "a third one was added",
            f"client {last.client} came at step {STEPS // 3} and fetched {joined[-1].pages if joined else 0:,} pages",
            bool(joined),
            "all was fetched by then, or there was no domain with seeds that the others could spare",
        ),
        Finding(
            "the crawl is as good as that of one crawler",
            "“always as good”",
            f"quality {last.quality:.3f}, one crawler {last.quality_single:.3f}",
            last.quality >= last.quality_single - 0.02,
            "each client fetches the best of its own DSet, and the best of the web are not spread as connections are"
            if last.quality < last.quality_single - 0.02
            else "",
        ),
        checked(
            "“hurry up” and “slow down” fit the connections to the seeds",
            "(no figures)",
            f"client 1 had {min(changed)} to {max(changed)} connections; {busy[1]:.0%} of all busy instead of "
            f"{busy[0]:.0%}, {ends[1]:,} pages instead of {ends[0]:,}",
            ends[1] >= ends[0],
            "a client that was slowed down for want of seeds was slow when they came",
        ),
    ]


STUDY = Study("web-sailor", TITLE, ABOUT, SailorRow, run, charts, findings)
