"""What collaboration costs: CPU-seconds per page of 4 gatherers (whiteboard and all processes included) against 1.

On the synthetic web of ../shared/bench (40,000 pages, 50 hosts), links only, no WARC, in one run, the cheapest of
`--reps`. All processes of a crawl share one core and the web's server has the other, as in `bench crawl`: two busy
cores slow each other down, and that is not what collaboration costs. `--sizes` adds teams of other sizes.

The time that the whiteboard's server takes is laid beside what the capacity model (`gcs study scale`) says of a team
that tells as many URLs per second.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gcs.sim.capacity import Costs
from gcs.sim.studies.scale import model_of_live

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
    reps = int(_option("--reps", "2"))
    sizes = sorted({1, 4, *map(int, _option("--sizes", "4").split(","))})
    server = subprocess.Popen(["taskset", "-c", "0", HOME / "synthweb", "--data", WEB], stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        runs = {n: min((crawl(n) for _ in range(reps)), key=lambda run: run["cpu_s"]) for n in sizes}
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
        "exchanged_urls": {n: run["exchanged_urls"] for n, run in runs.items()},
        "board_load": {n: round(run["board_cpu_s"] / run["seconds"], 4) for n, run in runs.items()},
        "board_load_by_model": {
            n: round(model_of_live(n, run["seconds"], run["exchanged_urls"], Costs()), 4) for n, run in runs.items()
        },
    }
    if "--json" in sys.argv:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:20} {value}")


def crawl(gatherers: int) -> dict:
    """A whole crawl; its report, with the CPU time of all its processes, and of the whiteboard's server alone."""
    directory = Path(tempfile.mkdtemp(prefix="gcs-bench-team-"))
    seeds = WEB / "seeds_one.txt"
    command = [sys.executable, "-m", "gcs", "crawl", "--seeds", seeds, "-o", directory, "-n", str(gatherers), *FLAGS]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(["taskset", "-c", "1", *command], stdout=output)
        board_cpu_s = 0.0
        while (done := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            board_cpu_s = max(board_cpu_s, server_cpu_s(directory))
            time.sleep(0.5)
        output.seek(0)
        text = output.read()
    shutil.rmtree(directory)
    process.returncode = os.waitstatus_to_exitcode(done[1])
    if process.returncode:
        sys.exit(f"{gatherers} gatherers: exit {process.returncode}")
    report, usage = json.loads(text), done[2]
    cpu_s = usage.ru_utime + usage.ru_stime
    return report | {"cpu_s": cpu_s, "crawling_cpu_s": report["cpu_s"], "board_cpu_s": board_cpu_s}


def server_cpu_s(directory: Path) -> float:
    """What the Redis server of a crawl has used so far; 0 while there is none."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text()
            if str(directory) in words and "socket" in words and "server" in words.split("\0")[0]:
                figures = (process / "stat").read_text().rpartition(")")[2].split()
                return (int(figures[11]) + int(figures[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue  # it has just ended
    return 0.0


def _option(name: str, default: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def per_page(run: dict) -> float:
    return run["cpu_s"] / run["pages"]


if __name__ == "__main__":
    main()
