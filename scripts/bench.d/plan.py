"""`gcs plan` on a session of a million pages: its time and peak memory.

    scripts/bench plan FOLDER [--json] [--pages N] [-k K] [--model M] [--keep DIR]

FOLDER holds a web graph (urls.txt.gz, edges.txt.gz, pages.tsv.gz; as for gcs study). Its first N pages become a session
in the format of the record store, written page by page; then gcs plan reads it, in a process of its own.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

from gcs.core.page.values import PageRecord
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--model", default="metis-site")
    parser.add_argument("--keep", type=Path, help="where the session is kept, and taken from the next time")
    options = parser.parse_args()
    place = options.keep or Path(tempfile.mkdtemp(prefix="gcs-bench-plan-"))
    try:
        if not (place / "summaries").is_dir():
            write(options.folder, options.pages, place)
        figures = measure(place, options.k, options.model)
    finally:
        if not options.keep:
            shutil.rmtree(place)
    print(json.dumps(figures, indent=None if options.json else 1))


def write(folder: Path, most: int, place: Path) -> None:
    """The session that a crawl of the graph would have left behind."""
    with gzip.open(folder / "urls.txt.gz", "rt") as file:
        urls = [line.rstrip("\n") for line in islice(file, most)]
    with Store.open(place, StoreSettings(warc=False), "g0") as store:
        for page, (size_bytes, targets) in enumerate(zip(sizes(folder), links(folder, len(urls)))):
            store.add_page(record(urls[page], size_bytes, [urls[target] for target in targets]))
            if page % 1_000 == 999:
                store.flush()
        store.sync()


def sizes(folder: Path) -> Iterator[int]:
    with gzip.open(folder / "pages.tsv.gz", "rt") as file:
        yield from (int(line.split("\t")[1]) for line in file if line[0].isdecimal())


def links(folder: Path, pages: int) -> Iterator[list[int]]:
    """Of each page, where it links to."""
    with gzip.open(folder / "edges.txt.gz", "rt") as file:
        pairs = (tuple(map(int, line.split())) for line in file if line[0].isdecimal())
        rows = groupby(pairs, key=lambda pair: pair[0])
        source, row = next(rows, (pages, iter(())))
        for page in range(pages):
            if page < source:
                yield []
                continue
            yield [target for _, target in row if target < pages]
            source, row = next(rows, (pages, iter(())))


def record(url: str, size_bytes: int, outlinks: list[str]) -> PageRecord:
    return PageRecord(
        url=url, final_url=url, parent="", depth=0, status=200, fetched_at=0.0, content_type="text/html",
        bytes=size_bytes, outlinks=outlinks, gatherer="g0", change="new",
    )  # fmt: skip


def measure(place: Path, k: int, model: str) -> dict:
    command = [sys.executable, "-m", "gcs", "plan", str(place), "-k", str(k), "--model", model, "--compare", "none"]
    started_at = time.monotonic()
    process = subprocess.Popen([*command, "-o", str(place / "plan"), "--json"], stdout=subprocess.PIPE)
    assert process.stdout
    planned = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"gcs plan ended with {os.waitstatus_to_exitcode(status)}")
    return {
        "pages": planned["pages"],
        "links": planned["links"],
        "hosts": planned["hosts"],
        "k": k,
        "model": model,
        "seconds": round(time.monotonic() - started_at, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_rss_mb": round(usage.ru_maxrss / 1024),
        "plan_bytes": (place / "plan").stat().st_size,
        "forecast": planned["choices"][0],
    }


if __name__ == "__main__":
    main()
