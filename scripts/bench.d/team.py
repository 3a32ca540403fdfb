"""What collaboration costs: CPU-seconds per page of 4 gatherers (whiteboard and all processes included) against 1.

On the synthetic web of ../shared/bench (40,000 pages, 50 hosts), links only, no WARC, in one run, the cheapest of
`--reps`. All processes of a crawl share one core and the web's server has the other, as in `bench crawl`: two busy
cores slow each other down, and that is not what collaboration costs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCH = ROOT.parent / "shared" / "bench"
HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "gcs-bench")
WEB = HOME / "web" / "w40k"
FLAGS = [
    "--scope",
    "any",
    "--delay",
    "0",
    "--allow-private",
    "--summary",
    "links",
    "--no-warc",
    "--set",
    "store.summaries=false",
    "--json",
]


def main() -> None:
    if not BENCH.exists():
        sys.exit(f"{BENCH} is absent: this benchmark needs its synthetic web")
    if not (HOME / "synthweb").exists() or not WEB.exists():
        subprocess.run([BENCH / "run", "setup"], check=True, stdout=subprocess.DEVNULL)
    reps = int(sys.argv[sys.argv.index("--reps") + 1]) if "--reps" in sys.argv else 2
    server = subprocess.Popen(["taskset", "-c", "0", HOME / "synthweb", "--data", WEB], stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        runs = {n: min((crawl(n) for _ in range(reps)), key=lambda run: run["cpu_s"]) for n in (1, 4)}
    finally:
        server.terminate()
        server.wait()
    four = runs[4]
    suppressed = four["suppressed_by_hot_pages"] + four["suppressed_by_c_queue"]
    figures = {
        "cpu_ratio_4_to_1": round(per_page(runs[4]) / per_page(runs[1]), 3),
        "urls_per_page": four["urls_per_page"],
        "suppressed_share": round(suppressed / max(suppressed + four["exchanged_urls"], 1), 3),
        "cpu_us_per_page": {n: round(per_page(run) * 1e6) for n, run in runs.items()},
        "crawling_us_per_page": {n: round(run["crawling_cpu_s"] / run["pages"] * 1e6) for n, run in runs.items()},
        "pages": {n: run["pages"] for n, run in runs.items()},
        "imbalance": four["imbalance"],
        "rebalances": four["rebalances"],
        "seconds": {n: run["seconds"] for n, run in runs.items()},
    }
    if "--json" in sys.argv:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:20} {value}")


def crawl(gatherers: int) -> dict:
    """A whole crawl; its report, with the CPU time of all its processes."""
    directory = Path(tempfile.mkdtemp(prefix="gcs-bench-team-"))
    seeds = WEB / "seeds_one.txt"
    command = [sys.executable, "-m", "gcs", "crawl", "--seeds", seeds, "-o", directory, "-n", str(gatherers), *FLAGS]
    process = subprocess.Popen(["taskset", "-c", "1", *command], stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    shutil.rmtree(directory)
    if process.returncode:
        sys.exit(f"{gatherers} gatherers: exit {process.returncode}")
    report = json.loads(output)
    return report | {"cpu_s": usage.ru_utime + usage.ru_stime, "crawling_cpu_s": report["cpu_s"]}


def per_page(run: dict) -> float:
    return run["cpu_s"] / run["pages"]


if __name__ == "__main__":
    main()
