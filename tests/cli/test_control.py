"""`gcs pause / resume / stop / seed / status / ls` on a crawl by one gatherer, which has no whiteboard."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from tests.cli.conftest import QUICK

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=3, pages=400)) as web:
        yield web


def wait_for_pages(call: Run, pages: int) -> None:
    while True:
        done = call("status", "docs", "--json")
        if done.code == 0 and json.loads(done.out)["pages"] >= pages:
            return


def test_a_crawl_alone_obeys(call: Run, start: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    crawl = start("crawl", web.seeds[0], "-o", "docs", *QUICK, "--delay", "0.05", "--scope", "host")
    wait_for_pages(call, 3)
    assert call("pause", "docs").out.startswith("paused")
    assert json.loads(call("status", "docs", "--json").out)["state"] == "paused"
    held = json.loads(call("status", "docs", "--json").out)["pages"]
    other = web.web.homes[-1]
    assert call("seed", "docs", other).out == f"added: {other}\n"
    refused = call("seed", "docs", "example.org", "a")
    assert refused.code == 2 and "'a' is a word, not a URL" in refused.err
    listed = json.loads(call("ls", "--json").out)
    assert [(each["directory"], each["crawl"], each["state"]) for each in listed] == [("docs", "docs", "paused")]
    assert listed[0]["seeds"] == [web.seeds[0], other], "what was refused left nothing"
    assert "is for a team" in call("rebalance", "docs").err
    noted = call("resume", "-o", "docs")  # as it was written before
    assert (noted.code, noted.out) == (0, "running\n") and "note: DIR needs no -o any more" in noted.err
    wait_for_pages(call, held + 5)
    assert call("stop", "docs").code == 0
    assert crawl.wait() == 3
    assert (tmp_path / "docs" / "state" / "seeds.txt").read_text().split() == [web.seeds[0], other]
    assert not (tmp_path / "docs" / "state" / "control").exists()
    for words in (("stop", "docs"), ("seed", "docs", other)):
        assert "this crawl does not run; to go on with it: gcs crawl -o docs" in call(*words).err


def test_a_socket_that_a_kill_left_says_nothing(call: Run, start: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    """In a directory whose path is too long for a socket, too."""
    deep = Path("d" * 60) / ("e" * 60)
    (tmp_path / deep).mkdir(parents=True)
    for killed in (True, False):
        crawl = start("crawl", web.seeds[0], "-o", deep / "docs", *QUICK, "--delay", "0.05", "--summary", "links")
        while call("pause", deep / "docs").code:
            assert crawl.poll() is None
        assert call("ls", deep.parts[0]).out.splitlines()[1].split()[1] == "paused"
        if killed:
            os.kill(crawl.pid, signal.SIGKILL)
            crawl.wait()
            assert "does not run" in call("pause", deep / "docs").err
            assert call("ls", deep.parts[0]).out.splitlines()[1].split()[1] == "stopped"
        else:
            call("stop", deep / "docs")
            assert crawl.wait() == 3


def test_seeds_are_shown_as_they_are_understood(gcs: Run, web: FakeWebProcess) -> None:
    seed = f"{web.seeds[0]}a/b"
    words = ("--allow-private", "--delay", "0")
    done = gcs("crawl", seed.removeprefix("http://"), "-o", "My docs (1)", *words)
    assert f"seed: {seed}\n" in done.err
    assert "only what lies below /a/b/: --scope prefix" in done.err
    again = gcs("crawl", "My docs (1)")
    assert "seed:" not in again.err, "it is no new one"
    assert json.loads(gcs("ls", "--json").out)[0]["crawl"] == "My-docs-1-"


def test_scope_by_prefix_and_depth(gcs: Run, web: FakeWebProcess) -> None:
    """The seed of the fake web is a page of links into folders."""
    gcs("crawl", *web.seeds, "-o", "p", *QUICK, "--depth", "1")
    near = [json.loads(line) for line in gcs("export", "p").out.splitlines()]
    assert {page["depth"] for page in near} == {0, 1}
    docs = next(page["url"] for page in near if page["url"].startswith(f"{web.seeds[0]}docs/"))
    gcs("crawl", docs, "-o", "q", *QUICK, "--scope", "prefix")
    below = [json.loads(line)["url"] for line in gcs("export", "q").out.splitlines()]
    assert len(below) > 1 and all(url.startswith(f"{web.seeds[0]}docs/") for url in below)


def test_ls_of_an_empty_folder_and_of_a_damaged_crawl(call: Run, tmp_path: Path) -> None:
    assert call("ls").out.startswith("no crawls here")
    (tmp_path / "a" / "state").mkdir(parents=True)
    (tmp_path / "a" / "state" / "seeds.txt").write_text("\0")
    done = call("ls")
    assert done.code == 0 and "seeds or settings are damaged" in done.err
