"""`gcs crawl --set team.coordination=seed-server`, and servers in a hierarchy, as a user runs them."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

WAY = ("--set", "team.coordination=seed-server", "--set", "team.beat_s=0.1")


def check(web: FakeWebProcess, *disks: Path) -> None:
    """Every page is stored once, and no client has fetched a URL twice or another's."""
    stored = Counter(record.url for disk in disks for record in read_records(disk) if record.is_page)
    truth = survey(web.web)
    assert set(stored) == truth.pages | truth.cut_short().keys()
    assert set(stored.values()) == {1}


def test_crawl_by_a_seed_server(gcs: Callable, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec(hosts=12, pages=300, traps=False, slow=False)) as web:
        done = gcs("crawl", *web.seeds, "-o", "crawl", "-n", "3", *WAY, "--json", quick=True)
        assert done.code == 0, done.err
        report = json.loads(done.out)
        assert (report["state"], report["overlap"]) == ("done", 0.0)
        assert sum(each["pages"] > 0 for each in report["per_gatherer"]) == 3
        assert report["exchanged_urls"] > report["pages"], "every link is sent"
        assert report["exchanged_bytes"] > 0 == report["moved_bytes"]
        check(web, tmp_path / "crawl")
        words = (tmp_path / "crawl" / "state" / "seed-server" / "pace.csv").read_text()
        assert "hurry up" in words
        assert "slow down" in words


def test_pages_come_in_the_order_of_their_back_links(gcs: Callable, tmp_path: Path) -> None:
    """One client with one page in its hands at a time: no page that was known by then had more links to it."""
    rules = ("connections", "least_connections", "most_connections", "ahead")
    one_by_one = [word for rule in rules for word in ("--set", f"seed_server.{rule}=1")]
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=60)) as web:
        done = gcs("crawl", *web.seeds, "-o", "crawl", "-n", "1", *WAY, *one_by_one, "--json", quick=True)
        assert done.code == 0, done.err
        check(web, tmp_path / "crawl")
    records = sorted(read_records(tmp_path / "crawl"), key=lambda record: record.fetched_at)
    counts, waiting = Counter[str](), set(web.seeds)
    for record in records:
        assert counts[record.url] == max(counts[url] for url in waiting), record.url
        waiting.remove(record.url)
        for link in set(record.outlinks):
            if link not in {other.url for other in records if other.fetched_at <= record.fetched_at}:
                waiting.add(link)
            counts[link] += 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, gatherers outlive the process that started them")
def test_session_of_a_seed_server_finds_every_change_whatever_is_killed(
    gcs: Callable, start: Callable, tmp_path: Path
) -> None:
    spec = FakeWebSpec.plain(
        hosts=6, pages=200, validators=True, changed_share=0.1, added_share=0.05, gone_share=0.05, latency_s=0.02
    )
    way = ("-n", "2", *WAY, "--connections", "4", "--scope", "any", "--allow-private", "--delay", "0", "--json")
    with FakeWebProcess(spec) as web:
        assert gcs("crawl", *web.seeds, "-o", "crawl", *way).code == 0
        before, old = survey(web.web).pages, web.web
        web.set_session(2)
        for words in (("--next",), ()):
            running = start("crawl", "-o", "crawl", *words, *way)
            asked = web.log.requests
            _wait(lambda asked=asked: web.log.requests > asked + 40)
            running.kill()  # and so all that it has started
            running.wait()
        done = gcs("crawl", "-o", "crawl", *way)
        assert done.code == 0, done.err
        truth = survey(web.web).pages
        unchanged = {url for url in before & truth if old.plan(url).etag == web.web.plan(url).etag}
    records = [record for record in read_records(tmp_path / "crawl") if record.session == 2]
    assert len(records) == len({record.url for record in records})
    found = {change: {r.url for r in records if r.change == change} for change in ("same", "changed", "new", "gone")}
    wanted = {"same": unchanged, "changed": (before & truth) - unchanged, "new": truth - before, "gone": before - truth}
    assert found == wanted
    report = json.loads(done.out)
    assert (report["session"], report["revisits"], report["overlap"]) == (2, len(unchanged), 0.0)


