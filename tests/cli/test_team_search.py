"""A team's pages are found: by the one index of a team on one machine, and by the indexes of machines apart."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records
from gcs.ports.space.embedded_server import EmbeddedServer

#: both gatherers store something, however few pages there are
APART = ("--coordination", "hash", "--set", "team.hash_by=url")


def test_pages_of_all_gatherers_are_found_together_and_apart(gcs: Callable[..., Any], tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=60)) as web:
        done = gcs("crawl", *web.seeds, "-o", "docs", "-n", "2", "--index", *APART, quick=True)
        assert done.code == 0, done.err
    stored = {record.url: record.gatherer for record in read_records(tmp_path / "docs") if record.is_page}
    assert set(stored.values()) == {"g0", "g1"}
    assert found(gcs, "docs") == set(stored)  # one index, while they crawled

    there = tmp_path / "there"  # as if g1 had run on another machine
    for pattern in ("warc/*-g1-*", "summaries/g1-*", "state/g1"):
        for path in list((tmp_path / "docs").glob(pattern)):
            target = there / path.relative_to(tmp_path / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)
    assert gcs("index", "docs", "--rebuild").code == gcs("index", "there").code == 0
    for place, gatherer in (("docs", "g0"), ("there", "g1")):
        assert found(gcs, place) == {url for url, owner in stored.items() if owner == gatherer}
    assert found(gcs, "docs", "--also", "there") == set(stored)  # each by its own index
    assert gcs("index", "docs", "there", "--to", "all").code == 0
    assert found(gcs, "all") == set(stored)  # the merged index


def found(gcs: Callable[..., Any], place: str, *more: str) -> set[str]:
    done = gcs("search", place, "lang:en", "--all", "--json", "-n", "1000", *more)
    assert done.code == 0, done.err
    return {page["url"] for page in json.loads(done.out)["pages"]}


def test_indexes_of_machines_apart_answer_over_the_whiteboard(
    gcs: Callable[..., Any], start: Callable[..., Any], tmp_path: Path
) -> None:
    """Two gatherers without a common disk: while they crawl, and when one is at rest and has a librarian of its own."""
    board = EmbeddedServer(tmp_path / "board")
    space = board.start()
    try:
        with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=90, latency_s=0.1)) as web:
            words = ("--space", space, "--allow", "private", "--index", "--stay")
            members = {name: start("gatherer", *words, "--name", name, "-o", name) for name in "ab"}
            done = gcs(
                "crawl", *web.seeds, "-n", "0", "--space", space, "-o", "desk", *APART, "--connections", "2", quick=True
            )
            assert done.code == 0, done.err
        stored = {name: {each.url for each in read_records(tmp_path / name) if each.is_page} for name in "ab"}
        assert all(stored.values())
        everything = stored["a"] | stored["b"]
        wait(lambda: asked(gcs, space) == (everything, []))

        members["b"].terminate()  # says goodbye, so nobody waits for it
        assert members["b"].wait(60) == 0
        assert asked(gcs, space) == (stored["a"], [])
        start("librarian", "b", "--space", space, "--name", "b")
        wait(lambda: asked(gcs, space) == (everything, []))
        shutil.move(tmp_path / "a" / "index", tmp_path / "a" / "lost")
        assert asked(gcs, space) == (stored["b"], ["a"])
    finally:
        board.stop()


def asked(gcs: Callable[..., Any], space: str, *more: str) -> tuple[set[str], list[str]]:
    """The pages that a team finds, and who did not answer."""
    done = gcs("search", "--space", space, "--crawl", "crawl", "lang:en", "--all", "--json", "-n", "100", *more)
    if done.code:
        return set(), [done.err]
    told = json.loads(done.out)
    return {page["url"] for page in told["pages"]}, told["missing"]


def wait(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up_at, "it never came true"
        time.sleep(0.2)
