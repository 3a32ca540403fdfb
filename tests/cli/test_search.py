"""`gcs search` on a crawl of the fake web."""

import json
from collections.abc import Callable
from pathlib import Path

from gcs.core.fakeweb import FakeWebSpec
from gcs.ports.fetch.fakeweb import FakeWebProcess
from gcs.ports.records.reading import read_records


def test_search_finds_a_page_by_its_words(gcs: Callable, tmp_path: Path) -> None:
    with FakeWebProcess(FakeWebSpec.plain(hosts=3, pages=30)) as web:
        assert gcs("crawl", *web.seeds, "-o", "crawl", quick=True).code == 0
    page = next(record for record in read_records(tmp_path / "crawl") if len(record.text.split()) > 8)
    phrase = " ".join(page.text.split()[2:6])
    done = gcs("search", "crawl", f'"{phrase}"', "--json", "-n", "1000")
    assert done.code == 0, done.err
    assert page.url in {hit["url"] for hit in json.loads(done.out)["pages"]}
    nothing = gcs("search", "crawl", "zzyzx")
    assert (nothing.code, nothing.out) == (0, "0 pages found\n")
    assert page.url in gcs("search", "crawl", f'"{phrase}"', "-n", "1000").out
