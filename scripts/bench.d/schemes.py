"""The same web crawled under every scheme by a real team, beside what the simulator foretells for its graph.

    scripts/bench schemes [--json] [-k K] [--only 'A;B'] [--pages N] [--hosts N] [--zipf] [--trees FOLDER]

The web is the fake one, whose hosts link to a few neighbours (with --zipf: to popular hosts, and their sizes are
Zipf), or with --trees real documentation in FOLDER (fetched by apt and unpacked if it is empty), each package on a
loopback address of its own. One gatherer crawls it first: its records are the graph. Hot pages are off, so that what is
exchanged can be foretold to the last URL; seeds on their way to their owners do not count. Then a second session,
after a tenth of the pages has changed: what it fetches, and what METIS and site-hash exchange in it.

Where the plan follows the crawl, nothing is foretold: when it is made is a matter of time. What the clients of a
seed-server exchange is foretold from the graph and from which pages each of their reports told.
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

import numpy as np
from lib.trees import Trees, lay_out

from gcs.core.plan.blueprint import BlueprintRequest, draw, hashed
from gcs.core.plan.plan import ExchangeMode
from gcs.core.plan.session_graph import SessionGraph
from gcs.core.url.sortkey import sort_key
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.crawl_graph import read_graph
from gcs.ports.records.reading import rows
from gcs.ports.records.record_log import PAGE, SYNCED, frames, page_of
from gcs.sim.engine.schemes import Scheme, foretell, foretell_server

#: name, coordination, mode, model of the plan
SCHEMES = (
    ("superpages, as it goes", "superpages", "exchange", ""),
    ("superpages, planned", "superpages", "exchange", "superpages"),
    ("site-hash", "hash", "exchange", "site-hash"),
    ("url-hash", "hash", "exchange", "url-hash"),
    ("metis-site", "metis-site", "exchange", "metis-site"),
    ("metis-page", "metis-page", "exchange", "metis-page"),
    ("site-hash, firewall", "hash", "firewall", "site-hash"),
    ("site-hash, cross-over", "hash", "cross-over", "site-hash"),
    ("metis-site, firewall", "metis-site", "firewall", "metis-site"),
    ("metis-site, cross-over", "metis-site", "cross-over", "metis-site"),
    ("independent", "independent", "exchange", "url-hash"),
    ("seed-server", "seed-server", "exchange", ""),
)
FLAGS = [
    *(
        "--scope",
        "any",
        "--include",
        r"^http://127\.",
        "--delay",
        "0",
        "--allow-private",
        "--summary",
        "links",
        "--no-warc",
        "--json",
    ),
    *("--set", "team.hot_pages=0", "--set", "traps.max_depth=1000"),
]


class Fake(FakeWebProcess):
    """The fake web, with what the bench asks of any web."""

    @property
    def seeds(self) -> list[str]:
        """The home page of every fourth host, so that who drops links misses something."""
        return list(self.web.homes[::4])

    def changed(self, urls: set[str]) -> set[str]:
        """Those of the pages that this session finds other than the first."""
        first = self.first
        return {url for url in urls if first.plan(url).etag != self.web.plan(url).etag}

    def __enter__(self) -> "Fake":
        super().__enter__()
        self.first = self.web
        return self


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pages", type=int, default=4_000)
    parser.add_argument("--hosts", type=int, default=80)
    parser.add_argument("--zipf", action="store_true")
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--only", help="schemes, of those in the table; none for the second session only")
    parser.add_argument("--trees", type=Path)
    options = parser.parse_args()
    names = options.only.split(";") if options.only else [scheme[0] for scheme in SCHEMES]
    home = Path(tempfile.mkdtemp(prefix="gcs-bench-schemes-"))
    try:
        with web_of(options) as web:
            figures = compare(web, options.k, home, names)
            figures["second session"] = second(web, options.k, home)
    finally:
        shutil.rmtree(home)
    if options.json:
        print(json.dumps(figures))
    else:
        show(figures)


@contextlib.contextmanager
def web_of(options: argparse.Namespace) -> Iterator[Fake | Trees]:
    if options.trees:
        if not options.trees.is_dir() or not any(options.trees.iterdir()):
            lay_out(options.trees)
        with Trees(options.trees) as trees:
            yield trees
    else:
        links = {"host_sizes": "zipf"} if options.zipf else {"neighbours": 4, "foreign_share": 0.1}
        spec = FakeWebSpec.plain(hosts=options.hosts, pages=options.pages, validators=True, changed_share=0.1, **links)
        with Fake(spec) as fake:
            yield fake


def compare(web: Fake | Trees, k: int, home: Path, names: list[str]) -> dict:
    seeds = web.seeds
    crawl(home / "alone", seeds)
    data = read_graph(home / "alone")
    table = []
    for name, coordination, mode, model in SCHEMES:
        if name not in names:
            continue
        directory = home / "team"
        flags = ["-n", str(k), "--coordination", coordination, "--mode", mode]
        plan = None
        if model:
            blueprint = hashed(model, k) if model.endswith("-hash") else draw(data, BlueprintRequest(model, k))
            way = ExchangeMode.INDEPENDENT if coordination == "independent" else ExchangeMode(mode)
            plan = blueprint.plan(tuple(f"g{number}" for number in range(k)), way, 1)
            (home / "plan").write_bytes(blueprint.encode())
            # nobody is to plan anew
            flags += ["--plan", str(home / "plan"), "--set", "team.idle_urls=1000000000"]
        elif coordination == "superpages":
            flags += ["--delay", "0.2"]  # or it would be over before there is anything to plan from
        if coordination == "seed-server":
            flags += ["--set", "seed_server.domain=host", "--set", "store.keep_logs=true"]
        report = crawl(directory, [*seeds, *flags])
        stored, asked = Counter[str](), set[str]()
        for url, whose in rows(directory, ("url", "gatherer")):
            stored[whose] += 1
            asked.add(url)
        told = None
        if plan:
            told = foretell(data, plan, seeds)
        elif coordination == "seed-server":
            told = foretell_server(data, *reports_of(data, directory))
        table.append(row_of(name, report, stored, len(asked), data, told))
        shutil.rmtree(directory)
    return {
        "urls": data.session.pages,
        "hosts": data.hosts,
        "links": len(data.session.sources),
        "k": k,
        "schemes": table,
    }


def reports_of(data: SessionGraph, directory: Path) -> tuple[np.ndarray, np.ndarray]:
    """Who has dealt with which URL of the graph, and in which report: there is one with every checkpoint."""
    number = {key: page for page, key in enumerate(data.keys)}
    owners, reports = np.zeros(data.session.pages, np.int64), np.full(data.session.pages, -1, np.int64)
    report = 0
    for log in sorted(directory.glob("state/g*/log/*")):
        for frame in frames(log):
            if frame.kind == PAGE:
                page = number[sort_key(page_of(frame).url)]
                owners[page], reports[page] = int(log.parts[-3][1:]), report
            elif frame.kind == SYNCED:
                report += 1
    return owners, reports


def row_of(name: str, report: dict, stored: Counter[str], unique: int, data: SessionGraph, told: Scheme | None) -> dict:
    """A line of the table. URLs that failed or led elsewhere count too: somebody asked for them."""
    downloads = sum(stored.values())
    live = {
        "coverage": unique / data.session.pages,
        "overlap": downloads / unique - 1,
        "urls": report["exchanged_urls"],
        "bytes": report["named_bytes"],
        "imbalance": max(stored.values()) * report["gatherers"] / downloads - 1,
    }
    row = {
        "scheme": name,
        **live,
        "urls_per_page": live["urls"] / downloads,
        "bytes_per_page": live["bytes"] / downloads,
    }
    row["pages_per_s"] = report["pages_per_s"]
    if told:
        foretold = {
            "coverage": told.coverage,
            "overlap": told.overlap,
            "urls": told.exchanged_urls,
            "bytes": told.exchanged_bytes,
            "imbalance": told.imbalance,
        }
        row["foretold"] = foretold
        row["off"] = {each: off(each, live[each], foretold[each]) for each in live}
    return row


def off(name: str, live: float, told: float) -> float:
    """By how much of what was foretold it came out otherwise; overlap and imbalance as what is fetched, and by one."""
    more = 1 if name in ("overlap", "imbalance") else 0
    return abs(live - told) / (told + more) if told + more else float(live > 0)


def second(web: Fake | Trees, k: int, home: Path) -> dict:
    """A session after a tenth of the pages has changed, by METIS and by site-hash."""
    figures: dict = {}
    for way in ("metis-site", "hash"):
        directory = home / way
        web.set_session(1)
        first = crawl(directory, [*web.seeds, "-n", str(k), "--coordination", "superpages"])
        web.set_session(2)
        report = crawl(directory, ["--next", "-n", str(k), "--coordination", way])
        sent = list(rows(directory, ("url", "session", "change", "status")))
        pages = {url for url, session, _, status in sent if session == 1 and status == 200}
        found = {url for url, session, change, _ in sent if session == 2 and change == "changed"}
        changed = web.changed(pages)
        figures[way] = {
            "bytes": report["bytes"] / first["bytes"],
            "changed": len(changed),
            "found": len(found & changed),
            "found_wrongly": len(found - changed),
            "exchanged_bytes": report["named_bytes"],
            "exchanged_urls": report["exchanged_urls"],
            "handed_over_bytes": report["moved_bytes"],
        }
    return figures


def crawl(directory: Path, arguments: list[str]) -> dict:
    command = [sys.executable, "-m", "gcs", "crawl", *FLAGS, *arguments, "-o", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)[-200:]}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def show(figures: dict) -> None:
    size = f"{figures['urls']:,} URLs of {figures['hosts']} hosts, {figures['links']:,} links"
    print(f"{size}, k = {figures['k']}; live / foretold")
    head = (
        "scheme",
        "coverage",
        "overlap",
        "URLs/page",
        "bytes/page",
        "URLs",
        "bytes",
        "imbalance",
        "pages/s",
        "off by",
    )
    print(("{:24}" + "{:>17}" * 2 + "{:>11}" * 2 + "{:>19}" * 2 + "{:>17}" + "{:>9}" * 2).format(*head))
    for row in figures["schemes"]:
        told = row.get("foretold", {})

        def pair(name: str, form: str, row: dict = row, told: dict = told) -> str:
            return f"{row[name]:{form}} / " + (f"{told[name]:{form}}" if told else "-")

        print(
            f"{row['scheme']:24}{pair('coverage', '.3f'):>17}{pair('overlap', '.3f'):>17}"
            f"{row['urls_per_page']:>11.3f}{row['bytes_per_page']:>11.1f}"
            f"{pair('urls', ','):>19}{pair('bytes', ','):>19}{pair('imbalance', '.3f'):>17}"
            f"{row['pages_per_s']:>9,.0f}" + (f"{max(row['off'].values()):>9.1%}" if told else f"{'-':>9}")
        )
    for way, row in figures["second session"].items():
        print(
            f"second session by {way}: {row['bytes']:.1%} of the bytes, {row['found']} of {row['changed']} changes "
            f"found, {row['exchanged_bytes']:,} bytes of URLs exchanged, {row['handed_over_bytes']:,} handed over"
        )


if __name__ == "__main__":
    main()
