"""Teng §6: what a small table of hot pages spares, by its size.

A team crawls breadth first. Now and then the leader makes the C most linked URLs seen so far known to all (as a plan
does). From then on a link to one of them is not posted to its owner, and is not put into the queue again. The queue is
that of the paper: a URL enters it with every link to a page that was not fetched yet, so that popular ones pile up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gcs.core.plan.metrics import communication
from gcs.sim.engine.reach import NEVER, reach
from gcs.sim.graph.owners import Owners, page_owners
from gcs.sim.graph.web_graph import Ids, WebGraph
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, line, lines

TITLE = "Hot pages (Teng §6)"
ABOUT = (
    "Breadth first; twenty times in the crawl, the most linked URLs seen so far become known to all. Links to them "
    "are neither posted nor queued again."
)
KS = (8, 64)
SIZES = (0, 100, 1_000, 10_000, 100_000)
#: plans in a crawl, at first in quick succession, and the part of it that the first of them sees
PLANS, FIRST = 20, 1e-3
#: a seed for so many pages
PAGES_PER_SEED = 100


@dataclass(frozen=True, slots=True)
class HotPagesRow:
    """One team with a table of one size."""

    k: int
    #: C: URLs in the table of hot pages
    table: int
    #: URLs posted per page fetched
    posts_per_page: float
    #: part of the crossing links that were not posted
    suppressed: float
    #: the most entries that stood in the queue at once, per page of the graph
    queue_peak: float
    #: posts per page when the table is known from the last session
    posts_known_before: float


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[HotPagesRow]:
    """One crawl, looked at with tables of all sizes."""
    ks = request.ks or KS
    chance = np.random.default_rng(request.seed)
    seeds = chance.choice(graph.pages, max(graph.pages // PAGES_PER_SEED, 1), replace=False)
    depth = reach(graph, seeds)
    order = np.argsort(depth, kind="stable")[int((depth == NEVER).sum()) :]
    at = np.full(graph.pages, len(order), np.int64)
    at[order] = np.arange(len(order))
    final = np.argsort(-graph.in_degrees(), kind="stable")
    rows = []
    sizes = [size for size in SIZES if size < graph.pages]
    for place, k in enumerate(ks):
        owners = page_owners(graph, "site-hash", k, request.seed)
        for number, size in enumerate(sizes):
            tick((place + number / len(sizes)) / len(ks), f"{k} gatherers, {size} hot pages")
            rows.append(_row(graph, owners, order, at, final[:size], k))
    return rows


def _row(graph: WebGraph, owners: Owners, order: Ids, at: Ids, final: Ids, k: int) -> HotPagesRow:
    """The crawl in order, with a new table after each part of it, as large as that of the last session (`final`)."""
    size = len(final)
    seen = np.zeros(graph.pages, np.int64)
    hot, known = np.zeros(graph.pages, np.bool_), np.zeros(graph.pages, np.bool_)
    known[final] = True
    crossing = posted = posted_known = 0
    entered, queued, peak = np.zeros(graph.pages, np.int64), 0, 0
    ends = np.unique((np.geomspace(FIRST, 1, PLANS) * len(order)).astype(np.int64))[:-1]
    for part in np.split(order, ends):
        for pages in graph.batches(part):
            counts, targets = graph.links_of(pages)
            crosses = owners[targets] != np.repeat(owners[pages], counts)
            crossing += int(crosses.sum())
            posted += int((crosses & ~hot[targets]).sum())
            posted_known += int((crosses & ~known[targets]).sum())
            # a link to a page that is fetched later enters the queue, and leaves it with all its like in its turn
            waits = targets[(at[targets] > np.repeat(at[pages], counts)) & ~hot[targets]]
            entered += np.bincount(waits, minlength=graph.pages)
            queued += len(waits) - int(entered[pages].sum())
            peak = max(peak, queued)
            seen += np.bincount(targets, minlength=graph.pages)
        if size:
            border = max(int(np.partition(seen, -size)[-size]), 1)
            hot = seen > border
            hot[np.flatnonzero(seen == border)[: size - int(hot.sum())]] = True  # of equals, those that come first
    posts, posts_known = (communication(count, len(order)) for count in (posted, posted_known))
    suppressed = 1 - posted / crossing if crossing else 0.0
    return HotPagesRow(k, size, posts, suppressed, peak / max(graph.pages, 1), posts_known)


def charts(rows: Sequence[HotPagesRow]) -> list[Chart]:
    ahead = [row for row in rows if row.k == rows[-1].k]
    posts = [
        *lines(rows, "k", "table", "posts_per_page", "{} gatherers"),
        line(ahead, "table", "posts_known_before", f"{rows[-1].k}, known before"),
    ]
    queue = [line(ahead, "table", "queue_peak", "all gatherers")]
    return [
        Chart("Hot pages", "hot pages in the table", "URLs posted per page", posts, log_x=True),
        Chart("Queue", "hot pages in the table", "entries per page, at most", queue, log_x=True),
    ]


def findings(rows: Sequence[HotPagesRow]) -> list[Finding]:
    most = [row for row in rows if row.k == rows[-1].k]
    thousand = next((row for row in most if row.table == 1_000), most[-1])
    last = most[-1]
    return [
        checked(
            "hot pages spare many posts",
            "(no figures) “very good improvement”",
            f"{thousand.suppressed:.0%} of the posts with {thousand.table:,} hot pages, {last.suppressed:.0%} with "
            f"{last.table:,} (k = {last.k})",
            last.suppressed > 0.3,
            "links into other sites are spread over many pages" if most[0].posts_per_page else "nothing is posted",
        ),
        Finding(
            "hot pages keep the queue small",
            "(no figures); without, it grows 15 times as fast as the table of pages visited",
            f"{most[0].queue_peak:.1f} entries per page without, {thousand.queue_peak:.1f} with {thousand.table:,}, "
            f"{last.queue_peak:.1f} with {last.table:,}",
            last.queue_peak <= 0.9 * most[0].queue_peak,
            "a crawl from one page in a hundred meets most pages before their many links, so little piles up",
        ),
        checked(
            "hot pages can be learned while crawling",
            "(no figures)",
            f"{thousand.posts_per_page:.3f} posts a page when learned, {thousand.posts_known_before:.3f} when known "
            f"before ({thousand.table:,} hot pages)",
            thousand.posts_per_page - thousand.posts_known_before
            <= 0.5 * max(most[0].posts_per_page - thousand.posts_known_before, 0),
            "no page has many links: by the time it is known to be hot, most of them have been followed",
        ),
    ]


STUDY = Study("teng-hot-pages", TITLE, ABOUT, HotPagesRow, run, charts, findings, by_sites=True)
