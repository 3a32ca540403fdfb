"""A team whose whiteboard is far away: whatever its lease, it crawls."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

from .proxy import SlowLine

FLAGS = ["--scope", "any", "--delay", "0", "--allow-private", "--summary", "links", "--no-warc", "--json"]


@pytest.mark.parametrize(
    ("coordination", "round_trip_s", "lease_s"),
    [("superpages", 0.2, 1.0), ("superpages", 0.3, 0.5), ("seed-server", 0.2, 1.0)],
)
def test_team_crawls_over_a_slow_line(tmp_path: Path, coordination: str, round_trip_s: float, lease_s: float) -> None:
    """A fifth of the lease, as 0.6 s is of 3 s; and more than half of it, where only a longer lease helps."""
    server = EmbeddedServer(tmp_path / "space")
    server.start()
    try:
        spec = FakeWebSpec.plain(hosts=6, pages=60)
        with SlowLine(server.url.removeprefix("unix://"), round_trip_s) as line, FakeWebProcess(spec) as web:
            command = ["crawl", web.seeds[0], "-o", str(tmp_path / "crawl"), "-n", "2", "--space", line.url, *FLAGS]
            command += ["--coordination", coordination, "--set", f"team.lease_s={lease_s}", "--set", "team.beat_s=0.1"]
            done = subprocess.run(
                [sys.executable, "-m", "gcs", *command], capture_output=True, text=True, timeout=100, check=False
            )
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["state"] == "done"
            stored = sorted(record.url for record in read_records(tmp_path / "crawl") if record.is_page)
            assert stored == sorted(survey(web.web).pages)
    finally:
        server.stop()
    assert "slow-line" in done.stderr
