"""`gcs crawl -n N` as a user runs it: the same pages for every N, each once, and the team's control commands."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gcs import cli
from gcs.app.crawl_input import CrawlRun
from gcs.app.processes.local_team import CrawlStart, TeamSpec, open_crawl, run_local_team
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, CrawlState, Member
from gcs.core.page.values import FailureKind
from gcs.core.report.report import imbalance
from gcs.errors import UsageError
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.crawl_control import add_seeds, order
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space
from gcs.settings import load

FLAGS = ["--scope", "any", "--allow-private", "--summary", "links", "--no-warc", "--json", "--log", "warning"]
INFO = ["--log", "info"]
QUICK = ["--set", "team.beat_s=0.2", "--set", "team.rebalance_s=0.5", "--set", "frontier.fsync=false"]


#: 200 hosts of Zipf sizes, one of them a giant
SPEC = FakeWebSpec.plain(hosts=200, pages=1600, host_sizes="zipf", giant_share=0.2, links=40, latency_s=0.02)
STARTED: list["subprocess.Popen[bytes]"] = []


@pytest.fixture(autouse=True)
def no_crawl_left_behind():
    """A crawl that a failed test leaves is ended, gatherers and server with it."""
    yield
    while STARTED:
        crawl = STARTED.pop()
        if crawl.poll() is None:
            crawl.terminate()
            crawl.communicate(timeout=60)


def start(directory: Path, seed: str, *flags: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "gcs", "crawl", seed, "-o", str(directory), *FLAGS, *QUICK, *flags]
    STARTED.append(subprocess.Popen(command, stdout=subprocess.PIPE))
    return STARTED[-1]


def finish(crawl: "subprocess.Popen[bytes]") -> dict[str, Any]:
    output, _ = crawl.communicate(timeout=120)
    assert crawl.returncode == 0
    return json.loads(output)


def gcs(*words: str) -> str:
    """A command of the user's, in this process: a new one would load the machine that the crawl runs on."""
    done = CliRunner().invoke(cli.gcs, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def status(directory: Path) -> dict[str, Any]:
    return json.loads(gcs("status", str(directory), "--json"))


def stored(directory: Path) -> Counter[str]:
    return Counter(record.url for record in read_records(directory) if record.is_page)


def wait_for(condition: Any, seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it never came true")


@pytest.fixture(scope="module")
def web():
    with FakeWebProcess(SPEC) as server:
        yield server


@pytest.mark.parametrize("gatherers", [1, 2, 4, 8])
def test_team_of_any_size_stores_the_same_pages_once(tmp_path: Path, web: FakeWebProcess, gatherers: int) -> None:
    report = finish(start(tmp_path, web.seeds[0], "-n", str(gatherers), "--delay", "0", "--connections", "8"))
    pages = stored(tmp_path)
    assert set(pages) == survey(web.web).pages
    assert set(pages.values()) == {1}
    assert report["state"] == "done"
    assert (report["pages"], report["unique"], report["overlap"], report["queued"]) == (1600, 1600, 0.0, 0)
    assert report["gatherers"] == gatherers
    assert report["explored_fraction"] == 1.0
    assert sum(each["pages"] for each in report["per_gatherer"]) == 1600
    if gatherers > 1:
        assert report["exchanged_urls"] > 0
        assert report["urls_per_page"] == pytest.approx(report["exchanged_urls"] / 1600, abs=1e-3)


async def test_crawl_goes_on_with_seeds_that_were_added_but_not_with_those_of_another() -> None:
    space = MemorySpace(MemoryBoard(), "crew")

    async def opened(*seeds: str, **settings: object) -> list[str]:
        flags = {"team.lease_s": 0.6, "team.beat_s": 0.1} | {key.replace("__", "."): settings[key] for key in settings}
        await open_crawl(space, CrawlStart(load(None, {}, flags), list(seeds), 2))
        charter = await space.read(template(Charter))
        assert charter is not None
        return charter.seeds

    assert await opened("http://a.test/") == ["http://a.test/"]
    await add_seeds(space, ["http://b.test/"])
    assert await opened("http://a.test/") == ["http://a.test/", "http://b.test/"]
    await space.out(Member("g0", "run"))
    with pytest.raises(UsageError, match=r"is running at this whiteboard \(g0\)"):
        await opened("http://c.test/")
    await opened("http://a.test/")  # its crew was killed and started again, say
    before = await space.read(template(Charter))
    with pytest.raises(UsageError, match=r"with other settings \(crawl.max_pages, politeness.delay_s\): stop it first"):
        await opened("http://a.test/", politeness__delay_s=0.01, crawl__max_pages=7)
    assert await space.read(template(Charter)) == before
    await order(space, CrawlState.STOPPING, "user")
    assert await opened("http://c.test/") == ["http://c.test/"]


def test_team_begins_anew_where_a_crawl_of_its_name_was_done_on_other_disks(tmp_path: Path) -> None:
    """With fewer gatherers, too: nobody waits for those of the other one, and their pages are not in the report."""
    server = EmbeddedServer(tmp_path / "space")
    there = server.start()
    try:
        with FakeWebProcess(FakeWebSpec.plain(hosts=20, pages=400, latency_s=0.02)) as web:
            for directory, gatherers in (tmp_path / "a", 4), (tmp_path / "b", 2):
                flags = ("-n", str(gatherers), "--delay", "0", "--space", there, "--set", "team.recover_s=3600")
                report = finish(start(directory, web.seeds[0], *flags, "--set", "team.rebalance_s=0.2"))
                assert (report["gatherers"], report["pages"], report["unique"]) == (gatherers, 400, 400)
                assert sum(stored(directory).values()) == 400
    finally:
        server.stop()


def test_team_suppresses_most_foreign_posts(tmp_path: Path) -> None:
    """On a web large enough for hot pages to be found while it is crawled."""
    with FakeWebProcess(replace(SPEC, pages=3200)) as web:
        often = ("--set", "team.rebalance_s=0.2")
        report = finish(start(tmp_path, web.seeds[0], "-n", "4", "--delay", "0", "--connections", "8", *often))
    suppressed = report["suppressed_by_hot_pages"] + report["suppressed_by_c_queue"]
    assert report["epoch"] >= 2, "the work was shared"
    assert report["suppressed_by_hot_pages"] > 0, "some were learned on the way"
    assert suppressed / (suppressed + report["exchanged_urls"]) >= 0.6


def test_team_splits_a_giant_host_evenly(tmp_path: Path) -> None:
    """80 % of the pages on one host without a delay: it is cut by path, and everybody has its share left to do."""
    spec = FakeWebSpec.plain(hosts=20, pages=900, giant_share=0.8, html_bytes=2_000, latency_s=0.2)
    with FakeWebProcess(spec) as web:
        crawl = start(tmp_path, web.seeds[0], "-n", "4", "--delay", "0", "--connections", "4")

        def is_shared() -> bool:
            """Whether the leader has shared the work by itself: else its plan could be taken for the one asked for."""
            team = status(tmp_path)["team"]
            return team["epoch"] > 1 and team["committed"] and sum(each["queued"] for each in team["members"]) > 250

        wait_for(lambda: len(web.log.hits) > 60 and is_shared())
        gcs("pause", "-o", str(tmp_path))  # so that what is left to do stands still while it is shared and counted
        wait_for(lambda: not any(member["in_flight"] for member in status(tmp_path)["team"]["members"]))
        before = status(tmp_path)["team"]["epoch"]
        gcs("rebalance", "-o", str(tmp_path))

        def left() -> list[int] | None:
            team = status(tmp_path)["team"]
            done = team["epoch"] > before and team["committed"] and all(each["superpages"] for each in team["members"])
            quiet = done and not any(each["inbox"] or each["outbox"] for each in team["members"])
            return [each["queued"] for each in team["members"]] if quiet and len(team["members"]) == 4 else None

        queued = wait_for(left)
        assert imbalance(queued) <= 0.15, queued
        gcs("resume", "-o", str(tmp_path))
        hits = len(web.log.hits)
        wait_for(lambda: len(web.log.hits) > hits + 30)
        gcs("stop", "-o", str(tmp_path))
        crawl.communicate(timeout=60)
        giant = [record for record in read_records(tmp_path) if record.url.startswith(web.web.sites[0].origin)]
        assert len({record.gatherer for record in giant}) == 4, "the giant was not split"
        finish(start(tmp_path, web.seeds[0], "-n", "4", "--delay", "0"))
        pages = stored(tmp_path)
        assert set(pages) == survey(web.web).pages
        assert set(pages.values()) == {1}


def test_team_leaves_a_host_whole_that_its_delay_limits(tmp_path: Path) -> None:
    """Several owners would not be faster: the host has one owner at a time, and sees one delay."""
    spec = FakeWebSpec.plain(hosts=5, pages=150, giant_share=0.6)
    with FakeWebProcess(spec) as web:
        crawl = start(tmp_path, web.seeds[0], "-n", "4", "--delay", "0.05")
        wait_for(lambda: len(web.log.hits) > 40)
        before = status(tmp_path)["team"]["epoch"]
        gcs("rebalance", "-o", str(tmp_path))
        wait_for(lambda: status(tmp_path)["team"]["epoch"] > before)
        finish(crawl)
        giant = sorted(
            (record.fetched_at, record.gatherer)
            for record in read_records(tmp_path)
            if record.url.startswith(web.web.sites[0].origin)
        )
        assert sum(one != other for (_, one), (_, other) in pairwise(giant)) <= 2, "owners took turns"
        gaps = [later - earlier for (earlier, _), (later, _) in pairwise(giant)]
        # a process that the machine stops between its look at the clock and its request is late, hardly ever twice
        assert sum(gap < 0.05 for gap in gaps) <= 2, sorted(gaps)[:10]
        assert set(stored(tmp_path)) == survey(web.web).pages


def test_team_obeys_pause_resume_seed_and_stop(tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=12, pages=900, latency_s=0.05)) as web:
        seed, other = web.web.homes[0], web.web.homes[-1]
        crawl = start(tmp_path, seed, "-n", "2", "--delay", "0", "--connections", "4", "--scope", "host")
        wait_for(lambda: len(web.log.hits) > 20)
        assert gcs("pause", "-o", str(tmp_path)).startswith("paused")
        wait_for(lambda: all(not member["in_flight"] for member in status(tmp_path)["team"]["members"]))
        paused = status(tmp_path)
        assert paused["state"] == "paused" and paused["queued"] == paused["outlook"]["queued"] > 0
        requests = web.log.requests
        time.sleep(0.5)
        assert web.log.requests == requests
        assert other in gcs("seed", other, "-o", str(tmp_path))
        assert json.loads(gcs("resume", "-o", str(tmp_path), "--json")) == {"state": "running"}
        wait_for(lambda: other in web.log.hits)
        gcs("stop", "-o", str(tmp_path))
        output, _ = crawl.communicate(timeout=60)
        assert crawl.returncode == 3
        assert json.loads(output)["state"] == "stopped"
        finish(start(tmp_path, seed, "-n", "2", "--delay", "0", "--scope", "host"))
        pages = stored(tmp_path)
        assert set(pages) == survey(web.web, (seed, other), scope="host").pages
        assert set(pages.values()) == {1}


def test_second_crawl_of_the_same_name_and_seed_changes_nothing(tmp_path: Path, capfd: Any) -> None:
    """At a whiteboard that both know: with other settings it is refused; with the same ones it waits for the end."""
    server = EmbeddedServer(tmp_path / "space")
    url = server.start()
    try:
        with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=60, latency_s=0.1)) as web:
            words = (web.seeds[0], "--space", url, "--connections", "1")
            first = start(tmp_path / "a", *words, "-n", "2", "--delay", "0.02")
            wait_for(lambda: len(web.log.hits) > 5)
            for flags in (("--delay", "0.01"), ("--delay", "0.02", "--max-pages", "7")):
                second = start(tmp_path / "b", *words, "-n", "0", *flags)
                second.communicate(timeout=60)
                assert second.returncode == 2
                assert "is running at this whiteboard" in capfd.readouterr().err
            joined = start(tmp_path / "c", *words, "-n", "0", "--delay", "0.02")
            assert finish(first)["pages"] == finish(joined)["pages"] == 60
            assert not (tmp_path / "b").exists()
    finally:
        server.stop()


