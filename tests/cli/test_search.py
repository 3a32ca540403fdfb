"""`gcs search` on a crawl of the fake web."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
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


@pytest.mark.parametrize("word", ["draft", "hash", "plan", "n"])
def test_search_leaves_out_pages_with_a_word(gcs: Callable, tmp_path: Path, word: str) -> None:
    """Whatever letters it has, -h and -n among them."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text(f"url tree {word}")
    (tmp_path / "docs" / "b.txt").write_text("url tree")
    assert gcs("crawl", "./docs", "-o", "crawl").code == 0
    without = [f"-{word}"] if len(word) > 1 else ["--", f"-{word}"]
    done = gcs("search", "crawl", "--json", "-n", "5", "url tree", *without)
    assert done.code == 0, done.err
    assert [Path(hit["url"]).name for hit in json.loads(done.out)["pages"]] == ["b.txt"]
    assert json.loads(gcs("search", "crawl", "--json", "tree").out)["found"] >= 2


def test_search_and_export_see_pages_as_the_last_session_found_them(gcs: Callable, tmp_path: Path) -> None:
    spec = FakeWebSpec.plain(hosts=2, pages=30, validators=True, changed_share=0.3, gone_share=0.2, added_share=0.1)
    with FakeWebProcess(spec) as web:
        assert gcs("crawl", *web.seeds, "-o", "crawl", quick=True).code == 0
        before, old = survey(web.web).pages, web.web
        web.set_session(2)
        now = survey(web.web).pages
        assert gcs("crawl", "--next", "-o", "crawl", quick=True).code == 0
        changed = {url for url in before & now if old.plan(url).etag != web.web.plan(url).etag}
    assert before - now and changed and now - before
    rows = [json.loads(line) for line in gcs("export", "crawl", "--latest").out.splitlines()]
    assert sorted(row["url"] for row in rows) == sorted(now)
    assert {row["url"] for row in rows if row["session"] == 2} == changed | (now - before)
    assert all(row["text"] for row in rows), "what has not changed has its text from the session before"
    for row in rows:
        hits = json.loads(gcs("search", "crawl", f'"{" ".join(row["text"].split()[:6])}"', "--json", "-n", "99").out)
        assert row["url"] in {hit["url"] for hit in hits["pages"]}
        assert {hit["url"] for hit in hits["pages"]} <= now
    assert "--latest is for jsonl, csv and md" in gcs("export", "crawl", "--latest", "--format", "cdxj").err
