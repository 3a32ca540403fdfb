"""Crawls of what is no web server, as a user starts them."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from gcs.core.url.canonical import UrlRules, seed_url
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

Run = Callable[..., Any]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "my docs"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "index.html").write_text(
        '<title>Home</title><a href="deep/a.html">a</a><a href="file:///etc/passwd">x</a>'
    )
    (folder / "deep" / "a.html").write_text("<title>A</title><p>Linked and listed, but one page.</p>")
    (folder / "deep" / "er" / "note.txt").write_text("Plain words.")
    (folder / "deep" / "out").symlink_to("/etc")
    return folder


def pages(directory: Path) -> dict[str, str]:
    return {record.url: record.title for record in read_records(directory) if record.is_page and not record.failure}


@pytest.mark.parametrize("gatherers", ["1", "2"])
def test_a_folder_is_crawled_by_one_or_by_a_team(gcs: Run, docs: Path, tmp_path: Path, gatherers: str) -> None:
    done = gcs("crawl", "./my docs", "-o", "out", "-n", gatherers, "--scope", "any", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    base = f"file://localhost{docs}".replace(" ", "%20")
    assert pages(tmp_path / "out") == {
        f"{base}/index.html": "Home",
        f"{base}/deep/a.html": "A",
        f"{base}/deep/er/note.txt": "Plain words.",
    }
    assert (report["pages"], report["unique"], report["failed"]) == (3, 3, 1)  # the way out of the folder is refused


def test_a_database_and_a_folder_are_archived_and_the_next_session_sees_what_changed(
    gcs: Run, docs: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as base, base:
        base.execute("CREATE TABLE goods(id INTEGER PRIMARY KEY, name)")
        base.executemany("INSERT INTO goods VALUES (?, ?)", [(1, "tea"), (2, "coffee")])
    first = gcs("crawl", "db:shop.db", "./my docs", "-o", "out", "--json")
    assert (first.code, json.loads(first.out)["pages"]) == (0, 5), first.err
    records = []
    for file in sorted((tmp_path / "out" / "warc").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                records.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI")))
                record.content_stream().read()
    kinds = {kind for kind, _ in records}
    assert kinds == {"warcinfo", "resource"}
    assert len(records) == 1 + 5 + 3 + 2  # with the lists: three folders, a database, a table
    with closing(sqlite3.connect(tmp_path / "shop.db")) as base, base:
        base.execute("UPDATE goods SET name = 'cocoa' WHERE id = 2")
    (docs / "new.html").write_text("<title>New</title>")
    (docs / "deep" / "a.html").unlink()
    report = json.loads(gcs("crawl", "--next", "-o", "out", "--json").out)
    assert (report["new"], report["changed"], report["gone"]) == (1, 1, 1)


def test_web_pages_cannot_have_our_files_read(gcs: Run, docs: Path, tmp_path: Path) -> None:
    spec = FakeWebSpec.plain(hosts=1, pages=3)
    with FakeWebProcess(spec) as web:
        done = gcs("crawl", "./my docs", *web.seeds, "-o", "out", "--json", quick=True)
        assert done.code == 0, done.err
    assert sum(url.startswith("http") for url in pages(tmp_path / "out")) == 3
    assert not any("/etc" in url for url in pages(tmp_path / "out"))


@pytest.mark.parametrize(
    ("seed", "says"),
    [("./absent", "there is no"), ("db:absent.db", "there is no"), ("gopher://x/", "may also be a folder (./docs)")],
)
def test_seeds_that_cannot_be_crawled_are_refused_at_once(gcs: Run, seed: str, says: str) -> None:
    done = gcs("crawl", seed, "-o", "out")
    assert (done.code, says in done.err, "Traceback" in done.err) == (2, True, False), done.err


def test_a_crawl_does_not_crawl_itself(gcs: Run, docs: Path) -> None:
    done = gcs("crawl", ".", "-o", "out")
    assert (done.code, "give another directory with -o" in done.err) == (2, True), done.err


def test_seeds_from_afar_are_of_the_web() -> None:
    for text in ("file:///etc/passwd", "file://localhost/etc/", "db:///srv/shop.db", "nntp://news.example.org/x/"):
        assert seed_url(text, UrlRules()) is None