@pytest.mark.parametrize("running", [1, 2])
def test_team_is_refused_where_a_crawl_runs_and_changes_nothing_there(tmp_path: Path, running: int, capfd: Any) -> None:
    """Beside one that crawls alone, a team stored every page a second time."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=60, latency_s=0.2)) as web:
        first = start(tmp_path, web.seeds[0], "-n", str(running), "--delay", "0", "--connections", "1")
        wait_for(lambda: len(web.log.hits) > 5)
        files = [tmp_path / "state" / name for name in ("seeds.txt", "settings.json", "session")]
        before = [file.read_bytes() for file in files]
        second = start(tmp_path, web.web.homes[-1], "-n", "2", "--delay", "1", "--next")
        second.communicate(timeout=60)
        assert second.returncode == 2
        assert "running" in capfd.readouterr().err
        assert [file.read_bytes() for file in files] == before
        finish(first)
        pages = stored(tmp_path)
        assert set(pages) == survey(web.web).pages
        assert set(pages.values()) == {1}


def test_team_goes_on_when_its_whiteboard_forgets_everything(tmp_path: Path) -> None:
    """Once before the seeds are taken, once in mid-crawl: who joins or is started again needs to find the crawl."""

    async def forget(url: str, when: Callable[[Space], Awaitable[object]]) -> None:
        space = await open_space(url, crawl="crawl", name="test")
        while not await when(space):
            await asyncio.sleep(0.01)
        await space._connection.command("FLUSHALL")  # type: ignore[attr-defined]
        await space.close()

    server = EmbeddedServer(tmp_path / "server")
    url = server.start()
    try:
        with FakeWebProcess(FakeWebSpec.plain(hosts=12, pages=600, latency_s=0.05)) as web:
            crawl = start(
                tmp_path / "out", web.seeds[0], "-n", "2", "--delay", "0", "--connections", "4", "--space", url
            )
            asyncio.run(forget(url, lambda space: space.count(template(Member))))
            wait_for(lambda: len(web.log.hits) > 100)
            asyncio.run(forget(url, lambda space: space.count(template(Charter))))
            wait_for(lambda: CliRunner().invoke(cli.gcs, ["seed", web.web.homes[-1], "--space", url]).exit_code == 0)
            finish(crawl)
    finally:
        server.stop()
    pages = stored(tmp_path / "out")
    assert set(pages) == survey(web.web).pages
    assert set(pages.values()) == {1}


MODES = {
    "exchange": [],
    "firewall": ["team.mode=firewall", "team.coordination=hash"],
    "cross-over": ["team.mode=cross-over"],
    "hash": ["team.coordination=hash"],
    "independent": ["team.coordination=independent"],
    "seed-server": ["team.coordination=seed-server"],
    "barrier": ["team.barrier=true", "team.superstep_pages=20"],
}


@pytest.mark.parametrize("way", MODES)
def test_report_of_every_way_to_work_together_has_chos_measures(tmp_path: Path, way: str) -> None:
    """Coverage, overlap, communication and quality, as the records and the web itself have them."""
    expected = tmp_path / "expected"
    with FakeWebProcess(FakeWebSpec.plain(hosts=30, pages=600, latency_s=0.01)) as web:
        truth = survey(web.web).pages
        expected.write_text("\n".join([*truth, "http://127.0.0.1/nowhere"]))
        flags = [word for setting in (*MODES[way], f"crawl.expected={expected}") for word in ("--set", setting)]
        crawl = start(tmp_path / "out", web.seeds[0], "-n", "3", "--delay", "0", "--connections", "4", *flags)
        report = finish(crawl)
    pages = stored(tmp_path / "out")
    assert set(pages) <= truth
    assert (report["unique"], report["pages"]) == (len(pages), sum(pages.values()))
    assert report["overlap"] == pytest.approx((report["pages"] - len(pages)) / len(pages))
    assert (report["coverage_by"], report["coverage"]) == ("list", pytest.approx(len(pages) / 601, abs=1e-4))
    assert report["urls_per_page"] == pytest.approx(report["exchanged_urls"] / report["pages"], abs=1e-4)
    assert report["quality_sample"] > 0.9 * len(pages)
    if way in ("firewall", "cross-over", "independent"):
        assert report["exchanged_urls"] <= 1  # a seed may be
    if way in ("exchange", "firewall", "hash", "barrier", "seed-server"):
        assert set(pages.values()) == {1}
    if way != "firewall":
        assert set(pages) == truth
        assert report["quality"] == 1
    else:
        assert len(pages) < len(truth)
        assert report["quality"] < 1
    steps = report["supersteps"]
    assert (steps["count"] >= 600 / 3 / 20) is (way == "barrier")
    assert (steps["computation_s"] > 0 and steps["waiting_s"] > 0) is (way == "barrier")


def test_team_tells_a_wrong_trigger_and_a_dead_whiteboard_before_anything_starts(tmp_path: Path, call: Any) -> None:
    crawl = ("crawl", "http://127.0.0.1/", "-o", tmp_path / "out", "-n", "2")
    done = call(*crawl, "--set", "team.trigger=queud > 3")
    assert (done.code, done.out) == (2, "")
    assert "unknown name 'queud'" in done.err
    done = call(*crawl, "--set", "space.open_s=0.1", "--space", "redis://127.0.0.1:1", "--log", "error")
    assert (done.code, done.out) == (1, "")
    assert "redis://127.0.0.1:1 did not answer for 0.1 s" in done.err


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("team.lease_s=0", "a lease must last for three heartbeats"),
        ("team.beat_s=9", "a lease must last for three heartbeats"),
        ("team.delta=0", "at least one superpage"),
        ("team.expansion=http://a.org/?x", "expansion, line 1"),
    ],
)
def test_team_refuses_settings_with_which_it_would_do_nothing(
    tmp_path: Path, call: Any, setting: str, text: str
) -> None:
    done = call("crawl", "http://127.0.0.1/", "-o", tmp_path / "out", "-n", "2", "--set", setting)
    assert (done.code, done.out) == (2, "")
    assert text in done.err


def test_team_begins_with_the_superpages_that_the_user_names(tmp_path: Path, capfd: Any) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=20)) as web:
        nodes = ",".join(web.web.homes)
        crawl = start(tmp_path, web.seeds[0], "-n", "2", "--delay", "0", "--set", f"team.expansion={nodes}", *INFO)
        report = finish(crawl)
    assert report["pages"] == 20
    planned = next(line for line in capfd.readouterr().err.splitlines() if "leader.planned" in line)
    assert "superpages=" in planned and "superpages=1 " not in planned


def test_team_ends_when_a_gatherer_cannot_work_with_what_it_is_told(tmp_path: Path, capfd: Any) -> None:
    spec = TeamSpec(CrawlRun(tmp_path, load(None, {}, {}), ["http://127.0.0.1/"]), 2, None, ("--log", "nonsense"))
    with pytest.raises(UsageError, match="see its message"):
        run_local_team(spec, progress=False)
    assert capfd.readouterr().err.count("'nonsense' is not one of") == 2, "they were not started again"


@pytest.mark.parametrize("coordination", ["superpages", "seed-server"])
def test_team_ends_at_a_limit_that_one_has_reached_before_anybody_looked(tmp_path: Path, coordination: str) -> None:
    """It has left by then, and its heartbeat with it."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=100)) as web:
        words = ["-n", "2", "-o", str(tmp_path), "--delay", "0", "--max-pages", "5", "--coordination", coordination]
        command = [sys.executable, "-m", "gcs", "crawl", *web.seeds, *words, *FLAGS, *QUICK]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert (report["state"], report["pages"]) == ("limit", 5)


