"""How far a team can grow: pages per second, the load of the whiteboard, when a Redis Cluster is due; hours and money.

How many URLs are told per page is counted on the graph (each gatherer tells a URL once, the 1,000 most linked ones are
known to all, as in the live crawl); what everything costs was measured (`capacity.Costs`). The model is checked
against live teams of up to 16 gatherers, of which those above 8, and all of a later release, were not used to make it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.sim.engine.capacity import Costs, capacity
from gcs.sim.engine.machines import ANCHOR_HOURS, ANCHOR_MACHINES, ANCHOR_PAGES, ANCHOR_USD, bill
from gcs.sim.engine.reach import most_linked, told
from gcs.sim.graph.owners import page_owners
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.study import Chart, ChartLine, Finding, Study, StudyRequest, Tick, checked, line

TITLE = "How far a team can grow"
ABOUT = (
    "A capacity model: URLs told per page are counted on the graph, costs were measured on live crawls. A gatherer "
    "has a core; politeness and the web's own speed are left out. "
    "Machines and money are those of one kind of machine (--machine, --prices), with a core for each gatherer and each "
    "server of the whiteboard."
)
KS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PAGES = (10**6, 10**7, 10**8, 10**9, 10**10)
#: teams whose exchange is counted on the graph; in between it is interpolated
COUNTED = (2, 8, 64, 512)
HOT_PAGES = 1000
#: live teams on a web of 40,000 pages: gatherers, seconds, URLs told, part of the whiteboard server's time
LIVE = (
    (1, 29.4, 0, 0.0047),
    (2, 48.3, 15_891, 0.0097),
    (4, 45.9, 30_440, 0.0133),
    (8, 48.1, 49_028, 0.0237),
    (12, 44.2, 60_876, 0.0341),
    (16, 42.3, 72_555, 0.0429),
)
#: those beyond were not used to find the costs
FITTED = 8
#: the same of a later release (`scripts/bench team --sizes 12`), beside the work of others
LATER = ((4, 53.0, 30_035, 0.0117), (12, 73.3, 72_520, 0.0322))
#: gatherers → CPU-seconds per page of live teams (links only, no WARC), all processes together
LIVE_CPU_S = {1: 815e-6, 2: 906e-6, 4: 897e-6, 8: 904e-6}


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """One team and one size of the web."""

    n: int
    pages: int
    hours: float
    pages_per_s: float
    mbit_per_s: float
    #: URLs told per page, and per second
    urls_per_page: float
    urls_per_s: float
    blocks_per_s: float
    #: commands of the whiteboard, and what goes into it and out of it
    commands_per_s: float
    whiteboard_mbit_per_s: float
    #: part of one whiteboard server's time, and the servers that it takes
    whiteboard_load: float
    redis_servers: int
    #: seconds between checkpoints with which one server would do; 0 where none would
    checkpoint_for_one_s: float
    #: on the disk of each gatherer: WARC and summaries, frontier and log
    disk_gb_each: float
    #: rented machines, their hours, what they cost, also for a million pages
    machines: int
    machine_hours: float
    usd: float
    usd_per_million: float
    #: part of their network and of their disks that the crawl takes; above 1, the network is the limit, or files move
    network_share: float
    machine_disk_share: float
    #: live teams: the load that was measured with n gatherers on one core, and that of the model
    live_load: float | None = None
    live_model: float | None = None


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[ScaleRow]:
    """The model over teams and webs of all sizes."""
    costs = request.costs
    told_at = exchange_by_size(graph, request.seed, tick)
    measured = {n: (load, model_of_live(n, seconds, urls, costs)) for n, seconds, urls, load in LIVE}
    rows = []
    for n in request.ks or KS:
        urls_per_page = float(np.interp(np.log2(n), *told_at))
        found = capacity(n, urls_per_page, costs)
        for pages in sorted({*PAGES, request.web_pages} - {0}):
            due = bill(pages, n, found, costs, request.machine)
            disk = pages / n * (costs.stored_bytes + costs.state_bytes)
            rows.append(
                ScaleRow(
                    n,
                    pages,
                    pages / found.pages_per_s / 3600,
                    found.pages_per_s,
                    found.pages_per_s * costs.page_bytes * 8 / 1e6,
                    urls_per_page,
                    found.urls_per_s,
                    found.blocks_per_s,
                    found.commands_per_s,
                    found.board_bytes_per_s * 8 / 1e6,
                    found.board_load,
                    found.servers,
                    found.checkpoint_for_one_s,
                    disk / 1e9,
                    due.machines,
                    due.machines * due.hours,
                    due.usd,
                    due.usd / pages * 1e6,
                    due.network_share,
                    due.disk_share,
                    *(measured.get(n, (None, None))),
                )
            )
    return rows


def exchange_by_size(graph: WebGraph, seed: int, tick: Tick) -> tuple[list[float], list[float]]:
    """The logarithm of n and the URLs told per page, for some n."""
    hot = most_linked(graph)[:HOT_PAGES]
    sizes, shares = [0.0], [0.0]
    for place, n in enumerate(COUNTED):
        tick(place / len(COUNTED), f"what {n} gatherers tell one another")
        tellers = told(graph, page_owners(graph, "site-hash", n, seed), n).tellers
        sizes.append(float(np.log2(n)))
        shares.append(float(tellers.sum() - tellers[hot].sum()) / max(graph.pages, 1))
    return sizes, shares


def model_of_live(n: int, seconds: float, urls: int, costs: Costs) -> float:
    """The load of the whiteboard that the model gives for a live team, at the URLs per second that it told."""
    per_s = urls / seconds
    pages_per_s = n / (costs.page_cpu_s + costs.team_cpu_s)
    return capacity(n, per_s / pages_per_s if n > 1 else 0.0, costs).board_load


def charts(rows: Sequence[ScaleRow]) -> list[Chart]:
    teams = [row for row in rows if row.pages == PAGES[0]]
    ns = [row.n for row in teams]
    live = [row for row in teams if row.live_load is not None]
    load = [
        line(teams, "n", "whiteboard_load", "model on this graph"),
        ChartLine("one server, 70 %", [ns[0], ns[-1]], [0.7, 0.7]),
        line(live, "n", "live_load", "live teams on another web"),
        line(live, "n", "live_model", "model of these", from_paper=True),
    ]
    time = [
        line([row for row in rows if row.pages == pages], "n", "hours", f"{pages / 10**9:g} billion pages")
        for pages in PAGES[2:]
    ]
    return [
        Chart("Whiteboard", "gatherers n", "servers' time per second", [one for one in load if one.xs], True, True),
        Chart("Time of a crawl", "gatherers n", "hours", time, log_x=True, log_y=True),
    ]


def findings(rows: Sequence[ScaleRow]) -> list[Finding]:
    teams = [row for row in rows if row.pages == PAGES[0]]
    first = next((row for row in teams if row.redis_servers > 1), None)
    one = next((row for row in reversed(teams) if row.redis_servers == 1), None)
    last = teams[-1]
    whole = [row for row in rows if row.pages == PAGES[-1]]
    day = next((row for row in whole if row.hours <= 24), whole[-1])
    costs = Costs()
    quick = next((row for row in rows if row.pages == 10**9 and _hours(row) <= ANCHOR_HOURS), None)
    teams_live = [*(one for one in LIVE if one[0] > FITTED), *LATER]
    errors = [(n, model_of_live(n, seconds, urls, costs) / load - 1) for n, seconds, urls, load in teams_live]
    team_cost = {n: cpu_s / LIVE_CPU_S[1] - 1 for n, cpu_s in LIVE_CPU_S.items() if n > 1}
    return [
        checked(
            "one whiteboard serves a small team, a Redis Cluster a large one",
            "(Teng: TSpaces is the bottleneck)",
            f"one server up to n = {one.n if one else 0}"
            + (
                f", at {one.commands_per_s:,.0f} commands and {one.whiteboard_mbit_per_s:,.0f} Mbit/s; "
                if one
                else "; "
            )
            + (f"{first.redis_servers} servers at n = {first.n}, or one with " if first else "")
            + (f"checkpoints every {first.checkpoint_for_one_s:.0f} s; " if first else "")
            + f"{last.redis_servers} at n = {last.n}",
            bool(first) and teams[0].redis_servers == 1,
            f"on this graph {last.urls_per_page:.2g} URLs are told a page: one server has room for all these teams",
        ),
        checked(
            "10 billion pages are within reach",
            "(Cho: 1 billion pages in a month on 4 machines)",
            f"{day.hours:,.0f} hours with {day.n} gatherers at {day.pages_per_s:,.0f} pages/s, "
            f"{day.mbit_per_s / 1000:,.0f} Gbit/s, {day.disk_gb_each:,.0f} GB each",
            day.hours <= 24,
            "in a day, with a larger team than those asked for",
        ),
        checked(
            "a billion pages in a day cost some hundred dollars",
            f"(anchor: {ANCHOR_PAGES / 10**9:g} billion pages in {ANCHOR_HOURS:g} hours, {ANCHOR_MACHINES} machines, "
            f"${ANCHOR_USD:,.0f})",
            f"{_hours(quick):,.1f} hours on {quick.machines} machines, ${quick.usd:,.0f}: "
            f"${quick.usd_per_million:.2f} for a million pages"
            if quick
            else "no team of these takes a day",
            quick is not None and quick.usd <= ANCHOR_USD,
            "the anchor's pages, network and machines are not these: see --costs, --machine and --prices",
        ),
        Finding(
            "the model agrees with live teams that it was not made from",
            "(none)",
            ", ".join(f"{error:+.0%} of the load measured at n = {n}" for n, error in errors),
            max(abs(error) for _, error in errors) <= 0.25,
            f"the last {len(LATER)} are of a later release than the costs",
        ),
        Finding(
            "a team costs little more CPU than one gatherer",
            "(none)",
            f"{costs.team_cpu_s / LIVE_CPU_S[1]:+.0%} in the model; live "
            + ", ".join(f"{share:+.0%} (n = {n})" for n, share in team_cost.items()),
            max(team_cost.values()) < 0.2,
            "measured alone on the machine; beside the work of others, later, +35% (n = 4)",
        ),
    ]


def _hours(row: ScaleRow) -> float:
    """How long the crawl takes on its machines."""
    return row.machine_hours / row.machines


STUDY = Study("scale", TITLE, ABOUT, ScaleRow, run, charts, findings)