def test_crawl_does_not_leave_a_seed_server_that_holds_urls(gcs: Callable) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=60, validators=True)) as web:
        first = gcs("crawl", *web.seeds, "-o", "crawl", "-n", "2", *WAY, "--max-pages", "20", quick=True)
        assert first.code == 3, first.err
        for words in ((), ("--next",)):
            done = gcs("crawl", "-o", "crawl", "-n", "2", *words, "--coordination", "hash", quick=True)
            assert done.code == 2 and "holds URLs that nobody else knows" in done.err
        assert gcs("crawl", "-o", "crawl", "-n", "2", quick=True).code == 0
        done = gcs("crawl", "-o", "crawl", "-n", "2", "--next", "--coordination", "hash", "--json", quick=True)
        assert json.loads(done.out)["same"] == 60
        done = gcs("crawl", "-o", "crawl", "-n", "2", "--next", "--coordination", "seed-server", quick=True)
        assert done.code == 2 and "was not begun by a seed-server" in done.err


def test_client_holds_the_delay_of_a_host_when_its_domain_moves(gcs: Callable, tmp_path: Path) -> None:
    spec = FakeWebSpec.plain(hosts=8, pages=80, delay_s=0.05)
    with FakeWebProcess(spec) as web:
        words = ("-o", "crawl", "-n", "3", *WAY, "--scope", "any", "--allow-private", "--delay", str(spec.delay_s))
        done = gcs("crawl", *web.seeds, *words, "--json")
        assert done.code == 0, done.err
        check(web, tmp_path / "crawl")
        starts: dict[str, list[float]] = {}
        for url, times in web.log.hits.items():
            starts.setdefault(url.split("/")[2], []).extend(times)
        gaps = [later - earlier for times in starts.values() for earlier, later in pairwise(sorted(times))]
        # a process that the machine stops between its decision and its request may be late, hardly ever more than one
        assert sum(gap < spec.delay_s for gap in gaps) <= 0.02 * len(gaps), sorted(gaps)[:5]


def test_hierarchy_of_servers_on_several_machines(start: Callable, tmp_path: Path) -> None:
    """Three servers, four clients on disks of their own; one client joins late, and one is killed and comes back."""
    board = EmbeddedServer(tmp_path / "board")
    space = board.start()
    try:
        with FakeWebProcess(FakeWebSpec.plain(hosts=16, pages=600, latency_s=0.05)) as web:

            def server(name: str, *words: str) -> subprocess.Popen[str]:
                return start("seed-server", "--space", space, "--name", name, "-o", name, *words)

            def client(name: str, of: str) -> subprocess.Popen[str]:
                words = ("--space", space, "--name", name, "--server", of, "--coordination", "seed-server", "-o", name)
                return start("gatherer", *words, "--log", "warning", "--allow", "private")

            words = ("-n", "0", "--space", space, "-o", "desk", *WAY, "--delay", "0", "--connections", "4", "--json")
            crawl = start("crawl", *web.seeds, *words, "--scope", "any", "--allow-private")
            servers = [server("seed-server"), *(server(name, "--parent", "seed-server") for name in ("left", "right"))]
            clients = {name: client(name, of) for name, of in (("a", "left"), ("b", "left"), ("c", "right"))}
            _wait(lambda: len(web.log.hits) > 60)
            clients["b"].kill()
            clients["b"].wait()
            clients["d"] = client("d", "right")
            clients["b"] = client("b", "left")
            out, _ = crawl.communicate(timeout=120)
            assert crawl.returncode == 0
            assert json.loads(out)["state"] == "done"
            for process in (*servers, *clients.values()):
                assert process.wait(30) == 0
            check(web, *(tmp_path / name for name in clients))
            assert all(any(True for _ in read_records(tmp_path / name)) for name in "abc")
    finally:
        board.stop()


def test_gatherer_says_when_the_crawl_is_coordinated_otherwise(start: Callable, gcs: Callable, tmp_path: Path) -> None:
    board = EmbeddedServer(tmp_path / "board")
    space = board.start()
    try:
        crawl = start("crawl", "http://127.0.0.1:9/", "--space", space, "-n", "0", "-o", "desk")
        done = gcs("gatherer", "--space", space, "--name", "a", "-o", "a", "--coordination", "seed-server")
        assert done.code == 2
        assert "superpages" in done.err
        crawl.terminate()
        crawl.communicate()
    finally:
        board.stop()


def _wait(true: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 60
    while not true():
        if time.monotonic() > give_up_at:
            pytest.fail("it did not happen")
        time.sleep(0.05)
