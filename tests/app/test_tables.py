"""The tables of a crawl: a row is what its table says, each URL once, as it was found last."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gcs.app import assembly
from gcs.ports.records.reading import latest, read_records
from gcs.ports.tables import TABLES, table_rows, write_tables
from gcs.settings import load
from tests.roles.gatherer.strange_site import html, strange_site

QUICK = {
    "fetch.allow_private": True,
    "politeness.delay_s": 0.0,
    "frontier.fsync": False,
    "summary.anchors": True,
    "politeness.retry_s": 0.01,
    "crawl.requisites": True,
}


@pytest.fixture
async def crawl(tmp_path: Path) -> Path:
    """Two sessions, between which a page goes, one comes, and the server of one fails."""
    home = b"<title>Home</title><a href=/a rel=tag>To <b>a</b></a><a href=/gone>gone</a><a href=/moved>m</a>"
    answers = {"/": (200, {"Content-Type": "text/html", "X-Said": "this: that"}, home + b"<img src=/i.png>")}
    answers |= {"/a": html("/sick"), "/gone": html(), "/sick": html(), "/moved": (301, {"Location": "/a"}, b"")}
    answers["/i.png"] = (200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n")
    async with strange_site(answers) as site:
        for session in (1, 2):
            gatherer = assembly.gatherer(tmp_path, "g0", load(None, {}, QUICK), [f"{site.origin}/"])
            await gatherer.run([f"{site.origin}/"], session)
            del site.answers["/gone" if session == 1 else "/a"]
            site.answers |= {"/sick": (500, {}, b""), "/a": html("/new"), "/new": html()}
    return tmp_path


def column(place: Path, table: str, *names: str) -> Iterator[tuple[str, ...]]:
    at = [list(TABLES[table].columns).index(name) for name in names]
    for row in table_rows(place, table):
        yield tuple(row[i].split("/", 3)[-1] if str(row[i]).startswith("http") else row[i] for i in at)


def test_each_url_is_in_one_table_as_it_was_found_last(crawl: Path) -> None:
    assert sorted(column(crawl, "pages", "url", "session")) == [("", 2), ("a", 2), ("new", 2), ("sick", 1)]
    assert list(column(crawl, "failures", "url", "failure")) == [("gone", "http-404")]
    assert list(column(crawl, "redirects", "url", "target")) == [("moved", "a")]
    assert list(column(crawl, "requisites", "url", "content_type")) == [("i.png", "image/png")]
    links = sorted(column(crawl, "links", "page", "link", "anchor", "rel"))
    assert links[:3] == [("", "a", "To a", "tag"), ("", "gone", "gone", ""), ("", "moved", "m", "")]
    assert ("a", "new", "/new", "") in links
    assert [row[0] for row in table_rows(crawl, "pages")] == [url for (url,) in latest(crawl, ("url",))]
    [home] = [record for record in read_records(crawl) if record.session == 1 and record.url.endswith("/")]
    assert "X-Said: this: that" in home.headers


def test_parquet_files_hold_the_tables_and_are_replaced(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gcs.ports.tables.FILE_ROWS", 2)
    monkeypatch.setattr("gcs.ports.tables.GROUP_ROWS", 1)
    rows = write_tables(crawl, tmp_path)
    assert rows == {name: len(list(table_rows(crawl, name))) for name in TABLES}
    assert [path.name for path in sorted((tmp_path / "pages").iterdir())] == ["000001.parquet", "000002.parquet"]
    monkeypatch.undo()
    write_tables(crawl, tmp_path)
    for name, count in rows.items():
        assert [path.name for path in (tmp_path / name).iterdir()] == ["000001.parquet"]
        table = pq.read_table(tmp_path / name / "000001.parquet")
        assert (table.num_rows, table.column_names) == (count, list(TABLES[name].columns))


def test_command_writes_them_and_a_link_in_their_place_is_refused(crawl: Path, tmp_path: Path) -> None:
    def export(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gcs", "export", str(crawl), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert (
        export("--table", "failures", "--format", "csv", "--fields", "failure,status").stdout
        == "failure,status\nhttp-404,404\n"
    )
    done = export("--format", "parquet", "--output", str(tmp_path / "out"))
    assert f"4 rows in {tmp_path / 'out' / 'pages'}/" in done.stdout, done
    (tmp_path / "linked" / "pages").mkdir(parents=True)
    (tmp_path / "linked" / "pages" / "000001.new").symlink_to(tmp_path / "victim")
    done = export("--format", "parquet", "--output", str(tmp_path / "linked"))
    assert done.returncode == 1 and "symbolic link" in done.stderr and not (tmp_path / "victim").exists()
