"""Pages per CPU-second beside the peers, on the synthetic web of ../shared/bench, all in one run.

Prints the peers' table with our rows in it, or with --json one object. Ratios to tuned Scrapy are what counts: the
machines are noisy and differ.

`--web real`: our rows alone, on a web like the real one (`lib/real_web.py`): nginx on one core, the crawl on another.
REALWEB_PAGES and REALWEB_HOSTS set its size (4,000 and 200); `--rows links,fast_warc` picks rows. The rows http1_gzip,
http2_gzip, http1_br and http2_br are links_warc by HTTP/1.1 or HTTP/2, with gzip or brotli.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib.real_web import BROTLI, RealWeb

ROOT = Path(__file__).parents[2]
BENCH = ROOT.parent / "shared" / "bench"
HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "gcs-bench")
OURS = ROOT / "scripts" / "bench.d" / "ours"
VARIANTS = ("links", "links_warc", "fast_warc")


#: what the rows of the real web ask for
REAL = {
    "links": ("--summary", "links", "--no-warc", "--set", "store.summaries=false"),
    "links_warc": ("--summary", "links"),
    "fast_warc": ("--summary", "fast"),
    "fast_warc_index": ("--summary", "fast", "--index"),
    "full_warc": ("--summary", "full"),
}
#: links_warc by each version of HTTP; the server has brotli where the name ends with br
HTTP = {
    f"http{version}_{coding}": ("--summary", "links", "--set", f"fetch.http2={'true' if version == 2 else 'false'}")
    for coding in ("gzip", "br")
    for version in (1, 2)
}


def real(rows: list[str]) -> dict[str, dict[str, float]]:
    """Our rows on the web like the real one: CPU of all processes, start-up included."""
    if not shutil.which("nginx"):
        sys.exit("this benchmark needs nginx, which is not installed: apt-get install nginx-light")
    pages, hosts = int(os.environ.get("REALWEB_PAGES", "4000")), int(os.environ.get("REALWEB_HOSTS", "200"))
    web = RealWeb(HOME / f"own-realweb-{pages}-{hosts}", pages, hosts)
    web.make()
    found = {}
    for row in rows:
        with_brotli = row.endswith("_br")
        if with_brotli and not BROTLI.exists():
            sys.exit("this row needs apt-get install libnginx-mod-http-brotli-static")
        with tempfile.TemporaryDirectory(prefix="gcs-bench-real-") as scratch, web.served(with_brotli):
            config = Path(scratch) / "gcs.toml"
            config.write_text(
                f"[fetch]\nca_file = {json.dumps(str(web.folder / 'cert.pem'))}\nresolve = {json.dumps(web.resolve)}\n"
            )
            command = ["gcs", "crawl", web.urls[0], "--config", config, "-o", f"{scratch}/crawl", "--scope", "any"]
            command += ["--allow-private", "--delay", "0", "--json", *(REAL | HTTP)[row]]
            start = time.perf_counter()
            process = subprocess.Popen(
                [*(["taskset", "-c", "1"] if shutil.which("taskset") else []), sys.executable, "-m", *command],
                stdout=subprocess.DEVNULL,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds, cpu_s = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
            time.sleep(1.2)  # the log is flushed every second
            done = len(web.fetched())
            stored_bytes = sum(file.stat().st_size for file in Path(scratch).rglob("*") if file.is_file())
        if process.returncode or done != pages:
            sys.exit(f"{row}: {done} of {pages} pages, exit {process.returncode}")
        found[row] = {
            "pages_per_cpu_s": round(done / cpu_s, 1),
            "seconds": round(seconds, 1),
            "cpu_s": round(cpu_s, 1),
            "peak_rss_mb": round(usage.ru_maxrss / 1024),
            "connections": web.connections(),
            "stored_mb": round(stored_bytes / 1e6),
        }
        print(row, found[row], file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--web", choices=("synthetic", "real"), default="synthetic")
    parser.add_argument("--rows", default=",".join(REAL))
    asked = parser.parse_args()
    if asked.web == "real":
        rows = real(asked.rows.split(","))
        print(json.dumps(rows) if asked.json else "\n".join(f"{name:12s} {row}" for name, row in rows.items()))
        return
    synthetic(asked.json)


def synthetic(as_json: bool) -> None:
    """Our rows among those of the peers."""
    if not BENCH.exists():
        sys.exit(f"{BENCH} is absent: this benchmark needs the peers' runners")
    out = subprocess.DEVNULL if as_json else None
    if not (HOME / "venvs" / "scrapy").exists():
        subprocess.run([BENCH / "run", "setup"], check=True, stdout=out, env=os.environ | {"BENCH_HOME": str(HOME)})
    environment = os.environ | {"BENCH_HOME": str(HOME), "OURS": f"{OURS} links"}
    subprocess.run([BENCH / "run", "fast"], check=True, stdout=out, env=environment)
    results = HOME / "results" / "fast.jsonl"
    for variant in VARIANTS[1:]:
        row = ["--reps", "3", "--timeout", "240", "--json", results, "--name", f"ours {variant}", "--", OURS, variant]
        web = ["--data", HOME / "web" / "w4k"]
        subprocess.run([sys.executable, BENCH / "bench.py", *web, *row], check=True, stdout=out, env=environment)
    rows = {row["name"]: row for row in map(json.loads, results.read_text().splitlines())}
    ours = {"links": rows["ours"]} | {variant: rows[f"ours {variant}"] for variant in VARIANTS[1:]}
    scrapy = next(row for name, row in rows.items() if name.startswith("scrapy tuned"))
    for variant, row in ours.items():
        if row["rc"] != 0 or row["distinct"] != row["pages_in_web"]:
            sys.exit(f"ours {variant}: {row['distinct']} of {row['pages_in_web']} pages, exit {row['rc']}")
    figures = {
        "vs_scrapy_tuned": {variant: round(row["ppcpu"] / scrapy["ppcpu"], 2) for variant, row in ours.items()},
        "pages_per_cpu_s": {variant: round(row["ppcpu"]) for variant, row in ours.items()},
        "peak_rss_mb": {variant: round(row["rss_mb"]) for variant, row in ours.items()},
        "peers_pages_per_cpu_s": {name: round(row["ppcpu"]) for name, row in rows.items() if "ours" not in name},
    }
    if as_json:
        print(json.dumps(figures))
        return
    ratios = ", ".join(f"{variant} {ratio} ×" for variant, ratio in figures["vs_scrapy_tuned"].items())
    print(f"\nagainst tuned Scrapy, pages per CPU-second: {ratios}")


if __name__ == "__main__":
    main()
