"""The live frontier (LMDB): URLs queued a second, look-ups a second, and memory a URL.

    python scripts/bench.d/frontier.py [--json] [--quick] [--urls N] [--order NAME] [--queue NAME] [--threads T]

The URLs are those of a made-up web: hosts of Zipf sizes, in the order in which a crawl would find them, the links of
a page at a time. Half of the look-ups are of known URLs. A commit, with fsync, comes when the frontier asks for
one. Times are seconds of CPU and of the clock; ram_bytes_per_url is what the process grew by at its peak (its memory
map is given back to the kernel's cache as it goes), disk_bytes_per_url the file.

With a queue (one order over all hosts), every URL is linked to once more, so that its rank changes, then some are
extracted, and the frontier is closed and opened again; peak_mb is that of all this, before the look-ups.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from gcs.app.assembly import HOSTS as HOSTS_QUEUE
from gcs.app.assembly import queue_maker
from gcs.core.ordering import GIFT, ORDERS
from gcs.core.queues.queue_maker import QUEUES
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier import Frontier, FrontierSettings

HOSTS, LINKS = 20_000, 44
#: extractions, and URLs in each
DRAWS, DRAW_URLS = 40, 128


def urls(count: int, seed: int) -> Iterator[list[str]]:
    """Links of page after page; the same URL comes again now and then."""
    chance = np.random.default_rng(seed)
    weights = 1 / np.arange(1, HOSTS + 1)
    for host in chance.choice(HOSTS, -(-count // LINKS), p=weights / weights.sum()).tolist():
        pages = chance.integers(0, count // 10 + 50, LINKS).tolist()
        yield [f"https://www.host-{host:05d}.example/section-{page % 23}/page-{page:07d}.html" for page in pages]


def memory_bytes(kind: str) -> int:
    """Memory of this process: VmRSS now, VmHWM at its peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1]) * 1024
    return 0


def measure(count: int, folder: Path, order: str, settings: FrontierSettings) -> dict[str, float]:
    """Insert and look up."""
    frontier = Frontier(folder, settings, ORDERS[order], queue_maker(folder, settings))
    before, batches = memory_bytes("VmRSS"), urls(count, 1)
    wall_s = cpu_s = 0.0
    offered = 0
    for links in batches:
        entries = [QueuedUrl(url=url, depth=1, priority=1) for url in links]
        begun, used = time.perf_counter(), time.process_time()
        frontier.insert(entries)
        if frontier.wants_commit:
            frontier.commit()
        wall_s, cpu_s = wall_s + time.perf_counter() - begun, cpu_s + time.process_time() - used
        offered += len(links)
    frontier.commit()
    known = frontier.known()
    grown = memory_bytes("VmHWM") - before
    pooled: dict[str, float] = {}
    if frontier.is_pooled:
        pooled = draw(frontier, urls(count, 1))
        frontier.close()
        begun = time.perf_counter()
        frontier = Frontier(folder, settings, ORDERS[order], queue_maker(folder, settings))
        pooled |= {"open_s": round(time.perf_counter() - begun, 1), "peak_mb": memory_bytes("VmHWM") >> 20}
    looked = found = 0
    looked_s = looked_cpu_s = 0.0
    for seed in (1, 2):  # known ones, and others
        for links in islice(urls(count, seed), 500_000 // LINKS):
            begun, used = time.perf_counter(), time.process_time()
            found += sum(frontier.mark(url) is not None for url in links)
            looked_s, looked_cpu_s = looked_s + time.perf_counter() - begun, looked_cpu_s + time.process_time() - used
            looked += len(links)
    frontier.close()
    size = sum(entry.stat().st_blocks * 512 for entry in os.scandir(folder))
    return {
        "urls": known,
        "insert_per_s": round(offered / wall_s),
        "lookup_per_s": round(looked / looked_s),
        "insert_per_cpu_s": round(offered / cpu_s),
        "lookup_per_cpu_s": round(looked / looked_cpu_s),
        "ram_bytes_per_url": round(max(grown, 0) / known, 1),
        "disk_bytes_per_url": round(size / known, 1),
        "known_share_of_lookups": round(found / looked, 2),
        **pooled,
    }


def draw(frontier: Frontier, batches: Iterator[list[str]]) -> dict[str, float]:
    """Give to every URL, and extract some."""
    begun, given = time.process_time(), 0
    for links in batches:
        frontier.insert([QueuedUrl(url=url, depth=GIFT, worth=1.0) for url in links])
        given += len(links)
        if frontier.wants_commit:
            frontier.commit()
    gift_s = time.process_time() - begun
    begun, taken = time.process_time(), 0
    for _ in range(DRAWS):
        taken += len(frontier.extract(DRAW_URLS, lambda _: True)[0])
    frontier.commit()
    return {
        "gift_per_cpu_s": round(given / gift_s),
        "extract_per_cpu_s": round(taken / (time.process_time() - begun)),
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="few URLs: to see that it works")
    parser.add_argument("--urls", type=int, default=2_000_000, help="URLs that are offered")
    parser.add_argument("--order", choices=ORDERS, default="bfs")
    parser.add_argument("--queue", choices=(HOSTS_QUEUE, *QUEUES), default=HOSTS_QUEUE)
    parser.add_argument("--threads", type=int, default=1, help="trees on threads, with --queue tournament")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = FrontierSettings(queue=options.queue, queue_threads=options.threads)
        result = measure(20_000 if options.quick else options.urls, Path(folder), options.order, settings)
    if options.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{name:<24}{value:>12,}" for name, value in result.items()))


if __name__ == "__main__":
    main()
