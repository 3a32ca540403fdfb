"""One gatherer's frontier as it grows: what an insert, a look-up and a dispatch take, and how it is opened and divided.

    scripts/bench frontier_scale [--json] [--quick] [--steps 1000000,10000000] [--folder DIR]

Links of a made-up web come in, a page's at a time, until so many URLs are known. At each step: inserts a second (since
the step before), look-ups (half of them known), and dispatches: URLs that are taken from their hosts' queues, and are
finished. Half of the URLs go on waiting. At the last step the process is killed (kill -9) while it inserts; another
opens the file. Then a third of all keys is handed over, part by part, as a gatherer does, and between two parts
URLs are dispatched. All times are those of the clock; `cpu_s` is beside them. Memory is the most that the process had;
the frontier's file is mapped, and is given back to the kernel as it goes.
"""

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import sort_key
from gcs.ports.frontier import Frontier, FrontierSettings, Mark

HOSTS, LINKS, SECTIONS = 20_000, 44, 23
LOOKUPS, DISPATCHES = 100_000, 50_000
PART_URLS = 2_000


def links(seed: int, universe: int) -> Iterator[list[str]]:
    """The links of page after page; hosts have Zipf sizes."""
    chance = np.random.default_rng(seed)
    weights = 1 / np.arange(1, HOSTS + 1)
    shares = weights / weights.sum()
    while True:
        for host in chance.choice(HOSTS, 1000, p=shares).tolist():
            size = int(universe * shares[host]) + 50
            yield [
                f"https://www.host-{host:05d}.example/section-{page % SECTIONS}/page-{page:07d}.html"
                for page in chance.integers(0, size, LINKS).tolist()
            ]


def entries(urls: list[str]) -> list[QueuedUrl]:
    return [QueuedUrl(url=url, parent=urls[0], depth=1, priority=1) for url in urls]


def grow(frontier: Frontier, pages: Iterator[list[str]], known: int) -> int:
    """Insert until so many URLs are known; returns how many were offered."""
    offered = 0
    for urls in pages:
        frontier.insert(entries(urls))
        offered += len(urls)
        if frontier.wants_commit:
            frontier.commit()
            if frontier.known() >= known:
                return offered
    raise AssertionError("the web has no end")


def dispatch(frontier: Frontier, hosts: Iterator[str], count: int) -> int:
    """Take URLs of one host after the other, and finish them; ends where the hosts have none."""
    done = 0
    for host in itertools.islice(hosts, count):
        for entry in frontier.take(host, 20):
            frontier.finish(entry.url, Mark.DONE)
            done += 1
        if frontier.wants_commit:
            frontier.commit()
        if done >= count:
            return done
    return done


def hosts_of(chance: Random) -> Iterator[str]:
    """Hosts as their URLs are: the large ones more often."""
    while True:
        yield f"www.host-{int(HOSTS ** chance.random()) - 1:05d}.example"


def peak_mb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))


def size_mb(folder: Path) -> int:
    return sum(entry.stat().st_blocks * 512 for entry in os.scandir(folder)) >> 20


def measure(folder: Path, steps: list[int]) -> list[dict[str, float]]:
    """A row for each step."""
    frontier = Frontier(folder, FrontierSettings())
    universe = steps[-1] * 3
    pages, others, hosts = links(1, universe), links(2, universe), hosts_of(Random(1))
    rows: list[dict[str, float]] = []
    for step in steps:
        cpu_s, begun = time.process_time(), time.perf_counter()
        offered = grow(frontier, pages, step)
        insert_s = time.perf_counter() - begun
        before = frontier.known()
        asked = itertools.islice((url for each in others for url in each), LOOKUPS)
        urls = list(asked)
        begun = time.perf_counter()
        found = sum(frontier.mark(url) is not None for url in urls)
        lookup_s = time.perf_counter() - begun
        begun = time.perf_counter()
        done = dispatch(frontier, hosts, DISPATCHES)
        frontier.commit()
        rows.append(
            {
                "known": before,
                "queued": frontier.queued(),
                "insert_per_s": round(offered / insert_s),
                "lookup_per_s": round(len(urls) / lookup_s),
                "found_share": round(found / len(urls), 2),
                "dispatch_per_s": round(done / (time.perf_counter() - begun)),
                "cpu_s": round(time.process_time() - cpu_s, 1),
                "peak_mb": peak_mb(),
                "disk_mb": size_mb(folder),
            }
        )
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    frontier.commit()
    frontier.close()
    return rows


def insert_for_ever(folder: Path) -> None:
    """In a process that is to be killed: says when it has begun."""
    frontier = Frontier(folder, FrontierSettings())
    print("begun", flush=True)
    grow(frontier, links(3, 10**9), 10**9)


def divide(folder: Path) -> dict[str, float]:
    """Open after kill -9; hand over a third."""
    command = [sys.executable, __file__, "--insert", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(2)
        process.send_signal(signal.SIGKILL)
    begun = time.perf_counter()
    frontier = Frontier(folder, FrontierSettings())
    open_s = time.perf_counter() - begun
    low = sort_key("https://www.host-00003.example/")
    total, moved, done, parts = frontier.known(), 0, 0, 0
    hosts = hosts_of(Random(2))
    begun, longest_s = time.perf_counter(), 0.0
    at: bytes | None = low
    while at is not None and moved < total / 3:
        part_at = time.perf_counter()
        piece = frontier.range_moves.take_out(at, b"\xff", lambda _: False, PART_URLS)
        moved, parts, at = moved + len(piece.entries) + len(piece.marks), parts + 1, piece.next
        longest_s = max(longest_s, time.perf_counter() - part_at)
        done += dispatch(frontier, hosts, PART_URLS // 10)
        if frontier.wants_commit:
            frontier.commit()
    frontier.commit()
    took_s = time.perf_counter() - begun
    frontier.close()
    return {
        "open_after_kill_s": round(open_s, 2),
        "handed_over": moved,
        "hand_over_s": round(took_s, 1),
        "longest_part_s": round(longest_s, 3),
        "dispatched_meanwhile": done,
        "peak_mb": peak_mb(),
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="few URLs: to see that it works")
    parser.add_argument("--steps", default="1000000,10000000", help="known URLs at which it is measured")
    parser.add_argument("--folder", type=Path, help="where the frontier lies; it is removed at the end")
    parser.add_argument("--insert", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.insert:
        insert_for_ever(options.insert)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="frontier-"))
    try:
        steps = [5_000, 20_000] if options.quick else sorted(map(int, options.steps.split(",")))
        rows, last = measure(folder, steps), divide(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps({"steps": rows, **last}))
        return
    print(" | ".join(rows[0]))
    for row in rows:
        print(" | ".join(f"{value:>{len(name)},}" for name, value in row.items()))
    print("\n".join(f"{name:<22}{value:>14,}" for name, value in last.items()))


if __name__ == "__main__":
    main()
