"""A whiteboard with which a test can do what it likes, a web, and `gcs crawl -n 2` between the two."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

FLAGS = ["--scope", "any", "--delay", "0", "--allow-private", "--summary", "links", "--no-warc", "--connections", "4"]
QUICK = ["team.beat_s=0.2", "team.lease_s=2", "team.rebalance_s=0.5", "team.recover_s=4", "frontier.fsync=false"]


class Board:
    """A whiteboard whose memory the test limits, and a web."""

    def __init__(self, directory: Path, web: FakeWebProcess) -> None:
        self.directory, self.web, self.server = directory, web, EmbeddedServer(directory / "space")
        self.server.start()
        self.client = redis.Redis(unix_socket_path=self.server.url.removeprefix("unix://"))

    def limit(self, size_bytes: int) -> None:
        self.client.config_set("maxmemory", size_bytes)

    def crawl(self, *settings: str) -> "subprocess.Popen[str]":
        command = [
            "crawl",
            self.web.seeds[0],
            "-o",
            str(self.directory / "crawl"),
            "-n",
            "2",
            "--json",
            *FLAGS,
            "--coordination",
            "hash",
        ]
        command += ["--space", self.server.url, *(word for each in (*QUICK, *settings) for word in ("--set", each))]
        return subprocess.Popen(
            [sys.executable, "-m", "gcs", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def await_pages(self, pages: int) -> None:
        give_up_at = time.monotonic() + 60
        while self.web.log.requests < pages:
            assert time.monotonic() < give_up_at
            time.sleep(0.02)

    def check(self, out: str) -> None:
        assert json.loads(out)["state"] == "done"
        stored = sorted(record.url for record in read_records(self.directory / "crawl") if record.is_page)
        assert stored == sorted(survey(self.web.web).pages)


@contextmanager
def open_board(directory: Path) -> Iterator[Board]:
    """A new whiteboard and a new web."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=20, pages=600, latency_s=0.05)) as web:
        board = Board(directory, web)
        try:
            yield board
        finally:
            board.client.close()
            board.server.stop()
