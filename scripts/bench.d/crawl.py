"""Pages per CPU-second beside the peers, on the synthetic web of ../shared/bench, all in one run.

Prints the peers' table with our rows in it, or with --json one object. Ratios to tuned Scrapy are what counts: the
machines are noisy and differ.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCH = ROOT.parent / "shared" / "bench"
HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "gcs-bench")
OURS = ROOT / "scripts" / "bench.d" / "ours"
VARIANTS = ("links", "links_warc", "fast_warc")


def main() -> None:
    if not BENCH.exists():
        sys.exit(f"{BENCH} is absent: this benchmark needs the peers' runners")
    as_json = "--json" in sys.argv
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
