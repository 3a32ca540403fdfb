"""What a crawl's directory says of its costs."""

import json
import subprocess
import sys

import pytest

from gcs.app.study.crawl_costs import crawl_costs
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.sim.engine.capacity import Costs


def test_costs_are_those_of_the_crawl(tmp_path):
    """From a real crawl of the fake web, against its own report and files."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=3, pages=60)) as web:
        command = [
            sys.executable,
            "-m",
            "gcs",
            "crawl",
            *web.seeds,
            "--scope",
            "any",
            "--delay",
            "0",
            "--allow-private",
        ]
        subprocess.run([*command, "-o", tmp_path / "one", "--json"], check=True, capture_output=True, timeout=100)
    report = json.loads((tmp_path / "one/report.json").read_text())
    found = crawl_costs(tmp_path / "one", Costs())
    assert found.page_bytes == pytest.approx(report["bytes"] / 60)
    assert 0 < found.page_cpu_s * 60 <= report["cpu_s"] * 1.01
    stored = sum(each.stat().st_size for part in ("warc", "summaries") for each in (tmp_path / "one" / part).iterdir())
    assert found.stored_bytes * 60 == pytest.approx(stored, abs=4096 * 4)
    assert found.state_bytes > 0 and found.board_url_s == Costs().board_url_s


def test_directory_without_a_crawl_tells_nothing(tmp_path):
    assert crawl_costs(tmp_path, Costs()) == Costs()
