"""Several crawls at once on one team: `gcs gatherer --all` on three machines, whose gatherers are killed in turn."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.space.embedded_server import EmbeddedServer

Start = Callable[..., "subprocess.Popen[str]"]
HOSTS = ("h0", "h1", "h2")
#: connections of a host: three quarters of them are 6, a quarter 2
CONNECTIONS = 8


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=16, pages=800, links=8, foreign_share=0.2, latency_s=0.15)) as server:
        yield server


@pytest.fixture
def space(tmp_path: Path) -> Iterator[str]:
    server = EmbeddedServer(tmp_path / "space")
    yield server.start()
    server.stop()


def wait(condition: Callable[[], Any], seconds: float = 90) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("it never came true")


def gatherers(crawl: str, host: str) -> list[int]:
    """The processes that work on a host for a crawl; their command lines tell."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            if "--share-file" in words and words[words.index("--crawl") + 1] == crawl and host in words:
                assert "--space" not in words, "its URL may hold a password"
                found.append(int(folder.name))
    return found


def test_two_crawls_share_a_team_of_three_and_outlive_the_death_of_each_gatherer(
    start: Start, web: FakeWebProcess, space: str, tmp_path: Path
) -> None:
    quiet = {"stderr": subprocess.DEVNULL}
    hosts = {
        name: start(
            *("gatherer", "--all", "--space", space, "--name", name, "-o", tmp_path / name),
            *("--connections", CONNECTIONS, "--allow", "private"),
            **quiet,
        )
        for name in HOSTS
    }
    origins = [f"{site.origin}/" for site in web.web.sites]
    crawls = {
        name: start(
            *("crawl", *seeds, "-n", 0, "--space", space, "--name", name, "-o", tmp_path / name, "--json"),
            *("--allow-private", "--delay", 0, "--no-warc", "--set", f"crawl.share={share}"),
        )
        for name, share, seeds in (("large", 3, origins[1:]), ("small", 1, origins[:1]))
    }

    def connections(crawl: str, host: str) -> int:
        file = tmp_path / host / crawl / "state" / host / "connections"
        return int(file.read_text()) if file.exists() else 0

    for host in HOSTS:
        wait(lambda host=host: (connections("large", host), connections("small", host)) == (6, 2))
    for crawl in ("large", "small"):
        for host in HOSTS:
            if crawls[crawl].poll() is None and (pids := gatherers(crawl, host)):
                os.kill(pids[0], signal.SIGKILL)
                wait(
                    lambda crawl=crawl, host=host, dead=pids[0]: (
                        crawls[crawl].poll() is not None
                        or (gatherers(crawl, host) and dead not in gatherers(crawl, host))
                    )
                )
    reports = {}
    for name, process in crawls.items():
        out, _ = process.communicate(timeout=150)
        assert process.returncode == 0
        reports[name] = json.loads(out)
    for report in reports.values():
        assert report["state"] == "done" and report["queued"] == 0 and report["dead_letters"] == 0
    assert reports["large"]["pages"] == reports["large"]["unique"] > 5 * reports["small"]["pages"] > 0
    for host in HOSTS:
        wait(lambda host=host: not gatherers("large", host) and not gatherers("small", host))
    for process in hosts.values():
        process.send_signal(signal.SIGTERM)
    assert [process.wait(60) for process in hosts.values()] == [0, 0, 0]
