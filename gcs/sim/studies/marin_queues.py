"""Marin's Figures 8, 9 and 10 and Table 1: what queues cost a crawler that works in batches of R.

One gatherer crawls by OPIC from the home pages of all sites, in supersteps of R pages. A page whose rank has changed is
inserted again and dropped when its old pair comes out, as in the live crawl. The calls of its queue are recorded and
replayed on each queue: all queues give the same answers, so one trace fits them all.

    Figure 8   comparisons of keys, binary heap against quickheap and tournament tree (nodes of R keys)
    Figure 9   blocks read and written, with room in memory for 10 and 30 % of the longest queue
    Table 1    efficiency of T trees, each with its part of the keys: the work of the average tree over that of the
    Figure 10  busiest one; T times that is the speed-up that T cores can give (measured: scripts/bench queues)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gcs.core.queues.blocks import MemoryStorage
from gcs.core.queues.chunks import RingChunks
from gcs.core.queues.contract import Ids, Keys, Queue, QueueCounts
from gcs.core.queues.queue_maker import QueueLayout, make_paged_queue, make_queue
from gcs.core.queues.quickheap import QuickHeap
from gcs.sim.engine.counting_loops import Loops
from gcs.sim.engine.supersteps import SteppedCrawl, SuperstepRules
from gcs.sim.graph.web_graph import Ids as PageIds
from gcs.sim.graph.web_graph import WebGraph
from gcs.sim.studies.marin_failures import home_pages
from gcs.sim.studies.study import Chart, Finding, Study, StudyRequest, Tick, checked, falls, line, lines

TITLE = "Priority queues in batches (Marin, Figures 8–10 and Table 1)"
ABOUT = "A crawl by OPIC with one gatherer is written down and replayed on each queue, which counts what it does."
#: R: pages per superstep
TOPS = (100, 1_000, 4_000, 16_000)
#: pages of the crawl, at most
MOST = 100_000
QUEUES = ("heap", "quickheap", "tournament")
ROOM = (0.1, 0.3)
BLOCK_KEYS = 500
#: T and the R of Table 1, the keys of all trees together, and how often they are extracted from
TREES, TREES_TOP = (1, 2, 4, 8), 8_000
TREES_KEYS, TREES_ROUNDS = 400_000, 40


@dataclass(frozen=True, slots=True)
class QueuesRow:
    """One queue in one experiment."""

    #: 8, 9 or 10
    figure: int
    queue: str
    #: R: pages per superstep; T: trees
    top: int
    trees: int = 1
    #: key comparisons per pair that went in
    comparisons: float | None = None
    #: part of the longest queue that has room in memory, and blocks read and written per 1,000 pairs
    room: float | None = None
    blocks: float | None = None
    #: Table 1, and the speed-up that it allows
    extract_efficiency: float | None = None
    insert_efficiency: float | None = None
    speedup: float | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """The calls of one crawl in their order: the pairs of insert_many, or the count of extract_top."""

    calls: Sequence[tuple[Keys, Ids] | int] = field(repr=False)
    #: pairs that went in, pairs that came out, and the most that waited at once
    inserted: int
    extracted: int
    longest: int


class _Recorder(QuickHeap):
    """A queue that records its calls."""

    def __init__(self) -> None:
        super().__init__(RingChunks())
        self.calls: list[tuple[Keys, Ids] | int] = []
        self.inserted = self.extracted = self.longest = 0

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        super().insert_many(keys, ids)
        self.calls.append((keys, ids))
        self.inserted += len(keys)
        self.longest = max(self.longest, len(self))

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        found = super().extract_top(count)
        self.calls.append(count)
        self.extracted += len(found[0])
        return found


def trace(graph: WebGraph, seeds: PageIds, pages_each: int, most: int) -> Trace:
    """Crawl so many pages with one gatherer."""
    queue = _Recorder()
    owners = np.zeros(graph.pages, np.int16)
    rules = SuperstepRules(owners, 1, order="opic", pages_each=pages_each, make_queue=lambda: queue)
    for _ in SteppedCrawl(graph, rules, seeds).steps(most):
        pass
    return Trace(queue.calls, queue.inserted, queue.extracted, queue.longest)


def replay(trace: Trace, queue: Queue) -> None:
    """Make the same calls to another queue."""
    for call in trace.calls:
        if isinstance(call, int):
            queue.extract_top(call)
        else:
            queue.insert_many(*call)


def run(graph: WebGraph, request: StudyRequest, tick: Tick) -> list[QueuesRow]:  # noqa: ARG001
    """Traces of crawls with every R, replayed."""
    seeds = home_pages(graph)
    tops = [top for top in TOPS if top <= max(graph.pages // 4, TOPS[0])]
    rows = []
    for place, top in enumerate(tops):
        tick(place / (len(tops) + 1), f"R = {top}")
        calls = trace(graph, seeds, top, MOST)
        rows += [_compared(calls, name, top) for name in QUEUES]
        rows += [_touched(calls, name, top, room) for name in QUEUES[1:] for room in ROOM]
    tick(len(tops) / (len(tops) + 1), "trees on threads")
    rows += [_shared(trees) for trees in TREES]
    return sorted(rows, key=lambda row: row.figure)


def _compared(calls: Trace, name: str, top: int) -> QueuesRow:
    loops = Loops()
    replay(calls, make_queue(name, loops, node_keys=top))
    return QueuesRow(8, name, top, comparisons=loops.counts.comparisons / max(calls.inserted, 1))


def _touched(calls: Trace, name: str, top: int, room: float) -> QueuesRow:
    loops = Loops()
    cache = max(int(calls.longest * room / BLOCK_KEYS), 1)
    queue, _ = make_paged_queue(name, MemoryStorage(), QueueLayout(BLOCK_KEYS, cache), loops)
    replay(calls, queue)
    touched = loops.counts.block_reads + loops.counts.block_writes
    return QueuesRow(9, name, top, room=room, blocks=1000 * touched / max(calls.inserted, 1))


def _shared(trees: int) -> QueuesRow:
    """T trees, as in the paper: filled at random, then extract-top(R/T) and insert-many(R/T) again and again."""
    chance = np.random.default_rng(1)
    top = TREES_TOP // trees
    loops = [Loops() for _ in range(trees)]
    counts, queues = [each.counts for each in loops], [make_queue("tournament", each, node_keys=top) for each in loops]
    for queue in queues:
        queue.insert_many(chance.random(TREES_KEYS // trees), np.arange(TREES_KEYS // trees, dtype=np.uint64))
    work: dict[str, list[list[int]]] = {"extract": [], "insert": []}
    for _ in range(TREES_ROUNDS):
        taken = [_work(counts, queue.extract_top, top) for queue in queues]
        work["extract"].append([sum(done) for done in zip(*(each[1] for each in taken))])
        put = [
            _work(counts, queue.insert_many, keys - chance.random(len(keys)), ids)
            for queue, ((keys, ids), _) in zip(queues, taken)
        ]
        work["insert"].append([sum(done) for done in zip(*(each[1] for each in put))])
    extract, insert = (_efficiency(np.array(work[kind])) for kind in ("extract", "insert"))
    both = _efficiency(np.array(work["extract"] + work["insert"]))
    return QueuesRow(
        10, "tournament", TREES_TOP, trees, extract_efficiency=extract, insert_efficiency=insert, speedup=trees * both
    )


def _work(counts: list[QueueCounts], call: Callable[..., Any], *words: object) -> tuple[Any, list[int]]:
    """The answer of a call, and the comparisons that it took each tree."""
    before = [each.comparisons for each in counts]
    answer = call(*words)
    return answer, [each.comparisons - was for each, was in zip(counts, before)]


def _efficiency(work: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> float:
    """Work of the average tree over that of the busiest one, in all calls together."""
    busiest = float(work.max(axis=1).sum())
    return float(work.mean(axis=1).sum()) / busiest if busiest else 1.0


#: Table 1
PAPER = tuple(
    QueuesRow(10, "tournament", 8_000, trees, extract_efficiency=extract, insert_efficiency=insert)
    for trees, extract, insert in ((1, 1.0, 1.0), (2, 0.99, 0.98), (4, 0.98, 0.97), (8, 0.95, 0.93))
)


def charts(rows: Sequence[QueuesRow]) -> list[Chart]:
    eight, nine, ten = ([row for row in rows if row.figure == figure] for figure in (8, 9, 10))
    blocks = [
        line(part, "top", "blocks", f"{name}, {room:.0%} in memory")
        for name in QUEUES[1:]
        for room in ROOM
        for part in [[row for row in nine if row.queue == name and row.room == room]]
    ]
    ideal = [line(ten, "trees", "trees", "ideal", from_paper=True)]
    return [
        Chart("Figure 8", "R", "comparisons per key", lines(eight, "queue", "top", "comparisons"), log_x=True),
        Chart("Figure 9", "R", "blocks per 1,000 keys", blocks, log_x=True, log_y=True),
        Chart("Figure 10", "trees T", "speed-up", [*lines(ten, "queue", "trees", "speedup"), *ideal], log_x=True),
    ]


def findings(rows: Sequence[QueuesRow]) -> list[Finding]:
    compared = {(row.queue, row.top): row.comparisons or 0 for row in rows if row.figure == 8}
    tops = list(dict.fromkeys(top for _, top in compared))
    large = [top for top in tops if top >= 1_000] or tops
    above = [
        f"the {name} at R = {top:,} ({compared[name, top]:.1f} to {compared['heap', top]:.1f})"
        for name in QUEUES[1:]
        for top in large
        if compared[name, top] >= compared["heap", top]
    ]
    last = tops[-1]
    touched = {(row.queue, row.top, row.room): row.blocks or 0 for row in rows if row.figure == 9}
    extra = [
        touched["tournament", top, room] / max(touched["quickheap", top, room], 1e-9) for top in large for room in ROOM
    ]
    trees = [row for row in rows if row.figure == 10]
    least = min(min(row.extract_efficiency or 1, row.insert_efficiency or 1) for row in trees)
    return [
        checked(
            "batches take fewer comparisons than a binary heap, the fewer the larger they are",
            "quickheap below the heap over a wide range of R",
            f"at R = {last:,}: heap {compared['heap', last]:.1f} per key, quickheap {compared['quickheap', last]:.1f}, "
            f"tree {compared['tournament', last]:.1f}",
            not above,
            f"not {', '.join(above)}. The quickheap pays for every batch, which small ones do not earn back; a URL "
            "that enters far below the top costs a heap a comparison or two, and the tree one on every level",
        ),
        checked(
            "the quickheap needs fewer comparisons as R grows",
            "falls with R",
            ", ".join(f"{compared['quickheap', top]:.1f} (R = {top:,})" for top in tops),
            falls([compared["quickheap", top] for top in tops]),
            "the graph is too small for more than one R"
            if len(tops) == 1
            else "the queue is short beside the larger R",
        ),
        Finding(
            "the quickheap touches fewer blocks than the tree",
            "about 20 % fewer",
            f"the tree touches {min(extra):.1f} to {max(extra):.1f} times as many (R ≥ {large[0]:,})",
            sum(extra) / len(extra) >= 1,
            f"{sum(extra) / len(extra):.2f} times on average; the more has room in memory, the less they differ"
            + ("" if sum(extra) >= len(extra) / 2 else ". Of a queue of so few blocks this says little"),
        ),
        Finding(
            "T trees share the work evenly",
            "0.95 extracting, 0.93 inserting at T = 8",
            f"{trees[-1].extract_efficiency or 0:.2f} extracting, {trees[-1].insert_efficiency or 0:.2f} inserting at "
            f"T = {trees[-1].trees}",
            least >= 0.93,
            "the paper's trees hold 10 million keys each, these 50,000",
        ),
    ]


STUDY = Study(
    "marin-queues", TITLE, ABOUT, QueuesRow, run, charts, findings, PAPER, keys=("figure", "queue", "top", "trees")
)
