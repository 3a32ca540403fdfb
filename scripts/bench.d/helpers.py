"""What helpers bring where the network is slow: 200 ms to every answer, 4 connections per process.

One gatherer alone, and with 1, 2 and 4 helpers (`--helpers 0,4`), on the same web; the faster of `--reps` runs each.
The seconds are those in which pages were fetched: from the first request to the last, as the web's server saw them.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.space.embedded_server import EmbeddedServer

GCS = (sys.executable, "-m", "gcs")
LATENCY_S, CONNECTIONS = 0.2, 4


def main() -> None:
    reps = int(sys.argv[sys.argv.index("--reps") + 1]) if "--reps" in sys.argv else 1
    pages = int(sys.argv[sys.argv.index("--pages") + 1]) if "--pages" in sys.argv else 1_000
    counts = sys.argv[sys.argv.index("--helpers") + 1] if "--helpers" in sys.argv else "0,1,2,4"
    runs = {
        n: min((crawl(n, pages) for _ in range(reps)), key=lambda run: run["fetch_s"])
        for n in map(int, counts.split(","))
    }
    figures = {
        "speed_up": {n: round(runs[0]["fetch_s"] / run["fetch_s"], 2) for n, run in runs.items() if n},
        "pages_per_s": {n: round(run["pages"] / run["fetch_s"], 1) for n, run in runs.items()},
        "pages": {n: run["pages"] for n, run in runs.items()},
        "helped_share": {n: round(run["helped"] / run["pages"], 2) for n, run in runs.items()},
        "rebalances": {n: run["rebalances"] for n, run in runs.items()},
        "latency_s": LATENCY_S,
        "connections": CONNECTIONS,
    }
    if "--json" in sys.argv:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:16} {value}")


def crawl(count: int, pages: int) -> dict:
    """A whole crawl with so many helpers, which are there before it begins."""
    directory = Path(tempfile.mkdtemp(prefix="gcs-bench-helpers-"))
    server = EmbeddedServer(directory / "space")
    url = server.start()
    spec = FakeWebSpec.plain(hosts=50, pages=pages, links=20, html_bytes=19_000, latency_s=LATENCY_S)
    helping: list[subprocess.Popen] = []
    try:
        with FakeWebProcess(spec) as web:
            flags = ["--scope", "any", "--delay", "0", "--allow-private", "--connections", str(CONNECTIONS), "--json"]
            command = [*GCS, "crawl", web.seeds[0], "-o", str(directory / "crawl"), "--space", url, *flags]
            helping = [start(url) for _ in range(count)]
            for helper in helping:
                assert "no-crawl-yet" in helper.stderr.readline()
            crawling = subprocess.Popen(command, stdout=subprocess.PIPE)
            report = json.loads(crawling.communicate(timeout=600)[0])
            starts = sorted(at for times in web.log.hits.values() for at in times)
            said = [helper.communicate(timeout=30)[1] for helper in helping]
    finally:
        for helper in helping:
            helper.kill()
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    helped = sum(int(pages) for text in said for pages in re.findall(r"off-duty .*pages=(\d+)", text))
    return report | {"fetch_s": starts[-1] - starts[0] + LATENCY_S, "helped": helped}


def start(url: str) -> subprocess.Popen:
    command = [*GCS, "helper", "--space", url, "-j", str(CONNECTIONS), "--allow-private"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


if __name__ == "__main__":
    main()
