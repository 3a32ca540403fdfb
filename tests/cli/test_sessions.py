"""Sessions of a team, one after the other in one directory, each coordinated in another way."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gcs.app.coordination import blueprint_of, read_blueprint, write_blueprint
from gcs.app.crawl_dir import LEAST_URLS, MOST_URLS
from gcs.cli.schedule import next_session
from gcs.core.plan.blueprint import Blueprint, hashed
from gcs.core.plan.plan import ExchangeMode
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.url.sortkey import sort_key
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.plain_jobs import PlainQueue
from gcs.ports.records.crawl_graph import read_graph
from gcs.ports.records.reading import read_records
from gcs.ports.shift_book import connect
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.sim.engine.schemes import foretell

Run = Callable[..., Any]
QUICK = (
    "--allow-private",
    "--delay",
    "0",
    "--scope",
    "any",
    "--summary",
    "links",
    "--json",
    "--set",
    "team.beat_s=0.1",
)


def crawl(gcs: Run, *arguments: str) -> dict:
    done = gcs("crawl", *arguments, *(() if "-o" in arguments else ("-o", "out")), *QUICK)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_sessions_of_a_team_find_every_change_whoever_owns_what(gcs: Run, tmp_path: Path) -> None:
    spec = FakeWebSpec.plain(
        hosts=8, pages=240, validators=True, changed_share=0.1, added_share=0.05, gone_share=0.05, host_sizes="zipf"
    )
    with FakeWebProcess(spec) as web:
        first = crawl(gcs, *web.seeds, "-n", "2")
        before = survey(web.web).pages
        assert (first["session"], first["unique"], first["new"]) == (1, len(before), len(before))

        old = web.web
        web.set_session(2)
        truth = survey(web.web).pages
        second = crawl(gcs, "--next", "-n", "3", "--coordination", "metis-site")
        records = [record for record in read_records(tmp_path / "out") if record.session == 2]
        by_change = {
            change: {r.url for r in records if r.change == change} for change in ("new", "changed", "same", "gone")
        }
        unchanged = {url for url in before & truth if old.plan(url).etag == web.web.plan(url).etag}
        assert by_change["same"] == unchanged
        assert by_change["changed"] == (before & truth) - unchanged
        assert by_change["new"] == truth - before
        assert by_change["gone"] == before - truth
        assert len(records) == len({record.url for record in records}), "each page once per session"
        assert second["revisits"] == len(unchanged), "validators go with pages that change hands"
        assert second["bytes"] < 0.25 * first["bytes"]
        assert second["session"] == 2 and second["gatherers"] == 3
        assert second["new"] + second["changed"] == second["pages"] == second["unique"]

        # by hash, and then by one alone: those who have left are handed over by their ghosts
        third = crawl(gcs, "--next", "-n", "2", "--coordination", "hash")
        assert (third["same"], third["pages"], third["gone"]) == (len(truth), 0, 0)
        fourth = crawl(gcs, "--next", "--coordination", "superpages")
        assert (fourth["same"], fourth["pages"], fourth["session"]) == (len(truth), 0, 4)
    reports = sorted(path.name for path in (tmp_path / "out" / "sessions").glob("*.json"))
    assert reports == ["0001.json", "0002.json", "0003.json", "0004.json"]


def test_a_second_session_costs_what_has_changed_and_metis_exchanges_least(gcs: Run, tmp_path: Path) -> None:
    """The fake web of neighbours; `scripts/bench schemes` does the same on more of it, and on real pages."""
    links = {"links": 20, "neighbours": 2, "foreign_share": 0.4}
    with FakeWebProcess(FakeWebSpec.plain(hosts=100, pages=600, validators=True, changed_share=0.1, **links)) as web:
        flags = ("-n", "2", "--set", "team.hot_pages=0")
        first = crawl(gcs, *web.web.homes, *flags, "--coordination", "hash")
        data, plan = read_graph(tmp_path / "out"), hashed("site-hash", 2).plan(("g0", "g1"), ExchangeMode.EXCHANGE, 1)
        told = foretell(data, plan, web.web.homes)
        assert (first["exchanged_urls"], first["named_bytes"]) == (told.exchanged_urls, told.exchanged_bytes)
        assert first["imbalance"]["pages"] == pytest.approx(told.imbalance, abs=1e-3)

        old = web.web
        web.set_session(2)
        changed = {url for url in survey(old).pages if old.plan(url).etag != web.web.plan(url).etag}
        shutil.copytree(tmp_path / "out", tmp_path / "by-hash")
        exchanged = {}
        for way, directory in (("metis-site", "out"), ("hash", "by-hash")):
            report = crawl(gcs, "-o", directory, "--next", *flags, "--coordination", way)
            records = [record for record in read_records(tmp_path / directory) if record.session == 2]
            assert {record.url for record in records if record.change == "changed"} == changed
            assert report["bytes"] <= 0.2 * first["bytes"]
            exchanged[way] = report["named_bytes"]
    assert 4 * exchanged["metis-site"] <= exchanged["hash"]


def test_a_page_that_several_have_stored_is_one_in_the_report(gcs: Run, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=60)) as web:
        report = crawl(gcs, *web.web.homes, "-n", "2", "--coordination", "hash", "--mode", "cross-over")
    urls = [record.url for record in read_records(tmp_path / "out") if record.is_page]
    assert (report["pages"], report["unique"]) == (len(urls), 60)
    assert report["overlap"] == (len(urls) - 60) / 60 > 0.5
    status = json.loads(gcs("status", "out", "--json").out)
    assert (status["unique"], status["overlap"]) == (60, report["overlap"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--coordination", "metis-page", "-n", "2"], "this is the first: crawl once by superpages"),
        (["--plan", "nowhere", "-n", "2"], "nowhere: cannot be read"),
        (["--next"], "out: there is no crawl here to go on from; leave --next out"),
    ],
)
def test_a_session_that_cannot_be_says_why(gcs: Run, arguments: list[str], message: str) -> None:
    done = gcs("crawl", "http://127.0.0.1:9/", "-o", "out", *arguments)
    assert done.code == 2 and message in done.err


def test_schedule_crawls_the_next_session_by_a_worker_of_rq(
    gcs: Run, start: Callable[..., subprocess.Popen[str]], tmp_path: Path, environment: dict[str, str]
) -> None:
    server = EmbeddedServer(tmp_path / "rq")
    url = server.start()
    try:
        with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=20, validators=True)) as web:
            crawl(gcs, *web.seeds)
            assert "no time is given" in gcs("schedule", "out", "--rq", url).err
            assert "is no time" in gcs("schedule", "out", "--rq", url, "--cron", "at night").err
            bell = start("schedule", "out", "--rq", url, "--every", "1")
            worker = [sys.executable, "-m", "gcs", "shift", "worker", "gcs-sessions", "--rq", url, "--burst"]
            queue = PlainQueue("gcs-sessions", connect(url))
            give_up_at = time.monotonic() + 30
            while not queue.job_ids:
                assert time.monotonic() < give_up_at
                time.sleep(0.05)
            subprocess.run(worker, cwd=tmp_path, env=environment, timeout=60, check=True)
            bell.terminate()
            bell.wait()
            # it rang three times while a session was crawled: the next one has been, all the same
            queue.empty()
            rung = len(list((tmp_path / "out" / "sessions").glob("*.json")))  # it may ring while the worker works
            for _ in range(3):
                queue.enqueue(next_session, str(tmp_path / "out"), 1)
            subprocess.run(worker, cwd=tmp_path, env=environment, timeout=60, check=True)
    finally:
        server.stop()
    report = json.loads((tmp_path / "out" / "sessions" / "0002.json").read_bytes())
    assert (report["session"], report["state"], report["same"]) == (2, "done", 20)
    assert rung >= 2
    assert len(list((tmp_path / "out" / "sessions").glob("*.json"))) == rung + 1


@pytest.mark.skipif(sys.platform != "linux", reason="kills a group of processes")
def test_a_session_that_is_killed_as_it_begins_goes_on(gcs: Run, start: Run, tmp_path: Path) -> None:
    """kill -9 of everybody, again and again from the moment on at which the session has a number."""
    spec = FakeWebSpec.plain(hosts=12, pages=300, validators=True, changed_share=0.1, latency_s=0.02)
    with FakeWebProcess(spec) as web:
        crawl(gcs, *web.seeds, "-n", "2")
        old = web.web
        web.set_session(2)
        for words, after_s in ((("--next",), 0.1), ((), 1.2), ((), 1.8)):
            running = start(
                "crawl", *words, "-o", "out", "-n", "2", *QUICK, "--connections", "4", start_new_session=True
            )
            while (tmp_path / "out" / "state" / "session").read_text() != "2\n":
                assert running.poll() is None
            time.sleep(after_s)
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        report = crawl(gcs, "-n", "2")
        records = [record for record in read_records(tmp_path / "out") if record.session == 2]
        changed = {url for url in survey(old).pages if old.plan(url).etag != web.web.plan(url).etag}
        assert len(records) == len({record.url for record in records}) == 300, "each page once"
        assert {record.url for record in records if record.change == "changed"} == changed
        assert {record.status for record in records if record.change == "same"} == {304}, "none without its validators"
        assert (report["session"], report["state"], report["changed"]) == (2, "done", len(changed))


def test_pages_that_no_plan_lists_are_their_finders(gcs: Run, tmp_path: Path) -> None:
    """C5: what the last session did not know stays with whoever finds it, and is not posted."""
    spec = FakeWebSpec.plain(hosts=1, pages=240, validators=True, changed_share=0.2, added_share=0.2)
    with FakeWebProcess(spec) as web:
        crawl(gcs, *web.seeds)
        before = survey(web.web).pages
        web.set_session(2)
        crawl(gcs, "--next", "-n", "2", "--coordination", "metis-page", "--set", "team.unlisted=finder")
        new = survey(web.web).pages - before
    plan = read_blueprint(tmp_path / "out" / "sessions" / "0002.plan").plan(("g0", "g1"), ExchangeMode.EXCHANGE, 2)
    records = {record.url: record for record in read_records(tmp_path / "out") if record.session == 2}
    unlisted = {url for url in new if plan.is_finders(sort_key(url))}  # of a Bloom filter: nearly all
    assert len(unlisted) > 0.8 * len(new) > 30
    assert new <= records.keys()
    for url in unlisted:
        assert records[url].gatherer == records[records[url].parent].gatherer
    elsewhere = [url for url in unlisted if plan.owner_of(sort_key(url)) != records[url].gatherer]
    assert elsewhere, "the cuts would have sent them to others"


def test_plan_of_another_crawl_brings_no_hot_pages(tmp_path: Path) -> None:
    """Their owners have never heard of them, so they have to be named."""
    made = msgspec.structs.replace(hashed("site-hash", 2), hot_pages=("http://a.example/",))
    write_blueprint(tmp_path / "0002.plan", made)
    taken = blueprint_of(tmp_path, TeamSettings(), 1, 2, tmp_path / "0002.plan")
    assert Blueprint.decode(taken) == hashed("site-hash", 2)
    write_blueprint(tmp_path / "sessions" / "0002.plan", made)
    assert Blueprint.decode(blueprint_of(tmp_path, TeamSettings(), 2, 2, None)) == made


def test_plan_prints_what_each_choice_costs_and_the_next_session_goes_by_it(gcs: Run, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=6, pages=120)) as web:
        crawl(gcs, *web.seeds)
        planned = json.loads(gcs("plan", "out", "-k", "2", "--json", "--hot-pages", "0").out)
        following = gcs("crawl", "-o", "out", "--next", "-n", "2", *QUICK, "--log", "info")
        foretold = json.loads((tmp_path / "out" / "state" / "superstep.json").read_text())
        way = ("plan", "out", "-k", "2", "--model", "url-hash", "--compare", "none", "--json", "--hot-pages")
        free, told = (json.loads(gcs(*way, count).out)["choices"][0] for count in ("0", "20"))
        report = crawl(gcs, "--next", "-n", "2")
    assert (planned["session"], planned["pages"], planned["hosts"]) == (2, 120, 6)
    rows = {row["model"]: row for row in planned["choices"]}
    assert set(rows) == {"metis-site", "superpages", "metis-page", "site-hash", "url-hash"}
    assert rows["metis-site"]["exchanged_bytes"] < rows["url-hash"]["exchanged_bytes"] / 2
    assert rows["metis-site"]["imbalance_pages"] < 0.06
    assert Path(tmp_path / planned["file"]).exists()
    assert foretold == planned["superstep"]
    assert foretold["gatherers"] == 2
    assert 1 <= foretold["pages"] <= 120
    assert following.code == 0, following.err
    adopted = re.findall(r"adopted gatherer=(\S+) .*superstep_pages=(\d+) block_urls=(\d+)", following.err)
    assert {each for each, _, _ in adopted} == {"g0", "g1"}
    block_urls = min(max(foretold["urls"], LEAST_URLS), MOST_URLS)
    assert {(int(pages), int(urls)) for _, pages, urls in adopted} == {(foretold["pages"], block_urls)}
    assert block_urls != TeamSettings().urls_per_block, "unlike what goes without"
    assert "* metis-site" in gcs("plan", "out", "-k", "2", "--compare", "none").out

    # elsewhere, nobody knows the hot pages: they are named, and it is told so
    apart = json.loads(gcs("plan", "out", "-k", "2", "--model", "url-hash", "--json", "-o", "a.plan").out)["choices"][0]
    assert apart["exchanged_urls"] == free["exchanged_urls"]
    assert "gcs crawl --next -n 2 -o out --plan a.plan takes it" in gcs("plan", "out", "-k", "2", "-o", "a.plan").out
    assert read_blueprint(tmp_path / "a.plan").model == "metis-site"

    # what is wrong is told before anything is written
    for words in (("--compare", "metis-site,random"), ("--tolerance", "nan"), ("--tolerance", "-0.1")):
        wrong = gcs("plan", "out", "-k", "2", "-o", "b.plan", *words)
        assert wrong.code == 2 and words[0] in wrong.err
    assert not (tmp_path / "b.plan").exists()

    # every page is fetched again, and nobody names those that all know (G4)
    assert (report["exchanged_urls"], report["named_bytes"]) == (told["exchanged_urls"], told["exchanged_bytes"])
    assert report["suppressed_by_hot_pages"] > 0
    assert told["exchanged_urls"] < free["exchanged_urls"]


def test_a_hot_page_that_was_forgotten_is_asked_for_by_its_owner(gcs: Run, tmp_path: Path) -> None:
    """Nobody tells its owner of a link to it, and three sessions have found nothing there."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=24, validators=True, gone_share=0.3)) as web:
        crawl(gcs, *web.web.homes, "-n", "2")
        before = survey(web.web).pages
        web.set_session(2)
        gone = before - survey(web.web).pages
        assert gone
        for session in range(2, 6):
            crawl(gcs, "--next", "-n", "2", "--coordination", "metis-site")
            last = {record.url for record in read_records(tmp_path / "out") if record.session == session}
            plan = read_blueprint(tmp_path / "out" / "sessions" / f"{session:04d}.plan")
            assert gone & set(plan.hot_pages) <= last
        assert gone & set(plan.hot_pages), "some of them are hot"


