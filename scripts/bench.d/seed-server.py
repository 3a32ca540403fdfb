"""WEB-SAILOR live: a seed-server, two clients and a third that joins; connections and pages over time (Figures 4, 6).

On the fake web (40 hosts, 40 % of the pages on one, 50 ms latency). `--plot FILE` draws the pages that each client
has stored, the connections that the server allows it, and the seeds that the server holds for it.
"""

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

WAY = ["--set", "team.coordination=seed-server", "--set", "team.beat_s=0.2", "--set", "seed_server.connections=4"]
FLAGS = ["--scope", "any", "--allow-private", "--delay", "0", "--summary", "links", "--no-warc", "--json"]


def main() -> None:
    pages = int(sys.argv[sys.argv.index("--pages") + 1]) if "--pages" in sys.argv else 6000
    spec = FakeWebSpec.plain(hosts=40, pages=pages, giant_share=0.4, latency_s=0.05)
    with tempfile.TemporaryDirectory() as place, FakeWebProcess(spec) as web:
        home = Path(place)
        report = crawl(home, web, pages)
        records = [record for name in "abc" for record in read_records(home / name) if record.is_page]
        stored = Counter(record.url for record in records)
        with (home / "seed-server" / "state" / "seed-server" / "pace.csv").open() as file:
            words = list(csv.reader(file))
        figures = {
            "pages": len(stored),
            "coverage": len(stored) / len(survey(web.web).pages),
            "overlap": len(records) / len(stored) - 1,
            "pages_per_client": dict(sorted(Counter(record.gatherer for record in records).items())),
            "words": dict(Counter(word[2] for word in words)),
            "connections": {
                name: {"least": min(seen), "most": max(seen)}
                for name in "abc"
                if (seen := [int(word[3]) for word in words if word[1] == name])
            },
            "urls_per_page": report["urls_per_page"],
            "seconds": report["seconds"],
        }
        if "--plot" in sys.argv:
            draw(Path(sys.argv[sys.argv.index("--plot") + 1]), words, records)
    print(json.dumps(figures) if "--json" in sys.argv else json.dumps(figures, indent=2))


def crawl(home: Path, web: FakeWebProcess, pages: int) -> dict:
    board = EmbeddedServer(home / "board")
    space = board.start()
    running: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "gcs", words[0], "--space", space, *words[1:]]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        return running[-1]

    try:
        job = start("crawl", *web.seeds, "-n", "0", "-o", str(home / "desk"), *FLAGS, *WAY)
        start("seed-server", "-o", str(home / "seed-server"))
        for name in "ab":
            start("gatherer", "--allow", "private", "--name", name, "-o", str(home / name))
        while len(web.log.hits) < pages // 3:
            time.sleep(0.1)
        start("gatherer", "--allow", "private", "--name", "c", "-o", str(home / "c"))
        output, _ = job.communicate(timeout=600)
        for process in running:
            process.communicate(timeout=60)
        return json.loads(output)
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.communicate()
        board.stop()


def draw(file: Path, words: list[list[str]], records: list) -> None:
    import matplotlib.pyplot as plt

    begin = min(record.fetched_at for record in records)
    figure, (stored, allowed, held) = plt.subplots(3, 1, sharex=True, figsize=(8, 8), layout="constrained")
    for name in "abc":
        times = sorted(record.fetched_at - begin for record in records if record.gatherer == name)
        stored.plot(times, range(1, len(times) + 1), label=f"client {name}")
        mine = [(float(at) - begin, int(count), int(seeds)) for at, who, _, count, seeds in words if who == name]
        allowed.step([at for at, _, _ in mine], [count for _, count, _ in mine], where="post")
        held.plot([at for at, _, _ in mine], [seeds for _, _, seeds in mine])
    stored.set_ylabel("pages stored")
    stored.legend()
    allowed.set_ylabel("connections allowed")
    held.set_ylabel("seeds held")
    held.set_xlabel("seconds")
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
