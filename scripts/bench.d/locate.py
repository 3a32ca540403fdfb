"""Microseconds to find the superpage of a URL, for all links of a page at once, beside splitting the URL strings.

    python scripts/bench.d/locate.py [--json] [--superpages N] [--graph FOLDER]

The web is made up (3,000 hosts of Zipf sizes, the largest with a fifth of the pages; 9 of 10 links stay on the host)
or read from a folder with urls.txt.gz and edges.txt.gz. The superpages are evenly spaced in its URLs. `url` is from the
URL string to the number of its superpage, `key` the search alone, for keys already made; `visit` is the counting of a
new URL in the URL tree. Times are CPU seconds; rounds alternate and the least of each counts.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from gcs.core.plan.plan import Plan
from gcs.core.tree.tree import UrlTree
from gcs.core.url.sortkey import sort_key
from gcs.sim.graph.graph_files import load

ROUNDS, PAGES, LINKS = 7, 1000, 44


def made_up(random: Random) -> tuple[list[str], list[list[str]]]:
    """URLs of a web, and the links of some of its pages."""
    sizes = [max(50_000 // rank, 3) for rank in range(1, 3001)]
    hosts = [
        [
            f"https://www.{name}.example-{name % 40}.org/section-{i % 23}/{i // 23 % 19}/page-{i:06d}.html"
            for i in range(size)
        ]
        for name, size in enumerate(sizes)
    ]
    urls = [url for host in hosts for url in host]
    pages = [
        [random.choice(host) if random.random() < 0.9 else random.choice(urls) for _ in range(LINKS)]
        for host in random.choices(hosts, weights=sizes, k=PAGES)
    ]
    return urls, pages


def from_graph(folder: Path, random: Random) -> tuple[list[str], list[list[str]]]:
    """The same from a web graph."""
    graph = load(folder)
    pages = [[graph.urls[to] for to in graph.outlinks(page)] for page in random.sample(range(graph.pages), PAGES)]
    return list(graph.urls), pages


def least(runs: dict[str, Callable[[], object]], urls: int) -> dict[str, float]:
    """Microseconds per URL of each run."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            begun = time.process_time()
            run()
            best[name] = min(best[name], (time.process_time() - begun) / urls * 1e6)
    return best


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--superpages", type=int, default=10_000)
    parser.add_argument("--graph", type=Path)
    options = parser.parse_args()
    random = Random(1)
    urls, pages = from_graph(options.graph, random) if options.graph else made_up(random)
    ordered = sorted(map(sort_key, urls))
    every = max(len(ordered) // options.superpages, 1)
    cuts = (b"", *ordered[every::every])[: options.superpages]
    plan = Plan(1, ("a",), cuts, (0,) * len(cuts))
    page_keys = [[sort_key(url) for url in links] for links in pages]
    tree = UrlTree(cuts, random)

    def visit() -> None:
        for keys in page_keys:
            for key in keys:
                tree.visit(key)

    times = least(
        {
            "split": lambda: [[url.split("/") for url in links] for links in pages],
            "urls": lambda: [plan.locate_many(map(sort_key, links)) for links in pages],
            "keys": lambda: [plan.locate_many(keys) for keys in page_keys],
            "visit": visit,
        },
        sum(map(len, pages)),
    )
    result = {
        "superpages": len(cuts),
        "us_per_url": round(times["urls"], 3),
        "ratio_to_split": round(times["urls"] / times["split"], 2),
        "us_per_url_split": round(times["split"], 3),
        "us_per_key": round(times["keys"], 3),
        "us_per_visit": round(times["visit"], 3),
    }
    if options.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{name:<18}{value:>10}" for name, value in result.items()))


if __name__ == "__main__":
    main()
