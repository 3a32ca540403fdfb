"""What collaboration costs, and what it brings.

Cost: CPU-seconds per page of 4 gatherers (whiteboard and all processes, start-up too) against 1, on the synthetic web
of ../shared/bench (40,000 pages, 50 hosts), links only, no WARC, the cheapest of `--reps`. All processes of a crawl
share one core and the web's server has the other, as in `bench crawl`: two busy cores slow each other down, and that
is not what collaboration costs. `--sizes` adds teams of other sizes. The time that the whiteboard's server takes is
laid beside what the capacity model (`gcs study scale`) says of a team that tells as many URLs per second.

Scaling: pages per second of 1, 2, 4 and 8 gatherers in `--seconds`, start-up and first rebalance included, on all
cores. With 50 ms to every answer and few connections a gatherer waits for answers, so that more of them fetch more;
without that its core is busy, and more of them bring as much as there are cores beside the server's.

Polite: the wall time of crawls with delays beside the time that politeness and latency allow (`bound_s`), for teams of
1, 2, 4 and 8 on a fake web of 1 to 500 hosts, start-up included. Each cell is small, and a gatherer has few
connections, so that no core is the limit. The pages of a cell follow from its limit. `rest` is the longest time for
which a gatherer asked for nothing, until nearly all pages are stored: where latency is the limit, there is work for all
of them. `--cells` picks cells by a part of their names and a comma, as "delay 0.2, 5 hosts" or "latency 0,".
`--predict` adds what `gcs study teams` says of each cell, from the directory of the crawl by the first of `--teams`.

`--part cost`, `--part scaling` or `--part polite` does one of them; without it, the first two are done.
"""

import argparse
import itertools
import json
import math
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

from gcs.core.polite.politeness import Politeness
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records import reading
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
    parser.add_argument("--part", choices=("cost", "scaling", "polite"))
    parser.add_argument("--cells", default="", help="with --part polite: only cells whose name holds this")
    parser.add_argument("--teams", default="1,2,4,8", help="with --part polite: sizes of the team")
    parser.add_argument("--predict", action="store_true", help="with --part polite: gcs study teams beside each time")
    asked = parser.parse_args()
    if asked.part == "polite":
        teams = [int(each) for each in asked.teams.split(",")]
        show_polite(list(polite(asked.cells, teams, asked.predict)), asked.json)
        return
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


#: the cells of `polite`: delays, hosts, seconds to every answer
DELAYS_S, HOSTS, LATENCIES_S = (0.0, 0.05, 0.2, 1.0), (1, 5, 50, 500), (0.0, 0.05)
#: seconds that a cell should take one gatherer, where politeness is the limit and where latency is
POLITE_S, LATENT_S = 8.0, 80.0
#: the pages per second that a cell without any limit counts on: few, because such a cell shows what a start costs
PAGES_PER_S = 250
#: a team may take so much longer than one gatherer: this part of its time, or these seconds
MOST_PART, MOST_S = 0.03, 2.0
#: gatherers of the team that shows what latency costs: a cell that politeness limits for them has both limits
TEAM = 4
#: share of the pages after which gatherers may rest: there is too little left to share
NEARLY = 0.9
#: connections of a gatherer to a host without a delay, and in all: few, so that eight gatherers do not wait for CPU
HOST_CONNECTIONS, CONNECTIONS = Politeness().host_connections, 4


