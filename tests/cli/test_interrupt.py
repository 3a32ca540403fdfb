"""Ctrl-C and SIGTERM: the first keeps the state and says how to go on, the second ends at once."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

Run = Callable[..., Any]
SLOW = FakeWebSpec.plain(hosts=4, pages=200, latency_s=0.03)


def wait_for_pages(web: FakeWebProcess, crawl: "subprocess.Popen[str]", requests: int) -> None:
    while web.log.requests < requests:
        assert crawl.poll() is None, crawl.communicate()


def assert_complete(web: FakeWebProcess, directory: Path) -> None:
    stored = Counter(record.url for record in read_records(directory) if record.is_page)
    assert set(stored) == survey(web.web).pages
    assert set(stored.values()) == {1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_crawl_keeps_its_state_at_the_first_signal(gcs: Run, start: Run, tmp_path: Path, number: int) -> None:
    with FakeWebProcess(SLOW) as web:
        crawl = start("crawl", web.seeds[0], "-o", "out", "--allow-private", "--scope", "any", "--delay", "0")
        wait_for_pages(web, crawl, 20)
        crawl.send_signal(number)
        out, err = crawl.communicate(timeout=60)
        assert crawl.returncode == 130
        assert out.splitlines()[-1] == "interrupted, nothing lost; to go on: gcs crawl -o out"
        assert err == f"seed: {web.seeds[0]}\nending: waiting for pages in flight (Ctrl-C again to end at once)\n"
        assert json.loads((tmp_path / "out" / "report.json").read_text())["state"] == "stopped"
        before = web.log.requests
        assert before < 200
        again = gcs("crawl", "-o", "out", "--json")  # as it was told: the settings of the first run hold
        assert (again.code, again.err) == (0, "")
        assert json.loads(again.out)["pages"] == 200
        assert_complete(web, tmp_path / "out")
        assert web.log.repeated() == {}, "what was in flight was stored, and nothing is asked for twice"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_crawl_ends_at_once_at_the_second_signal(
    gcs: Run, start: Run, tmp_path: Path, hostile: FakeWebProcess, number: int
) -> None:
    """The server never answers, so that the first signal alone would wait for the time-out."""
    hostile.reset()
    seed = f"{hostile.web.sites[0].origin}/hostile/hang.html"
    crawl = start("crawl", hostile.seeds[0], seed, "-o", "out", "--allow-private", "--scope", "any", "--delay", "0")
    while seed not in hostile.log.hits:
        assert crawl.poll() is None
    assert [crawl.stderr.readline() for _ in range(2)] == [f"seed: {url}\n" for url in (hostile.seeds[0], seed)]
    crawl.send_signal(number)
    assert crawl.stderr.readline().startswith("ending:")
    crawl.send_signal(number)
    assert crawl.wait(10) == 130
    quick = ("--set", "fetch.first_byte_timeout_s=1", "--set", "politeness.tries=4", "--set", "traps.max_depth=12")
    assert gcs("crawl", "-o", "out", *quick, quick=True).code == 0
    stored = Counter(record.url for record in read_records(tmp_path / "out") if record.is_page)
    assert survey(hostile.web).pages <= set(stored)
    assert set(stored.values()) == {1}


def test_team_ends_at_once_at_the_second_signal(start: Run) -> None:
    """Its heartbeats hang on the board for longer than anybody would wait."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=40, latency_s=1)) as web:
        words = ("--allow-private", "--scope", "any", "--delay", "0", "-n", "2", "--set", "team.lease_s=600")
        crawl = start("crawl", web.seeds[0], "-o", "out", *words)
        wait_for_pages(web, crawl, 5)
        crawl.send_signal(signal.SIGINT)
        assert [crawl.stderr.readline() for _ in range(2)][1].startswith("ending:")
        crawl.send_signal(signal.SIGINT)
        assert crawl.wait(60) == 130


def test_gatherer_ends_without_its_whiteboard_and_keeps_its_state(gcs: Run, start: Run, tmp_path: Path) -> None:
    """Redis may go first, as when all of a namespace is deleted: nobody is there to hand over to."""
    server = EmbeddedServer(tmp_path / "space")
    with FakeWebProcess(SLOW) as web:
        url = server.start()
        words = ("--allow-private", "--scope", "any", "--delay", "0", "--name", "c", "-n", "0", "--space", url)
        crew = start("crawl", web.seeds[0], "-o", "crew", *words)
        member = (
            "gatherer",
            "--space",
            url,
            "--crawl",
            "c",
            "--name",
            "g0",
            "-o",
            "out",
            "--allow",
            "private",
            "--stay",
        )
        gatherer = start(*member)
        wait_for_pages(web, gatherer, 20)
        server.stop()
        gatherer.send_signal(signal.SIGTERM)
        _, err = gatherer.communicate(timeout=60)
        assert (gatherer.returncode, "stopped-without-whiteboard" in err) == (0, True), err
        assert sum(record.is_page for record in read_records(tmp_path / "out")) >= 10
        (alive := tmp_path / "out" / "state" / "alive").unlink()
        idle = start(*member)
        while not alive.exists():
            assert idle.poll() is None
        idle.send_signal(signal.SIGTERM)
        assert idle.wait(60) == 0, "one that waits for the whiteboard ends, too"
        crew.kill()


def test_gatherer_that_waits_for_a_crawl_ends_while_its_whiteboard_hangs(start: Run, tmp_path: Path) -> None:
    """A server that does not answer, as one whose machine is gone: a look at it takes two minutes to fail."""
    server = EmbeddedServer(tmp_path / "space")
    url = server.start()
    assert server.pid
    idle = start("gatherer", "--space", url, "--crawl", "nobody", "--name", "g0", "-o", "out", "--stay")
    try:
        with redis.Redis.from_url(url) as there:
            while sum(each["calls"] for name, each in there.info("commandstats").items() if "eval" in name) < 9:
                assert idle.poll() is None  # it has not looked often yet
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(1)  # it looks twice a second, so it waits for an answer now
        idle.send_signal(signal.SIGTERM)
        assert idle.wait(60) == 0
    finally:
        os.kill(server.pid, signal.SIGCONT)
        server.stop()


def test_crawl_as_json_says_how_to_go_on_beside_its_report(start: Run) -> None:
    with FakeWebProcess(SLOW) as web:
        crawl = start("crawl", web.seeds[0], "-o", "out", "--allow-private", "--scope", "any", "--delay", "0", "--json")
        wait_for_pages(web, crawl, 5)
        crawl.send_signal(signal.SIGINT)
        out, err = crawl.communicate(timeout=60)
    assert crawl.returncode == 130
    assert json.loads(out)["state"] == "stopped"
    assert err.splitlines()[-1] == "interrupted, nothing lost; to go on: gcs crawl -o out"
