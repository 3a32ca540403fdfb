"""`gcs sql`: the views of a crawl, against what its records say."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed (extra duckdb)")

from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(FakeWebSpec.plain(hosts=2, pages=40, redirects=True, errors=True, validators=True)) as web:
        yield web


def test_views_say_what_the_records_say(gcs: Run, call: Run, tmp_path: Path, web: FakeWebProcess) -> None:
    """After two sessions, in the second of which most pages are confirmed by a 304."""
    gcs("crawl", *web.seeds, "-o", "docs", quick=True)
    gcs("crawl", "--next", "docs")
    records = list(read_records(tmp_path / "docs"))
    assert any(record.status == 304 for record in records)

    def ask(query: str) -> list[dict[str, Any]]:
        done = call("sql", "docs", query, "--format", "jsonl")
        assert done.code == 0, done.err
        return [json.loads(line) for line in done.out.splitlines()]

    pages = {record.url: record for record in records if record.is_page}
    assert [row["url"] for row in ask("SELECT url FROM pages ORDER BY url")] == sorted(pages)
    moved = [each for each in records if 300 <= each.status < 400 and each.status != 304 and not each.failure]
    redirects = {(record.url, record.final_url) for record in moved}
    assert {(row["url"], row["target"]) for row in ask("SELECT * FROM redirects")} == redirects
    failed = {(record.url, record.failure) for record in records if record.failure}
    assert failed and {(row["url"], row["failure"]) for row in ask("SELECT * FROM failures")} == failed
    assert ask("SELECT count(*) AS n FROM records") == [{"n": len(records)}]
    links = sum(len(record.outlinks) for record in pages.values())
    assert ask("SELECT count(*) AS n FROM links") == [{"n": links}]
    assert sum(row["pages"] for row in ask("SELECT * FROM hosts")) == len(pages)


def test_formats_and_errors(gcs: Run, call: Run, web: FakeWebProcess) -> None:
    gcs("crawl", web.seeds[0], "-o", "it's", "--max-pages", "3", quick=True)
    listed = call("sql", "it's").out
    assert "pages: pages, each once" in listed and "links: a row for each link" in listed
    rows = list(csv.reader(call("sql", "it's", "SELECT '=1+1' AS a, 2 AS b", "--format", "csv").out.splitlines()))
    assert rows == [["a", "b"], ["'=1+1", "2"]], "no formulas"
    assert call("sql", "it's", "SELECT 1 AS a, 'x\x1b[2J' AS b").out == "a  b\n1  x�[2J\n"
    wrong = call("sql", "it's", "SELECT frm")
    assert wrong.code == 2 and wrong.err.startswith("gcs: ") and wrong.err.count("\n") == 1
    assert "there are no summaries" in call("sql", "nowhere", "SELECT 1").err
