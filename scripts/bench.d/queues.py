"""The frontier's queues beside heapq and a plain heap: time, comparisons, blocks touched, memory, threads, 100M keys.

    python scripts/bench.d/queues.py [--json] [--quick] [--table NAME]

A queue of n random keys is filled, and one is extracted, so that work which was put off is counted; then it does what
Marin's crawlers do: extract_top(R), and insert_many(R) of keys that are worse than those extracted by a random
amount, so that the queue keeps its size and shape. A *pair* is one key that goes out and one that comes in.
Each row has a process of its own. Times are CPU seconds (on disk also seconds of the clock), of pairs the least of two
runs of as many pairs as there are keys, or 10M: a quickheap does its work now and then. peak_mb is the process's
largest memory; numba is 100 MB of it, which heap, a binary heap over arrays, and the tree are compiled by. heapq holds
tuples (-key, id). The tree has nodes of 8,192 keys for time and memory, and of R keys, as in the paper, for comparisons
and blocks.

comparisons  of keys, per pair (Figure 8). heap sinks as in textbooks; heapq, which sinks to the bottom and climbs back,
             is counted by a class of keys
growing      comparisons per key extracted, in a queue that grows: five keys come in for each that goes out
blocks       blocks of 1,000 keys read and written per 1,000 pairs, with a cache of 10 and 30 % of the queue (Figure 9);
             over as many pairs as there are keys, or 10M
threads      two trees one after the other, then on two threads at once (Figure 10), then in two processes, which is
             what the machine can give; in turns. speedup and processes are medians of ratios of the clock's seconds,
             cpu_ratio and processes_cpu of CPU seconds, over the calm turns: those in which nobody else took 5 % of the
             machine (over all, if none was calm)
disk         millions of keys a second in a folder, with a cache of 256 MB: filled and one extracted, pairs, then a
             quarter extracted; by the clock and by CPU
"""

import argparse
import gc
import heapq
import itertools
import json
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from gcs.core.malloc import keep_arena
from gcs.core.queues.blocks import MemoryStorage
from gcs.core.queues.queue_maker import QueueLayout, make_paged_queue, make_queue
from gcs.ports.frontier.disk_queue import DiskQueue
from gcs.ports.system.process import peak_rss_mb
from gcs.sim.engine.counting_loops import Loops

BATCH = 100_000
#: pairs of each tree in a turn on threads, which lasts about a second, so that some are left in peace
TURN_PAIRS = 2_000_000
#: a turn counts if others took less than this part of the machine; so many are enough, and nobody waits longer
CALM, ENOUGH, PATIENCE_S = 0.05, 9, 50.0
#: pairs of a queue whose work is uneven: as many as keys, so that a quickheap has split all its chunks, but not more
AMORTISED = 10_000_000
#: keys in a block, where blocks are counted
BLOCK_KEYS = 1000
OURS = ("quickheap", "tournament")


@dataclass(frozen=True)
class Sizes:
    """What is measured: short in CI, long by hand."""

    keys: tuple[int, ...] = (1_000_000, 10_000_000, 50_000_000)
    tops: tuple[int, ...] = (1_000, 10_000, 100_000)
    #: keys for counting, which is slower
    counted: tuple[int, ...] = (1_000_000, 10_000_000, 50_000_000)
    pairs: int = 1_000_000
    disk: tuple[int, ...] = (1_000_000, 100_000_000)
    turns: int = 600
    #: each row in a process of its own, so that its memory is its own
    apart: bool = True


QUICK = Sizes((50_000,), (1_000, 10_000), (50_000,), 50_000, (100_000,), 2, apart=False)


class Heapq:
    """heapq behind the contract, spared the garbage collector."""

    def __init__(self) -> None:
        gc.disable()
        self._heap: list[tuple[float, int]] = []

    def insert_many(self, keys: Any, ids: Any) -> None:
        """One by one."""
        for pair in zip((-keys).tolist(), ids.tolist()):
            heapq.heappush(self._heap, pair)

    def extract_top(self, count: int) -> tuple[Any, Any]:
        """One by one."""
        pairs = [heapq.heappop(self._heap) for _ in range(count)]
        return -np.array([key for key, _ in pairs]), np.array([each for _, each in pairs], np.uint64)


class Counted(float):
    """A key that counts how often heapq compares it."""

    compared = 0

    def __lt__(self, other: float) -> bool:
        Counted.compared += 1
        return float.__lt__(self, other)


