"""Delays at hosts, whatever happens to their owners, and whatever the clocks of machines say (`scripts/chaos`)."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

from .chaos import Chaos, Script, fake_clock, least_gap_s, libfaketime

needs_libfaketime = pytest.mark.skipif(not libfaketime(), reason="libfaketime is not installed (Debian: libfaketime)")
SHORT = Script(
    *(3, 120, 2, 3, 4),  # seed, pages, hosts, gatherers
    every_s=0.7,
    seconds=20.0,
    latency_s=0.01,
    faults={},
    warc=False,
    delay_s=0.1,
    events=12,
)


@pytest.mark.parametrize("keyspace", ["url-hash", ""])
def test_hosts_see_their_delay_while_gatherers_come_go_and_die(tmp_path: Path, keyspace: str) -> None:
    """Under url-hash all gatherers share all hosts; in the tree, hosts move from one owner to another."""
    said: list[str] = []
    verdict = Chaos(tmp_path, replace(SHORT, keyspace=keyspace), said.append).run()
    print("\n".join(said))
    assert verdict.troubles == []
    assert verdict.pages == SHORT.pages


@needs_libfaketime
@pytest.mark.parametrize("keyspace", ["url-hash", ""])
def test_clocks_that_are_wrong_by_minutes_or_an_hour_change_nothing(tmp_path: Path, keyspace: str) -> None:
    """Nothing else happens: where processes die, libfaketime breaks time.sleep, which waits for their locks."""
    said: list[str] = []
    skews_s = (0.0, 600.0, -600.0, 3600.0)
    script = replace(SHORT, keyspace=keyspace, gatherers=4, hosts=8, skews_s=skews_s, seconds=0.0)
    verdict = Chaos(tmp_path, script, said.append).run()
    print("\n".join(said))
    assert verdict.troubles == []
    assert verdict.pages == script.pages
    logs = {log.stem: log.read_text("utf-8") for log in tmp_path.glob("*.log")}
    told = [line for text in logs.values() for line in text.splitlines() if "ahead_s" in line]
    assert len(told) == 3, "each gatherer with a wrong clock says so, once"


@needs_libfaketime
@pytest.mark.parametrize("step", ["-7200s", "+7200s"])
def test_crawl_goes_on_when_its_clock_is_set(tmp_path: Path, step: str) -> None:
    """A step back froze the crawl for as long as the step."""
    clock, delay_s = tmp_path / "clock", 0.05
    clock.write_text("+0s")
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=60)) as web:
        command = [sys.executable, "-m", "gcs", "crawl", web.seeds[0], "-o", str(tmp_path / "out"), "--json"]
        command += ["--delay", str(delay_s), "--set", "fetch.allow_private=true", "--log", "error"]
        crawl = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | fake_clock(file=clock))
        try:
            give_up_at = time.monotonic() + 60
            while len(web.log.hits) < 15:
                assert time.monotonic() < give_up_at and crawl.poll() is None
                time.sleep(0.05)
            clock.write_text(step)
            output, _ = crawl.communicate(timeout=60)
        finally:
            crawl.kill()
            crawl.wait()
        report = json.loads(output)
        assert (report["pages"], report["state"]) == (60, "done")
        assert 0 < report["seconds"] < 60, "the report counts the time that has passed, not the step"
        assert least_gap_s(web.log.hits) >= delay_s
