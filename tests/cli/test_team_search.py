"""A team's pages are found: by the one index of a team on one machine, and by the indexes of machines apart."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

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
