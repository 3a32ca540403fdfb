"""Jobs that come again and again without a disk, for a team that stays: `gcs crawl -n 0 --run NAME`."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

QUICK = ("--allow-private", "--scope", "any", "--delay", "0", "--set", "team.beat_s=0.1", "--json")
Job = Callable[..., dict]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    server = EmbeddedServer(tmp_path / "space")
    yield server.start()
    server.stop()


@pytest.fixture
def job(url: str, tmp_path: Path) -> Iterator[Job]:
    """Runs the job in an empty directory, beside two gatherers that stay."""
    words = [sys.executable, "-m", "gcs", "gatherer", "--space", url, "--crawl", "c", "--allow", "private", "--stay"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GCS_")}
    team = [
        subprocess.Popen([*words, "--name", name, "-o", tmp_path / name], env=environment, stderr=subprocess.DEVNULL)
        for name in ("g0", "g1")
    ]
    count = 0

    def run(name: str, *seeds: str, code: int = 0) -> dict:
        nonlocal count
        count += 1
        there = ("--space", url, "--name", "c", "-n", "0", "--run", name, "-o", tmp_path / f"job{count}")
        command = [sys.executable, "-m", "gcs", "crawl", *seeds, *QUICK, *there]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else {"error": done.stderr}

    yield run
    for gatherer in team:
        gatherer.send_signal(signal.SIGTERM)
    for gatherer in team:
        gatherer.wait(60)


def test_run_of_another_name_begins_the_next_session_and_one_again_does_not(job: Job, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=40, validators=True)) as web:
        first = job("monday", *web.seeds)
        assert (first["state"], first["pages"]) == ("done", 40)
        asked = web.log.requests
        assert job("monday", *web.seeds)["pages"] == 40
        assert web.log.requests == asked, "a job that is started again finds its session done"
        second = job("tuesday")  # the whiteboard remembers the seeds
        assert (second["state"], second["session"], second["revisits"]) == ("done", 2, 40), second
        assert web.log.requests >= asked + 40, "the next session asks for every page again"
        told = Counter(r.session for name in ("g0", "g1") for r in read_records(tmp_path / name) if r.is_page)
        assert told[1] == 40


def test_first_run_needs_seeds_and_a_whiteboard(job: Job) -> None:
    assert "no seeds" in job("monday", code=2)["error"]


def test_job_that_has_to_end_waits_for_no_whiteboard(tmp_path: Path) -> None:
    """As when a deployment is deleted: Redis goes first, and the job would wait for it until it is killed."""
    server = EmbeddedServer(tmp_path / "space")
    url = server.start()
    there = ("--space", url, "--name", "c", "-n", "0", "--run", "first", "-o", tmp_path / "job")
    command = [sys.executable, "-m", "gcs", "crawl", "http://127.0.0.1:1/", *QUICK, *there]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GCS_")}
    job = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert job.stderr
    try:
        with redis.Redis.from_url(url) as client:
            while not client.keys("*"):
                assert job.poll() is None
                time.sleep(0.05)
        server.stop()
        assert any("space.unreachable" in line for line in job.stderr)
        job.send_signal(signal.SIGTERM)
        assert job.wait(60) == 1
        assert "the crawl is elsewhere" in job.stderr.read()
    finally:
        job.kill()
        job.stderr.close()
        server.stop()
