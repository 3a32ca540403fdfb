"""A team on one machine whose processes are ended one after the other: `gcs crawl -n` brings back what it needs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import address_of

FLAGS = ["--scope", "any", "--delay", "0", "--allow-private", "--summary", "links", "--no-warc", "--connections", "4"]
QUICK = ["team.beat_s=0.2", "team.lease_s=2", "team.rebalance_s=0.5", "frontier.fsync=false"]
SPEC = FakeWebSpec.plain(hosts=20, pages=800, latency_s=0.08)


class Crawl:
    """A running `gcs crawl -n 3`."""

    def __init__(self, directory: Path, web: FakeWebProcess) -> None:
        command = [
            sys.executable,
            "-m",
            "gcs",
            "crawl",
            web.seeds[0],
            "-o",
            str(directory),
            "-n",
            "3",
            *FLAGS,
            "--json",
        ]
        for setting in QUICK:
            command += ["--set", setting]
        self.directory, self.web = directory, web
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)

    def gatherers(self) -> list[int]:
        """Their process ids: all children but the whiteboard's server."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children if b"gcs" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]

    def server(self) -> int:
        """The process id of the whiteboard's server."""
        address = address_of(self.directory / "state" / "space")
        assert address
        with redis.Redis(unix_socket_path=address.removeprefix("unix://")) as client:
            return client.info()["process_id"]

    def until(self, holds: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < give_up_at
            assert self.process.poll() is None, "the crawl has ended"
            time.sleep(0.05)

    def fetched(self, pages: int) -> None:
        """Wait until so many pages more are asked for."""
        before = self.web.log.requests
        self.until(lambda: self.web.log.requests >= before + pages)

    def check(self) -> None:
        """It ends in good order, with every page stored once."""
        output, _ = self.process.communicate(timeout=90)
        assert self.process.returncode == 0
        assert json.loads(output)["state"] == "done"
        stored = [record.url for record in read_records(self.directory) if record.is_page]
        assert len(stored) == len(set(stored))
        assert set(stored) == survey(self.web.web).pages


@contextmanager
def crawling(directory: Path) -> Iterator[Crawl]:
    with FakeWebProcess(SPEC) as web:
        crawl = Crawl(directory, web)
        try:
            yield crawl
        finally:
            for pid in [] if crawl.process.poll() is not None else crawl.gatherers():
                os.kill(pid, signal.SIGKILL)
            crawl.process.kill()
            crawl.process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
def test_crew_brings_back_its_server_and_its_gatherers(tmp_path: Path) -> None:
    with crawling(tmp_path) as crawl:
        crawl.fetched(60)
        for _ in range(2):
            os.kill(crawl.server(), signal.SIGKILL)
            crawl.fetched(60)
            os.kill(crawl.gatherers()[0], signal.SIGKILL)
            crawl.until(lambda: len(crawl.gatherers()) == 3)
            crawl.fetched(60)
        crawl.check()


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
def test_crew_goes_on_with_one_when_all_gatherers_were_told_to_leave(tmp_path: Path) -> None:
    with crawling(tmp_path) as crawl:
        crawl.fetched(200)
        for pid in crawl.gatherers():
            os.kill(pid, signal.SIGTERM)
        crawl.check()
