"""`gcs merge`: what several machines have stored, in one directory."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

#: both gatherers store something, however few pages there are
APART = ("--coordination", "hash", "--set", "team.hash_by=url")
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=4, pages=60)) as web:
        yield web


def test_the_parts_of_a_team_become_one_crawl(gcs: Run, call: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    done = gcs("crawl", *web.seeds, "-o", "docs", "-n", "2", *APART, quick=True)
    assert done.code == 0, done.err
    all_urls = sorted(record.url for record in read_records(tmp_path / "docs"))
    there = tmp_path / "there"  # as if g1 had run on another machine
    for pattern in ("warc/*-g1-*", "summaries/g1-*", "state/g1"):
        for path in list((tmp_path / "docs").glob(pattern)):
            target = there / path.relative_to(tmp_path / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)
    assert len(list(read_records(tmp_path / "docs"))) < len(all_urls)
    assert (
        "pages lie on the machines of g1: copy their directories here, then gcs merge docs"
        in call("status", "docs").out
    )
    merged = call("merge", "docs", "there")
    assert merged.code == 0 and "copied to docs/" in merged.out, merged
    assert sorted(record.url for record in read_records(tmp_path / "docs")) == all_urls
    assert "machines of" not in call("status", "docs").out
    assert call("merge", "docs", "there").out.startswith("0 files")  # again: nothing is missing
    assert call("verify", "docs").code == 0


def test_what_does_not_belong_together_is_refused(gcs: Run, call: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    for name in ("one", "two"):
        gcs("crawl", web.seeds[0], "-o", name, "--max-pages", "3", quick=True)
    refused = call("merge", "one", "two")
    assert refused.code == 2 and "parts of different crawls: one, two" in refused.err
    shutil.rmtree(tmp_path / "two")
    gcs("crawl", web.seeds[0], "-o", "two", "--name", "one", "--max-pages", "4", quick=True)
    before = sorted((path, path.stat().st_size) for path in (tmp_path / "one").rglob("*"))
    refused = call("merge", "one", "two")
    assert refused.code == 2 and "and differs: these are not parts of one crawl" in refused.err
    assert sorted((path, path.stat().st_size) for path in (tmp_path / "one").rglob("*")) == before
    assert "there is no crawl here" in call("merge", "new", "nowhere").err
    assert "other directories" in call("merge", "one", "one").err
