"""The library against the command line, and a slow loop in flat memory.

    scripts/bench library [overhead | slow] [--pages N] [--turns N] [--json]

overhead: CPU time of a page by `gcs crawl` and by a loop over `gcs.crawl`, of whole processes, in turn, on a web like
the real one (`lib/real_web.py`: nginx on one core, the crawl on another).
slow: a loop that is slower than its crawl, over N pages: the memory of the process after each tenth of them.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from lib.real_web import RealWeb

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

_HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "gcs-bench")
_LOOP = """
import sys, gcs
count = letters = 0
for page in gcs.crawl(sys.argv[3], output=sys.argv[1], config=sys.argv[2], allow_private=True, delay=0.0, scope="any"):
    count += 1
    letters += len(page.title) + len(page.markdown)
print(count)
"""
_SLOW = """
import json, os, sys, time, gcs
most, marks = int(sys.argv[2]), []
crawl = gcs.Crawl(*sys.argv[3:], output=sys.argv[1], allow_private=True, delay=0.0, scope="any", ahead=500)
for number, page in enumerate(crawl, 1):
    time.sleep(0.0005)
    if number % max(most // 10, 1) == 0:
        resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1_000_000
        marks.append((number, resident))
print(json.dumps({"pages": number, "unique": crawl.report().pages, "mb": marks}))
"""


def overhead(pages: int, turns: int) -> dict[str, object]:
    """Milliseconds of CPU time a page, start-up included."""
    if not shutil.which("nginx"):
        sys.exit("this benchmark needs nginx, which is not installed: apt-get install nginx-light")
    hosts = max(pages // 20, 1)
    web = RealWeb(_HOME / f"own-realweb-{pages}-{hosts}", pages, hosts)
    web.make()
    found: dict[str, list[float]] = {"command": [], "loop": []}
    core = ["taskset", "-c", "1"] if shutil.which("taskset") else []
    with tempfile.TemporaryDirectory() as scratch, web.served():
        config = Path(scratch) / "gcs.toml"
        certificate, names = json.dumps(str(web.folder / "cert.pem")), json.dumps(web.resolve)
        config.write_text(f"[fetch]\nca_file = {certificate}\nresolve = {names}\n")
        flags = ["--config", str(config), "--allow-private", "--delay", "0", "--scope", "any", "--json"]
        for turn in range(turns):
            for kind in found:
                place = str(Path(scratch) / f"{kind}{turn}")
                command = (
                    ["-m", "gcs", "crawl", web.urls[0], "-o", place, *flags]
                    if kind == "command"
                    else ["-c", _LOOP, place, str(config), web.urls[0]]
                )
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                done = subprocess.run([*core, sys.executable, *command], check=True, capture_output=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                crawled = json.loads(done.stdout)
                if (crawled if kind == "loop" else crawled["pages"]) != pages:
                    sys.exit(f"{kind}: not all of {pages} pages: {done.stdout[:200]!r}")
                seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                found[kind].append(round(1000 * seconds / pages, 3))
                shutil.rmtree(place)
    least, middle = ({kind: of(times) for kind, times in found.items()} for of in (min, median))
    return {
        "pages": pages,
        "ms": found,
        "overhead_of_least": round(least["loop"] / least["command"] - 1, 3),
        "overhead_of_median": round(middle["loop"] / middle["command"] - 1, 3),
    }


def slow(pages: int) -> dict[str, object]:
    """Memory of the process, in MB, after each tenth of the pages."""
    spec = FakeWebSpec.plain(hosts=20, pages=pages, html_bytes=1_500)
    with FakeWebProcess(spec) as web, tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-c", _SLOW, str(Path(scratch) / "slow"), str(pages), *web.seeds]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ})
    figures: dict[str, object] = json.loads(done.stdout)
    return figures


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("overhead", "slow"))
    parser.add_argument("--pages", type=int)
    parser.add_argument("--turns", type=int, default=3, help="of overhead: runs of each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = (
        overhead(options.pages or 2_000, options.turns)
        if options.what == "overhead"
        else slow(options.pages or 100_000)
    )
    print(json.dumps(figures) if options.json else "\n".join(f"{key:>18}  {value}" for key, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
