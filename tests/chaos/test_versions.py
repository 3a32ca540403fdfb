"""Gatherers of two versions in one team: what the old one cannot read waits for a new one, and is never lost."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gcs.app.processes.local_team import CrawlStart, open_crawl
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.redis_space import open_space
from gcs.settings import load

from .chaos import failures

OLD, NEW = "gcs", "tests.chaos.newer"
#: by a hash, so that both gatherers have pages from the beginning, which link to one another
SETTINGS = {
    "crawl.scope": "any",
    "politeness.delay_s": 0.0,
    "summary.depth": "links",
    "fetch.allow_private": True,
    "fetch.connections": 4,
    "frontier.fsync": False,
    "store.warc": False,
    "team.lease_s": 2.0,
    "team.beat_s": 0.2,
    "team.expansion": (),
    "team.rebalance_s": 0.5,
    "team.idle_urls": 5,
    "team.recover_s": 4.0,
    "space.lease_s": 2.0,
}


class Mixed:
    """A team whose gatherers are started by hand, each in its version."""

    def __init__(self, directory: Path, web: FakeWebProcess) -> None:
        self.directory, self.web, self.server = directory, web, EmbeddedServer(directory / "space")
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.server.start()

    def open(self) -> None:
        """Put the crawl on the whiteboard, or let it go on."""

        async def do() -> None:
            space = await open_space(self.server.url, crawl="c", name="test")
            await open_crawl(space, CrawlStart(load(None, {}, SETTINGS), list(self.web.seeds), 2))
            await space.close()

        asyncio.run(do())

    def start(self, name: str, version: str) -> None:
        command = [sys.executable, "-m", version, "gatherer", "--space", self.server.url, "--crawl", "c"]
        command += ["--allow", "private"]
        command += ["--name", name, "-o", str(self.directory / "crawl"), "--log", "info"]
        with (self.directory / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def replace(self, name: str, version: str, by: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.running[name].pid, by)
        self.running[name].wait(60)
        self.start(name, version)

    def logged(self, event: str) -> int:
        return sum(log.read_text().count(event) for log in self.directory.glob("*.log"))

    def control(self) -> Control:
        async def do() -> Control | None:
            space = await open_space(self.server.url, crawl="c", name="test")
            try:
                return await space.read(template(Control))
            finally:
                await space.close()

        control = asyncio.run(do())
        assert control is not None
        return control

    def until(self, holds: Callable[[], bool], seconds: float = 60.0) -> None:
        give_up_at = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < give_up_at
            time.sleep(0.1)

    def codes(self) -> set[int]:
        """The exit codes of all that run now."""
        return {process.wait(60) for process in self.running.values()}

    def check(self) -> None:
        """It has come to its end, with every page stored once."""
        self.until(lambda: self.control().state is CrawlState.DONE)
        assert self.codes() == {0}
        stored = sorted(record.url for record in read_records(self.directory / "crawl") if record.is_page)
        assert stored == sorted(survey(self.web.web).pages)
        assert failures(self.directory) == []

    def end(self) -> None:
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        self.server.stop()


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Mixed]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=20, pages=600, latency_s=0.05)) as web:
        team = Mixed(tmp_path, web)
        try:
            yield team
        finally:
            team.end()


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "told-to-leave"])
def test_rolling_upgrade_loses_nothing(team: Mixed, by: signal.Signals) -> None:
    """An old gatherer leaves in its inbox what a new one wrote; in its new version it takes it up."""
    team.open()
    team.start("g0", OLD)
    team.start("g1", NEW)
    team.until(lambda: team.logged("space.unreadable") > 0)
    time.sleep(1)  # more of it
    team.replace("g0", NEW, by)
    team.check()


def test_team_that_stays_of_two_versions_ends_and_says_why_and_goes_on_later(team: Mixed) -> None:
    team.open()
    team.start("g0", OLD)
    team.start("g1", NEW)
    team.until(lambda: team.control().state is CrawlState.STOPPING, 90)
    control = team.control()
    assert control.reason == "stuck"
    assert "another version of GCS cannot be read by g0" in control.detail
    assert 4 in team.codes() <= {0, 4}
    team.open()
    team.start("g0", NEW)
    team.start("g1", NEW)
    team.check()