def fill(queue: Any, keys: int, chance: np.random.Generator, batch: int = BATCH) -> None:
    """Insert so many random keys."""
    for start in range(0, keys, batch):
        some = min(batch, keys - start)
        queue.insert_many(chance.random(some), np.arange(start, start + some, dtype=np.uint64))


def pairs(queue: Any, top: int, rounds: int, chance: np.random.Generator) -> None:
    """Extract and insert."""
    for _ in range(rounds):
        keys, ids = queue.extract_top(top)
        queue.insert_many(keys - chance.random(top), ids)


def warmed(queue: Any, keys: int, top: int, chance: np.random.Generator) -> Any:
    """A queue that was filled and has done its first work."""
    fill(queue, keys, chance)
    pairs(queue, top, max(min(keys // 20, 500_000) // top, 3), chance)
    return queue


def timed(name: str, keys: int, top: int, most: int) -> dict[str, float]:
    """Nanoseconds of CPU a key inserted first, and a pair; peak memory."""
    chance = np.random.default_rng(1)
    queue = Heapq() if name == "heapq" else make_queue(name)
    if name in ("heap", "tournament"):  # compile before the clock runs
        pairs(warmed(make_queue(name), 100, 10, chance), 10, 1, chance)
    begun = time.process_time()
    fill(queue, keys, chance)
    keys_1, ids_1 = queue.extract_top(1)
    filled = time.process_time() - begun
    queue.insert_many(keys_1, ids_1)
    rounds = max((min(keys, AMORTISED) if name in OURS else most // (10 if name == "heapq" else 1)) // top, 3)
    best = float("inf")
    for _ in range(2):
        begun = time.process_time()
        pairs(queue, top, rounds, chance)
        best = min(best, (time.process_time() - begun) / rounds / top)
    peak = peak_rss_mb()
    return {"fill_ns": round(filled / keys * 1e9, 1), "pair_ns": round(best * 1e9, 1), "peak_mb": round(peak)}


def compared(name: str, keys: int, top: int, most: int) -> float:
    """Comparisons per pair."""
    chance, rounds = np.random.default_rng(1), max(most // top // 4, 3)
    if name == "heapq":
        heap = [(Counted(-key), each) for each, key in enumerate(chance.random(keys).tolist())]
        heapq.heapify(heap)
        Counted.compared = 0
        for _ in range(rounds):
            out = [heapq.heappop(heap) for _ in range(top)]
            for (key, each), more in zip(out, chance.random(top).tolist()):
                heapq.heappush(heap, (Counted(key + more), each))
        return round(Counted.compared / (rounds * top), 1)
    do = Loops()
    counts, queue = do.counts, warmed(make_queue(name, do, node_keys=top), keys, top, chance)
    counts.comparisons = 0
    pairs(queue, top, rounds, chance)
    return round(counts.comparisons / (rounds * top), 1)


def touched(name: str, keys: int, top: int, most: int, share: float) -> float:
    """Blocks of BLOCK_KEYS read and written, per so many pairs."""
    size = top if name == "tournament" else BLOCK_KEYS
    do, chance = Loops(), np.random.default_rng(1)
    counts = do.counts
    layout = QueueLayout(size, max(int(keys * share / size), 4))
    queue, blocks = make_paged_queue(name, MemoryStorage(), layout, do)
    rounds = max(most, min(keys, AMORTISED)) // top
    warmed(queue, keys, top, chance)
    blocks.flush()
    counts.block_reads = counts.block_writes = 0
    pairs(queue, top, rounds, chance)
    blocks.flush()
    return round((counts.block_reads + counts.block_writes) * (size / BLOCK_KEYS) / (rounds * top / BLOCK_KEYS), 2)


def others_s() -> float:
    """CPU seconds that the machine has spent on anything but this process and its children, steal included."""
    try:
        busy = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:  # not Linux: all turns count
        return 0.0
    user, nice, system, _, _, irq, softirq, steal = (int(each) for each in busy)
    own = os.times()
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK") - own.user - own.system - own.children_user - own.children_system


def work_alone(pipe: Connection, keys: int, top: int, rounds: int, seed: int) -> None:
    """A process of its own with one tree: a turn for each message."""
    keep_arena()
    chance = np.random.default_rng(seed)
    tree = warmed(make_queue("tournament"), keys, top, chance)
    pipe.send(0.0)
    while pipe.recv():
        begun = time.process_time()
        pairs(tree, top, rounds, chance)
        pipe.send(time.process_time() - begun)


def median(values: list[float]) -> float:
    """To two places."""
    return round(statistics.median(values), 2)


def two_threads(keys: int, top: int, turns: int) -> dict[str, float]:
    """How much faster two trees are on two threads, and in two processes, than one after the other."""
    keep_arena()  # as a gatherer does: memory that one thread gives back to the kernel stops the other
    chances = [np.random.default_rng(seed) for seed in (1, 2)]
    trees = [warmed(make_queue("tournament"), keys, top, chance) for chance in chances]
    rounds = max(TURN_PAIRS // top, 1)
    pipes, children = [], []
    for seed in (1, 2):
        here, there = multiprocessing.Pipe()
        child = multiprocessing.get_context("spawn").Process(target=work_alone, args=(there, keys, top, rounds, seed))
        child.start()
        pipes.append(here)
        children.append(child)

    def one_by_one() -> float:
        begun = time.process_time()
        for tree, chance in zip(trees, chances):
            pairs(tree, top, rounds, chance)
        return time.process_time() - begun

    def at_once() -> float:
        begun = time.process_time()
        threads = [
            threading.Thread(target=pairs, args=(tree, top, rounds, chance)) for tree, chance in zip(trees, chances)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.process_time() - begun

    def in_processes() -> float:
        for pipe in pipes:
            pipe.send(True)
        return sum(pipe.recv() for pipe in pipes)

    for pipe in pipes:
        pipe.recv()  # it is warm
    calm: list[list[tuple[float, float]]] = []
    all_turns: list[list[tuple[float, float]]] = []
    begun_at = time.perf_counter()
    while len(all_turns) < turns and len(calm) < ENOUGH and time.perf_counter() - begun_at < PATIENCE_S:
        turn, noise_s = [], others_s()
        for way in (one_by_one, at_once, in_processes):
            begun = time.perf_counter()
            cpu_s = way()
            turn.append((time.perf_counter() - begun, cpu_s))
        noise_s = others_s() - noise_s - turn[-1][1]  # the processes' CPU counts as others' until they have ended
        all_turns.append(turn)
        if noise_s < CALM * (os.cpu_count() or 1) * sum(clock_s for clock_s, _ in turn):
            calm.append(turn)
    for pipe, child in zip(pipes, children):
        pipe.send(False)
        child.join()
    took = calm or all_turns
    return {
        "one_ns": median([one[1] / (2 * rounds * top) * 1e9 for one, _, _ in took]),
        "speedup": median([one[0] / two[0] for one, two, _ in took]),
        "cpu_ratio": median([two[1] / one[1] for one, two, _ in took]),
        "processes": median([one[0] / two[0] for one, _, two in took]),
        "processes_cpu": median([two[1] / one[1] for one, _, two in took]),
        "calm": len(calm),
        "turns": len(all_turns),
    }


def on_disk(name: str, keys: int, top: int) -> dict[str, float]:
    """Keys a second in and out of a queue in a folder."""
    chance = np.random.default_rng(1)

    def rate(work: Callable[[], object], done: int) -> tuple[float, float]:
        begun, cpu = time.perf_counter(), time.process_time()
        work()
        return done / (time.perf_counter() - begun) / 1e6, done / (time.process_time() - cpu) / 1e6

    with tempfile.TemporaryDirectory() as folder:
        queue = DiskQueue(name, Path(folder))
        put = rate(lambda: (fill(queue, keys, chance), queue.extract_top(1)), keys)
        rounds = max(keys // top // 20, 50)
        both = rate(lambda: pairs(queue, top, rounds, chance), rounds * top)
        rounds = max(keys // 4 // top, 1)
        got = rate(lambda: [queue.extract_top(top) for _ in range(rounds)], rounds * top)
        begun = time.perf_counter()
        queue.save()
        saved = time.perf_counter() - begun
        queue.close()
    peak = peak_rss_mb()
    figures = {"insert": put, "pairs": both, "extract": got}
    rates = {
        f"{verb}/{unit}": round(value, 2) for verb, two in figures.items() for unit, value in zip(("s", "cpu s"), two)
    }
    return {**rates, "save_s": round(saved, 2), "peak_mb": round(peak)}


def apart(work: Callable[..., Any], *args: Any) -> Any:
    """Do it in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args).result()


def growing(name: str, keys: int, top: int) -> float:
    """Comparisons per key that goes out, when five come in for it, until so many wait."""
    do, chance = Loops(), np.random.default_rng(1)
    counts = do.counts
    queue = make_queue(name, do, node_keys=top)
    rounds = keys // (4 * top)
    for _ in range(rounds):
        fill(queue, 5 * top, chance, 5 * top)
        queue.extract_top(top)
    return round(counts.comparisons / (rounds * top), 1)


Rows = Iterator[dict[str, Any]]
Run = Callable[..., Any]


def time_rows(sizes: Sizes, run: Run) -> Rows:
    """Time and memory."""
    for keys in sizes.keys:
        for name in ("heapq", "heap", *OURS):  # one key after the other costs the same whatever R
            for top in sizes.tops[1:2] if name in ("heapq", "heap") else sizes.tops:
                yield {"keys": keys, "queue": name, "R": top, **run(timed, name, keys, top, sizes.pairs)}


def comparison_rows(sizes: Sizes, run: Run) -> Rows:
    """Figure 8."""
    for keys in sizes.counted:
        names = ("heap", *OURS, "heapq") if keys == sizes.counted[0] else ("heap", *OURS)
        for top in sizes.tops:
            yield {"keys": keys, "R": top, **{name: run(compared, name, keys, top, sizes.pairs) for name in names}}


def growing_rows(sizes: Sizes, run: Run) -> Rows:
    """The same for a queue that grows."""
    for top in sizes.tops:
        keys = max(sizes.counted[0], 10 * top)
        yield {"keys": keys, "R": top, **{name: run(growing, name, keys, top) for name in ("heap", *OURS)}}


def block_rows(sizes: Sizes, run: Run) -> Rows:
    """Figure 9; at least 100 R keys, so that the cache holds some of the tree's nodes."""
    for share, top in itertools.product((0.1, 0.3), sizes.tops):
        for keys in sorted({max(each, 100 * top) for each in sizes.counted}):
            row = {name: run(touched, name, keys, top, sizes.pairs, share) for name in OURS}
            yield {"keys": keys, "R": top, "cache": share, **row}


def thread_rows(sizes: Sizes, run: Run) -> Rows:
    """Figure 10."""
    for top in sizes.tops:
        yield {"R": top, **run(two_threads, sizes.keys[0], top, sizes.turns)}


def disk_rows(sizes: Sizes, run: Run) -> Rows:
    """From what fits into the cache to what does not."""
    for name in OURS:
        for keys in sizes.disk:
            yield {"queue": name, "keys": keys, "R": 10_000, **run(on_disk, name, keys, 10_000)}


TABLES = {
    "time": time_rows,
    "comparisons": comparison_rows,
    "growing": growing_rows,
    "blocks": block_rows,
    "threads": thread_rows,
    "disk": disk_rows,
}


def summary(tables: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    """The figures of the tables that were made: the least of all rows, and of two threads that for R = 10,000."""
    found = {}
    times = tables.get("time", [])
    heapq_ns = {row["keys"]: row["pair_ns"] for row in times if row["queue"] == "heapq"}
    for name, key in zip(OURS, ("quickheap_vs_heapq", "tree_vs_heapq")):
        ratios = [heapq_ns[row["keys"]] / row["pair_ns"] for row in times if row["queue"] == name]
        if ratios:
            found[key] = round(min(ratios), 1)
    for row in tables.get("threads", []):
        if row["R"] == 10_000:
            found["two_threads_speedup"] = row["speedup"]
    return found


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it works")
    parser.add_argument("--table", action="append", choices=TABLES, help="only this one; may be given again")
    options = parser.parse_args()
    sizes = QUICK if options.quick else Sizes()
    run = apart if sizes.apart else lambda work, *args: work(*args)
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in options.table or TABLES:
        rows = tables.setdefault(name, [])
        for row in TABLES[name](sizes, run):
            if not options.json:
                if not rows:
                    print(f"\n{name}\n" + "".join(f"{key:>16}" for key in row))
                print("".join(f"{value:>16}" for value in row.values()), flush=True)
            rows.append(row)
    figures = summary(tables)
    if options.json:
        print(json.dumps({**figures, **tables}))
    else:
        print("\n" + ", ".join(f"{name} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
