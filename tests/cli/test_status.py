"""`gcs status`: how a crawl stands, while another process runs it, after it ended, after it was killed."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.app.crawl_dir import read_shares
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess

Run = Callable[..., Any]
FLAGS = ("-o", "out", "--allow-private", "--scope", "any", "--delay", "0.05", "--set", "frontier.checkpoint_s=0.1")


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=200)) as web:
        yield web


def figures(call: Run, *arguments: str) -> dict[str, Any]:
    done = call("status", "out", "--json", *arguments)
    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    return json.loads(done.out)


def status_of_pages(call: Run, crawl: "subprocess.Popen[str]", pages: int) -> dict[str, Any]:
    """The first status that shows so many pages."""
    while True:
        assert crawl.poll() is None
        done = call("status", "out", "--json")
        if done.code == 0 and json.loads(done.out)["pages"] >= pages:
            return json.loads(done.out)


def test_status_of_a_crawl_that_runs_and_is_killed(call: Run, start: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    crawl = start("crawl", web.seeds[0], *FLAGS, "--name", "mine")
    first = status_of_pages(call, crawl, 5)
    assert (first["state"], first["crawl"]) == ("running", "mine")
    assert first["known_urls"] > first["queued"] > 0
    assert 0 < first["explored_fraction"] < 1
    later = status_of_pages(call, crawl, first["pages"] + 3)
    assert later["seconds"] > first["seconds"]
    shown = call("status", "out")
    assert shown.code == 0
    assert shown.out.startswith("running: ")
    assert "queued" in shown.out
    while not (committed := sum(share.counters.pages for share in read_shares(tmp_path / "out")[0])):
        assert crawl.poll() is None
    crawl.kill()
    crawl.wait()
    after = figures(call)
    assert after["state"] == "stopped"
    assert after["pages"] >= committed  # of its last checkpoint


def test_status_after_a_crawl_is_its_report(call: Run, gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    assert gcs("crawl", web.seeds[0], "-o", "out", "--max-pages", "20", quick=True).code == 3
    first, status = json.loads((tmp_path / "out" / "report.json").read_text()), figures(call)
    for key in ("state", "outlook"):
        assert status[key] == first[key], key
    assert (status["state"], status["outlook"]["left"]) == ("limit", "ended by its limit")
    done = gcs("crawl", "-o", "out")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    status = figures(call)
    assert status["state"] == "done"
    for key in ("pages", "unique", "bytes", "known_urls", "queued", "explored_fraction", "failed", "crawl", "failures"):
        assert status[key] == report[key], key
    assert call("status", "out").out.splitlines()[1] == done.out.splitlines()[1]


def test_status_looks_at_the_usual_place(call: Run, gcs: Run, web: FakeWebProcess) -> None:
    assert gcs("crawl", web.seeds[0], "--max-pages", "5", quick=True).code == 3
    assert call("status").out.startswith("limit: 5 pages")


def test_status_does_not_keep_a_crawl_from_starting(call: Run, start: Run, web: FakeWebProcess) -> None:
    crawl = start("crawl", web.seeds[0], *FLAGS, "--max-pages", "40", "--json")
    while crawl.poll() is None:
        call("status", "out")
    assert crawl.returncode == 3, crawl.communicate()


def test_status_of_a_crawl_on_a_read_only_disk(call: Run, gcs: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    assert gcs("crawl", web.seeds[0], "-o", "out", "--max-pages", "5", quick=True).code == 3
    for lock in (tmp_path / "out").glob("state/*/frontier/lock.mdb"):
        lock.unlink()
    mounted = subprocess.run(["mount", "--bind", "-o", "ro", "out", "out"], cwd=tmp_path, capture_output=True)
    if mounted.returncode:
        pytest.skip("a read-only file system cannot be mounted here")
    try:
        assert figures(call)["pages"] == 5
    finally:
        subprocess.run(["umount", tmp_path / "out"], check=True)
