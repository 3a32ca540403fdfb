"""`gcs station FOLDER --space`: crawls that a team of machines crawls, begun, watched and ended at the station."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.space.embedded_server import EmbeddedServer
from tests.cli.test_gatherer_host import gatherers
from tests.cli.test_station_folder import Desk, wait

Start = Callable[..., "subprocess.Popen[str]"]
TOML = "[fetch]\nallow_private = true"


@pytest.fixture
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=8, pages=160, links=8, foreign_share=0.2, latency_s=0.1)) as server:
        yield server


@pytest.fixture
def space(tmp_path: Path) -> Iterator[str]:
    server = EmbeddedServer(tmp_path / "space")
    yield server.start()
    server.stop()


def test_crawls_of_a_folder_are_crawled_by_a_team(
    start: Start, gcs: Callable[..., Any], web: FakeWebProcess, space: str, tmp_path: Path
) -> None:
    machine = ("gatherer", "--all", "--space", space, "--allow", "private", "--connections", 8)
    machines = [
        start(*machine, "--name", name, "-o", tmp_path / name, stderr=subprocess.DEVNULL) for name in ("m1", "m2")
    ]
    folder = tmp_path / "crawls"
    folder.mkdir()
    desk = Desk(start, folder, "--space", space)
    assert desk.process.stderr
    origins = [f"{site.origin}/" for site in web.web.sites]
    for name, seeds, delay in (("quick", origins[:4], 0.0), ("slow", origins[4:], 5.0)):
        wanted = {
            "seeds": seeds,
            "name": name,
            "toml": TOML,
            "delay_s": delay,
            "share": 2.0 if name == "quick" else 1.0,
        }
        assert desk.call("new", wanted)[0] == 202

    def status(crawl: str) -> Any:
        return desk.call(f"crawls/{crawl}/status")[1]

    wait(lambda: {row["gatherer"] for row in status("slow").get("team", ())} == {"m1", "m2"})
    assert desk.call("crawls/slow/pause", {})[0] == 202
    wait(lambda: desk.state("slow") == "paused")
    for pid in wait(lambda: gatherers("slow", "m1")):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: (folder / "quick" / "report.json").exists())
    told = json.loads((folder / "quick" / "report.json").read_text())
    wait(lambda: desk.state("quick") == "done" and not gatherers("quick", "m1"))
    shown = status("quick")["report"]  # its pages are on the machines; how it ended is known here
    names = ("state", "pages", "unique", "failed", "queued", "known_urls", "explored_fraction")
    assert [shown[name] for name in names] == [told[name] for name in names]
    done = gcs("status", folder / "quick")
    assert done.out.startswith(f"done: {told['pages']} pages") and "100 % explored" in done.out
    assert "pages lie on the machines of m1, m2" in done.out
    assert desk.call("crawls/slow/resume", {})[0] == 202
    wait(lambda: desk.state("slow") == "running" and gatherers("slow", "m1"))
    added = desk.call("crawls/slow/seeds", {"urls": [f"{origins[0]}more"]})
    assert added[0] in (200, 202), added
    assert desk.call("crawls/slow/stop", {})[0] == 202
    wait(lambda: desk.state("slow") in ("stopped", "limit", "done"))
    wait(lambda: not gatherers("slow", "m1") and not gatherers("slow", "m2"))
    assert desk.call("crawls/slow/start", {})[0] == 202  # it goes on, with its pages
    wait(lambda: desk.state("slow") == "running" and gatherers("slow", "m2"))
    desk.process.terminate()
    assert desk.process.wait(60) == 0
    wait(lambda: not gatherers("slow", "m1") and not gatherers("slow", "m2"))
    for process in machines:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(60) for process in machines] == [0, 0]
