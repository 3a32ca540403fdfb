"""What collaboration costs, and what it brings.

Cost: CPU-seconds per page of 4 gatherers (whiteboard and all processes, start-up too) against 1, on the synthetic web
of ../shared/bench (40,000 pages, 50 hosts), links only, no WARC, the cheapest of `--reps`. All processes of a crawl
share one core and the web's server has the other, as in `bench crawl`: two busy cores slow each other down, and that
is not what collaboration costs. `--sizes` adds teams of other sizes. The time that the whiteboard's server takes is
laid beside what the capacity model (`gcs study scale`) says of a team that tells as many URLs per second.

Scaling: pages per second of 1, 2, 4 and 8 gatherers in `--seconds`, start-up and first rebalance included, on all
cores. With 50 ms to every answer and few connections a gatherer waits for answers, so that more of them fetch more;
without that its core is busy, and more of them bring as much as there are cores beside the server's.

`--part cost` or `--part scaling` does one of both.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gcs.sim.engine.capacity import Costs
from gcs.sim.studies.scale import model_of_live

ROOT = Path(__file__).parents[2]
BENCH = ROOT.parent / "shared" / "bench"
HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "gcs-bench")
WEB = HOME / "web" / "w40k"
#: where the web's server answers questions about itself, as soon as it serves
CONTROL = ("127.0.0.1", 8099)
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


#: (milliseconds to every answer, connections of a gatherer, sizes of the team): waiting for answers, and for the core
FORMS = ((50, 8, (1, 2, 4, 8)), (0, 64, (1, 2, 4)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--reps", type=int, default=2)
    parser.add_argument("--sizes", default="4")
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--part", choices=("cost", "scaling"))
    asked = parser.parse_args()
    if not BENCH.exists():
        sys.exit(f"{BENCH} is absent: this benchmark needs its synthetic web")
    if not (HOME / "synthweb").exists() or not WEB.exists():
        subprocess.run([BENCH / "run", "setup"], check=True, stdout=subprocess.DEVNULL)
    sizes = sorted({1, 4, *map(int, asked.sizes.split(","))})
    figures = cost(asked.reps, sizes) if asked.part != "scaling" else {}
    rows = scaling(asked.seconds) if asked.part != "cost" else []
    if asked.json:
        print(json.dumps(figures | {"scaling": rows}))
        return
    for name, value in figures.items():
        print(f"{name:20} {value}")
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))


@contextmanager
def served(*command: str) -> Iterator[None]:
    server = subprocess.Popen([*command, "--data", WEB], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):  # it reads the whole web first
            with suppress(OSError):
                socket.create_connection(CONTROL, 1).close()
                break
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait()


def cost(reps: int, sizes: list[int]) -> dict:
    with served("taskset", "-c", "0", str(HOME / "synthweb")):
        rounds = [{n: crawl(n, "1") for n in sizes} for _ in range(reps)]  # in turns: a slow hour is slow for all sizes
    runs = {n: min((each[n] for each in rounds), key=lambda run: run["cpu_s"]) for n in sizes}
    four = runs[4]
    suppressed = four["suppressed_by_hot_pages"] + four["suppressed_by_c_queue"]
    return {
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


def scaling(seconds: int) -> list[dict]:
    """Pages per second by gatherers; a team that has fetched everything before the time is up is measured by that."""
    rows, alone, cores = [], 1.0, f"0-{(os.cpu_count() or 1) - 1}"
    for latency_ms, connections, team in FORMS:
        limits = ["--connections", str(connections), "--max-seconds", str(seconds)]
        for gatherers in team:
            with served(str(HOME / "synthweb"), "--latency-ms", str(latency_ms)):
                run = crawl(gatherers, cores, *limits)
            rate = run["pages"] / run["seconds"]
            alone = rate if gatherers == 1 else alone
            rows.append(
                {
                    "latency_ms": latency_ms,
                    "connections": connections,
                    "gatherers": gatherers,
                    "pages_per_s": round(rate),
                    "times_one": round(rate / alone, 2),
                    "cores_busy": round(run["cpu_s"] / run["seconds"], 2),
                }
            )
    return rows


def crawl(gatherers: int, cores: str, *more: str) -> dict:
    """A crawl on these cores; its report, with the CPU time of all processes, and of the whiteboard's server alone."""
    directory = Path(tempfile.mkdtemp(prefix="gcs-bench-team-"))
    seeds = WEB / "seeds_one.txt"
    command = [sys.executable, "-m", "gcs", "crawl", "--seeds", seeds, "-o", directory, "-n", str(gatherers), *FLAGS]
    command += more
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(["taskset", "-c", cores, *command], stdout=output)
        board_cpu_s = 0.0
        while (done := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            board_cpu_s = max(board_cpu_s, server_cpu_s(directory))
            time.sleep(0.5)
        output.seek(0)
        text = output.read()
    shutil.rmtree(directory)
    process.returncode = os.waitstatus_to_exitcode(done[1])
    if process.returncode not in (0, 3):  # 3: stopped by a limit
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


def per_page(run: dict) -> float:
    return run["cpu_s"] / run["pages"]


if __name__ == "__main__":
    main()
