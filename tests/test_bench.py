"""The benchmarks that have a short form: it runs, and prints the figures that other tools read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KEYS = {
    "queues": {"quickheap_vs_heapq", "tree_vs_heapq", "two_threads_speedup", "comparisons"},
    "frontier_scale": {"steps", "open_after_kill_s", "handed_over", "hand_over_s", "dispatched_meanwhile"},
    "frontier": {"insert_per_s", "lookup_per_s", "ram_bytes_per_url", "urls"},
}


@pytest.mark.parametrize("name", KEYS)
def test_bench_prints_its_figures(name):
    command = [sys.executable, ROOT / "scripts/bench.d" / f"{name}.py", "--quick", "--json"]
    figures = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=200, cwd=ROOT).stdout)
    assert figures.keys() >= KEYS[name]
    for key in KEYS[name] - {"comparisons", "steps"}:
        assert figures[key] > 0
    for row in figures.get("steps", ()):
        assert min(row["insert_per_s"], row["lookup_per_s"], row["dispatch_per_s"]) > 0
    for row in figures.get("comparisons", ()):
        assert max(row["quickheap"], row["tournament"]) < row["heap"]


def test_articles_are_found_whole_and_alone():
    """Of sites of nine kinds, one with half a megabyte of script before its text; see docs/measurements.md."""
    command = [sys.executable, ROOT / "scripts/bench.d/articles.py", "--quick", "--json"]
    figures = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=200, cwd=ROOT).stdout)
    f1 = {(row["depth"], row["set"]): row["f1"] for row in figures["rows"]}
    assert f1["fast", "made, all"] > 0.97 and f1["full", "made, all"] > 0.95
    assert min(each for (depth, _), each in f1.items() if depth == "fast") > 0.92
    assert figures["empty"] == 0