def polite(picked: str, teams: list[int], is_predicted: bool) -> Iterator[dict]:
    for delay_s, hosts, latency_s in itertools.product(DELAYS_S, HOSTS, LATENCIES_S):
        name = f"delay {delay_s:g}, {hosts} hosts, latency {latency_s:g}"
        if picked not in f"{name},":  # "latency 0," is not latency 0.05
            continue
        # pages per second of one host, and of one gatherer that waits for answers
        host_rate = 1 / (delay_s + latency_s) if delay_s else HOST_CONNECTIONS / latency_s if latency_s else math.inf
        latent_rate = CONNECTIONS / latency_s if latency_s else math.inf
        alone_rate = min(hosts * host_rate, latent_rate, PAGES_PER_S)
        is_latent = bool(latency_s) and (not delay_s or latent_rate < hosts * host_rate)
        pages = max(round(alone_rate * (LATENT_S if is_latent else POLITE_S)), hosts)
        row: dict = {"cell": name, "pages": pages, "bound_s": {}, "seconds": {}, "rest_s": {}, "predicted": {}}
        with FakeWebProcess(FakeWebSpec.plain(hosts=hosts, pages=pages, latency_s=latency_s)) as web:
            for gatherers in teams:
                with tempfile.TemporaryDirectory(prefix="gcs-bench-team-") as directory:
                    row["seconds"][gatherers] = round(timed(web.seeds, gatherers, delay_s, pages, Path(directory)), 2)
                    row["rest_s"][gatherers] = round(longest_rest_s(Path(directory) / "crawl", gatherers), 2)
                    if is_predicted and not row["predicted"]:
                        row["predicted"] = predicted(Path(directory) / "crawl", teams)
                # a delay binds all gatherers together; without one, each has its connections
                rate = min(hosts * host_rate * (1 if delay_s else gatherers), gatherers * latent_rate)
                row["bound_s"][gatherers] = round(math.ceil(pages / hosts) * hosts / rate, 2)
        alone = row["seconds"].get(1, math.inf)
        is_mixed = is_latent and delay_s and hosts * host_rate < TEAM * latent_rate
        row["limit"] = "both" if is_mixed else "latency" if is_latent else "politeness" if delay_s else "start"
        row["times_one"] = {n: round(alone / s, 2) for n, s in row["seconds"].items()}
        row["slower"] = [n for n, s in row["seconds"].items() if s > alone + max(MOST_PART * alone, MOST_S)]
        print(row, file=sys.stderr, flush=True)
        yield row


def timed(seeds: tuple[str, ...], gatherers: int, delay_s: float, pages: int, directory: Path) -> float:
    """The seconds of a whole crawl, from its command to its end; it must have fetched every page."""
    (directory / "seeds.txt").write_text("\n".join(seeds))
    command = [sys.executable, "-m", "gcs", "crawl", "--seeds", directory / "seeds.txt", "-o", directory / "crawl"]
    command += [*FLAGS, "--delay", str(delay_s), "-n", str(gatherers), "--set", f"fetch.connections={CONNECTIONS}"]
    # modules are compiled once, as after an installation
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun_at = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    seconds = time.monotonic() - begun_at
    report = json.loads(done.stdout)
    if report["unique"] < pages:
        sys.exit(f"{gatherers} gatherers stored {report['unique']} of {pages} pages")
    return seconds


def longest_rest_s(directory: Path, gatherers: int) -> float:
    """The longest time for which one of the gatherers asked for nothing, from the first request of the crawl on."""
    asked: dict[str, list[float]] = {}
    for gatherer, at in reading.rows(directory, ["gatherer", "fetched_at"]):
        asked.setdefault(gatherer, []).append(at)
    moments = sorted(itertools.chain.from_iterable(asked.values()))
    first, last = moments[0], moments[int(NEARLY * (len(moments) - 1))]
    if len(asked) < gatherers:
        return last - first
    times = [sorted({first, last, *(at for at in each if at < last)}) for each in asked.values()]
    return max(later - earlier for each in times for earlier, later in itertools.pairwise(each))


def predicted(directory: Path, teams: list[int]) -> dict[int, float]:
    """The seconds that `gcs study teams` foretells."""
    sizes = ",".join(map(str, teams))
    command = [sys.executable, "-m", "gcs", "study", "teams", "--graph", directory, "-k", sizes, "--json", "--fresh"]
    rows = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["rows"]
    return {row["n"]: row["seconds"] for row in rows if row["n"] in teams}


def show_polite(rows: list[dict], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"polite": rows, "slower": sum(len(row["slower"]) for row in rows)}))
        return
    for row in rows:
        cells = "  ".join(
            f"{n}: {s:6.2f} s ({row['bound_s'][n]:.2f}, {row['times_one'][n]:.2f} x, rest {row['rest_s'][n]:.1f})"
            + (
                f" foretold {row['predicted'][n]:6.2f} ({row['predicted'][n] / s - 1:+4.0%})"
                if row["predicted"]
                else ""
            )
            for n, s in row["seconds"].items()
        )
        print(
            f"{row['cell']:38} {row['limit']:10} {row['pages']:6} pages  {cells}"
            + (f"  SLOWER: {row['slower']}" if row["slower"] else "")
        )


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