#: in every process of the team: this page holds its reader for ever, in code that Python cannot interrupt
#: What is left of the watchdog's time is made short for this page only: a busy machine may be slow with the others
HELD_READER = """
import signal
from gcs.ports.reader import Reader
look = Reader.look
def held(self, response, *rest):
    if response.request.url != {bomb!r}:
        return look(self, response, *rest)
    assert signal.getitimer(signal.ITIMER_PROF)[0] > 1, "nobody watches"
    signal.setitimer(signal.ITIMER_PROF, 0.05)
    sum(range(1 << 40))
Reader.look = held
"""


def test_team_goes_on_without_a_page_that_holds_its_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page went from gatherer to gatherer, until none was left."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    with FakeWebProcess(FakeWebSpec.plain(hosts=20, pages=400, latency_s=0.02)) as web:
        truth = survey(web.web).pages
        bomb = sorted(truth - set(web.seeds))[len(truth) // 2]
        (tmp_path / "sitecustomize.py").write_text(HELD_READER.format(bomb=bomb))
        finish(start(tmp_path / "crawl", web.seeds[0], "-n", "2", "--delay", "0"))
    failures = {record.url: record.failure for record in read_records(tmp_path / "crawl")}
    assert failures.pop(bomb) == FailureKind.HELD
    assert set(failures.values()) == {""}
    assert len(failures) > 0.9 * len(truth)  # the page has links, too
