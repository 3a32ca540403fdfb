"""Teams on real sites without a delay: how evenly the work is shared, and whether a team is slower than one.

The sites are documentation packages of Debian (500 to 32,000 pages), downloaded with `apt-get`, unpacked and served by
nginx on loopback addresses of their own: one site alone, and all the small ones together. `imbalance` is the busy time
of the busiest gatherer over the mean, less 1; it counts in crawls of more than 20 s, which are marked. `--summary full`
makes short crawls longer. `--sites` picks rows, `--teams` the sizes of the team.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "gcs-bench") / "docs"
PORT = 8181
#: the shortest crawl whose imbalance counts, in seconds
LONG_S = 20.0
#: site → its package and the folder in it
SITES = {
    "python": ("python3.11-doc", "usr/share/doc/python3.11/html"),
    "sqlite": ("sqlite3-doc", "usr/share/doc/sqlite3"),
    "postgresql": ("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    "qt": ("qtbase5-doc-html", "usr/share/qt5/doc"),
    "boost": ("libboost1.74-doc", "usr/share/doc/libboost1.74-doc"),
    "libstdc++": ("libstdc++-12-doc", "usr/share/doc/libstdc++-12-doc"),
    "openjdk": ("openjdk-17-doc", "usr/share/doc/openjdk-17-doc"),
    "rust": ("rust-doc", "usr/share/doc/rust-doc"),
}
SMALL = ("python", "sqlite", "postgresql", "qt", "boost", "libstdc++")
ROWS = {name: (name,) for name in SITES} | {"six hosts": SMALL}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sites", default=",".join(ROWS))
    parser.add_argument("--teams", default="1,4")
    parser.add_argument("--summary", default="fast", choices=("links", "fast", "full"))
    asked = parser.parse_args()
    if not shutil.which("nginx"):
        sys.exit("nginx is missing: apt-get install nginx-light")
    rows = []
    for name in asked.sites.split(","):
        with served([fetched(site) for site in ROWS[name]]) as seeds:
            for gatherers in map(int, asked.teams.split(",")):
                rows.append({"site": name, "gatherers": gatherers} | crawl(seeds, gatherers, asked.summary))
                print(rows[-1], file=sys.stderr, flush=True)
    print(json.dumps(rows) if asked.json else "\n".join(map(line, rows)))


def line(row: dict) -> str:
    mark = "*" if row["seconds"] > LONG_S else " "
    return (
        f"{row['site']:12} {row['gatherers']} gatherers {row['pages']:6} pages {row['seconds']:6.1f} s{mark} "
        f"CPU {row['cpu_s']:6.1f} s  imbalance {row['imbalance']:.3f}  plans {row['rebalances'] + 1}"
    )


def fetched(site: str) -> Path:
    """The folder of a site, unpacked if it is not yet there."""
    package, folder = SITES[site]
    target = HOME / site
    if not target.exists():
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["apt-get", "download", "-qq", package], cwd=scratch, check=True)
            (archive,) = Path(scratch).glob("*.deb")
            unpacked = target.with_suffix(".part")
            unpacked.mkdir(parents=True, exist_ok=True)
            subprocess.run(["dpkg", "-x", archive, unpacked], check=True)
        unpacked.rename(target)
    return target / folder


@contextmanager
def served(folders: list[Path]) -> Iterator[list[str]]:
    """Serve each folder on an address of its own; the URLs of their first pages."""
    addresses = [f"127.0.0.{2 + place}:{PORT}" for place in range(len(folders))]
    servers = "".join(
        f"server {{ listen {address}; root '{folder}'; autoindex on; access_log off; }}"
        for address, folder in zip(addresses, folders, strict=True)
    )
    with tempfile.TemporaryDirectory() as scratch:
        configuration = Path(scratch, "nginx.conf")
        configuration.write_text(
            f"daemon off; pid {scratch}/pid; error_log stderr crit; user root; events {{ worker_connections 4096; }}"
            f"http {{ include /etc/nginx/mime.types; {servers} }}"
        )
        server = subprocess.Popen(["nginx", "-c", configuration])
        try:
            time.sleep(0.5)
            yield [f"http://{address}/" for address in addresses]
        finally:
            server.terminate()
            server.wait()


def crawl(seeds: list[str], gatherers: int, summary: str) -> dict:
    directory = Path(tempfile.mkdtemp(prefix="gcs-bench-docs-"))
    try:
        command = [sys.executable, "-m", "gcs", "crawl", *seeds, "-o", directory / "crawl", "-n", str(gatherers)]
        command += ["--allow-private", "--delay", "0", "--summary", summary, "--json"]
        begun_at = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        seconds = time.monotonic() - begun_at
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    report = json.loads(done.stdout)
    return {
        "pages": report["pages"],
        "seconds": round(seconds, 2),
        "cpu_s": report["cpu_s"],
        "imbalance": report["imbalance"]["time"],
        "rebalances": report["rebalances"],
    }


if __name__ == "__main__":
    main()
