"""The library against the command line, and a slow loop in flat memory.

    scripts/bench library [overhead | slow] [--pages N] [--json]

overhead: CPU time of a page by `gcs crawl` and by a loop over `gcs.crawl`, of whole processes, each twice in turn.
slow: a loop that is slower than its crawl, over N pages: the memory of the process after each tenth of them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

_LOOP = """
import sys, gcs
count = 0
for page in gcs.crawl(*sys.argv[2:], output=sys.argv[1], allow_private=True, delay=0.0, scope="any"):
    count += len(page.title) >= 0
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


def overhead(pages: int) -> dict[str, object]:
    """Milliseconds of CPU time a page, the least of two runs each."""
    found: dict[str, list[float]] = {"command": [], "loop": []}
    with FakeWebProcess(FakeWebSpec.plain(hosts=20, pages=pages)) as web, tempfile.TemporaryDirectory() as scratch:
        for turn in range(2):
            for kind in found:
                place = str(Path(scratch) / f"{kind}{turn}")
                flags = ["--allow-private", "--delay", "0", "--scope", "any", "--json"]
                command = (
                    [sys.executable, "-m", "gcs", "crawl", *web.seeds, "-o", place, *flags]
                    if kind == "command"
                    else [sys.executable, "-c", _LOOP, place, *web.seeds]
                )
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                found[kind].append(round(1000 * seconds / pages, 4))
    least = {kind: min(times) for kind, times in found.items()}
    return {"pages": pages, "ms": found, "overhead": round(least["loop"] / least["command"] - 1, 3)}


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
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = overhead(options.pages or 8_000) if options.what == "overhead" else slow(options.pages or 100_000)
    print(json.dumps(figures) if options.json else "\n".join(f"{key:>9}  {value}" for key, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