@pytest.mark.parametrize("mode", ["exchange", "firewall"])
def test_what_robots_txt_refused_changes_hands_with_the_rest(gcs: Run, tmp_path: Path, mode: str) -> None:
    """Between sessions, and whatever the mode: that the new owner may be told of it by a link is no comfort."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=6, pages=60, validators=True, robots=True)) as web:
        first = crawl(gcs, *web.web.homes, "-n", "2", "--coordination", "hash")
        refused = first["denied_by_robots"]
        assert refused
        flags = ("--set", "politeness.robots=false", "--coordination", "hash", "--mode", mode)
        second = crawl(gcs, "--next", "-n", "3", *flags)
    assert second["new"] + second["failed"] >= refused


@pytest.mark.parametrize("gatherers", ["1", "2"])
def test_session_goes_on_when_a_frontier_is_damaged(gcs: Run, tmp_path: Path, gatherers: str) -> None:
    """In the third session, because pages that were new in the second have no record of the first."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=3, pages=60, validators=True, added_share=0.2)) as web:
        crawl(gcs, *web.seeds, "-n", gatherers)
        web.set_session(2)
        crawl(gcs, "--next", "-n", gatherers)
        truth = survey(web.web).pages
        done = gcs(
            "crawl", "--next", "-o", "out", "-n", gatherers, "--connections", "1", "--max-seconds", "0.2", *QUICK
        )
        assert done.code in (0, 3)
        frontier = tmp_path / "out" / "state" / "g0" / "frontier" / "data.mdb"
        frontier.write_bytes(frontier.read_bytes()[:-1])
        crawl(gcs, "-n", gatherers)
        records = [record for record in read_records(tmp_path / "out") if record.session == 3]
        assert {record.url for record in records} == truth
