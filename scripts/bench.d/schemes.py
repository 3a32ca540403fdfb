"""The same web crawled under every scheme by a real team, beside what the simulator foretells for its graph.

    scripts/bench schemes [--json] [--pages N] [--hosts N] [-k K] [--trees FOLDER]

The web is the fake one, or with --trees the folders in FOLDER (such as unpacked Debian documentation packages), each
served on a loopback address of its own. One gatherer crawls it first: its records are the graph. Hot pages are off, so
that what is exchanged can be foretold to the last URL; seeds, which are passed on to their owners, come on top. Then a
second session, after a tenth of the pages has changed: what it fetches, and what site-hash and METIS exchange in it.
"""

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lib.trees import Trees, is_changed

from gcs.core.blueprint import Wish, draw, hashed
from gcs.core.fakeweb import FakeWebSpec
from gcs.core.plan import ExchangeMode
from gcs.ports.fetch.fakeweb import FakeWebProcess
from gcs.ports.records.graph import read_graph
from gcs.ports.records.reading import rows
from gcs.sim.schemes import foretell

#: name, coordination, mode, model of the plan
SCHEMES = (
    ("superpages", "superpages", "exchange", "superpages"),
    ("site-hash", "hash", "exchange", "site-hash"),
    ("url-hash", "hash", "exchange", "url-hash"),
    ("metis-site", "superpages", "exchange", "metis-site"),
    ("metis-page", "superpages", "exchange", "metis-page"),
    ("site-hash, firewall", "hash", "firewall", "site-hash"),
    ("site-hash, cross-over", "hash", "cross-over", "site-hash"),
    ("independent", "independent", "exchange", "url-hash"),
)
FLAGS = [
    *("--scope", "any", "--delay", "0", "--allow-private", "--summary", "links", "--no-warc", "--json"),
    *("--set", "team.hot_pages=0", "--set", "team.idle_urls=1000000000", "--set", "traps.max_depth=1000"),
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pages", type=int, default=4_000)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--trees", type=Path)
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="gcs-bench-schemes-"))
    try:
        with web_of(options) as web:
            figures = compare(web, options.k, home)
            figures["second session"] = second(web, options.k, home)
    finally:
        shutil.rmtree(home)
    if options.json:
        print(json.dumps(figures))
    else:
        show(figures)


@contextlib.contextmanager
def web_of(options: argparse.Namespace) -> Iterator[object]:
    if options.trees:
        with Trees(options.trees) as web:
            yield web
    else:
        spec = FakeWebSpec.plain(
            hosts=options.hosts, pages=options.pages, host_sizes="zipf", validators=True, changed_share=0.1
        )
        with FakeWebProcess(spec) as web:
            yield web


def compare(web, k: int, home: Path) -> dict:
    seeds = list(getattr(web, "homes", None) or web.web.homes)
    crawl(home / "alone", [*seeds])
    data = read_graph(home / "alone")
    names = tuple(f"g{number}" for number in range(k))
    table = []
    for name, coordination, mode, model in SCHEMES:
        blueprint = hashed(model, k) if model.endswith("-hash") else draw(data, Wish(model, k))
        plan = home / "plan"
        plan.write_bytes(blueprint.encode())
        way = ExchangeMode.INDEPENDENT if coordination == "independent" else ExchangeMode(mode)
        told = foretell(data, blueprint.plan(names, way, 1), seeds)
        directory = home / "team"
        flags = ["-n", str(k), "--coordination", coordination, "--mode", mode, "--plan", str(plan)]
        report = crawl(directory, [*seeds, *flags])
        fetched = Counter(url for url, session in rows(directory, ("url", "session")) if session == 1)
        by = Counter(whose for (whose,) in rows(directory, ("gatherer",)))
        unique, downloads = len(fetched), sum(fetched.values())
        table.append(
            {
                "scheme": name,
                "coverage": unique / data.session.pages,
                "overlap": downloads / unique - 1,
                "urls": report["exchanged_urls"],
                "bytes": report["named_bytes"],
                "urls_per_page": report["exchanged_urls"] / downloads,
                "bytes_per_page": report["named_bytes"] / downloads,
                "imbalance": max(by.values()) * k / downloads - 1,
                "pages_per_s": report["pages_per_s"],
                "foretold": {
                    "coverage": told.coverage,
                    "overlap": told.overlap,
                    "urls": told.exchanged_urls,
                    "bytes": told.exchanged_bytes,
                    "imbalance": told.imbalance,
                },
            }
        )
        shutil.rmtree(directory)
    return {
        "pages": data.session.pages,
        "hosts": data.hosts,
        "links": len(data.session.sources),
        "k": k,
        "schemes": table,
    }


def second(web, k: int, home: Path) -> dict:
    """A session after a tenth of the pages has changed, by METIS and by site-hash."""
    figures: dict = {}
    for way in ("metis-site", "hash"):
        directory = home / way
        web.set_session(1)
        seeds = list(getattr(web, "homes", None) or web.web.homes)
        first = crawl(directory, [*seeds, "-n", str(k), "--coordination", "superpages"])
        old = getattr(web, "web", None)
        web.set_session(2)
        report = crawl(directory, ["--next", "-n", str(k), "--coordination", way])
        sent = ("url", "session", "change", "status")
        pages = {url for url, session, _, status in rows(directory, sent) if session == 1 and status == 200}
        found = {url for url, session, change, _ in rows(directory, sent) if session == 2 and change == "changed"}
        if old is None:
            changed = {url for url in pages if is_changed(url.split("/", 3)[3])}
        else:
            changed = {url for url in pages if old.plan(url).etag != web.web.plan(url).etag}
        figures[way] = {
            "bytes": report["bytes"] / first["bytes"],
            "changed": len(changed),
            "found": len(found & changed),
            "found_wrongly": len(found - changed),
            "exchanged_bytes": report["named_bytes"],
            "exchanged_urls": report["exchanged_urls"],
        }
    return figures


def crawl(directory: Path, arguments: list[str]) -> dict:
    command = [sys.executable, "-m", "gcs", "crawl", *arguments, "-o", str(directory), *FLAGS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)[-200:]}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def show(figures: dict) -> None:
    size = f"{figures['pages']:,} pages of {figures['hosts']} hosts, {figures['links']:,} links"
    print(f"{size}, k = {figures['k']}; live / foretold")
    head = ("scheme", "coverage", "overlap", "URLs/page", "bytes/page", "URLs", "bytes", "imbalance", "pages/s")
    print(("{:22}" + "{:>16}" * 8).format(*head))
    for row in figures["schemes"]:
        told = row["foretold"]
        print(
            f"{row['scheme']:22}"
            f"{row['coverage']:>8.3f} /{told['coverage']:6.3f}{row['overlap']:>8.3f} /{told['overlap']:6.3f}"
            f"{row['urls_per_page']:>16.3f}{row['bytes_per_page']:>16.1f}"
            f"{row['urls']:>8,} /{told['urls']:6,}{row['bytes']:>8,} /{told['bytes']:6,}"
            f"{row['imbalance']:>8.3f} /{told['imbalance']:6.3f}{row['pages_per_s']:>16,.0f}"
        )
    for way, row in figures["second session"].items():
        print(
            f"second session by {way}: {row['bytes']:.1%} of the bytes, {row['found']} of {row['changed']} changes "
            f"found, {row['exchanged_bytes']:,} bytes of URLs exchanged"
        )


if __name__ == "__main__":
    main()
