"""Folders and files."""

import os
from pathlib import Path

import pytest

from gcs.core.page.values import FailureKind
from gcs.core.url.sources import source_url
from gcs.ports.fetch.sources import LISTED


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a b?.html").write_text("<title>A</title>")
    (folder / ".hidden").write_text("not listed")
    (folder / "packed.txt.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "secret.txt").write_text("not below the root")
    return folder


def url_of(path: Path) -> str:
    return source_url(path.as_uri() + "/" * path.is_dir())


async def test_a_folder_is_a_list_of_what_lies_in_it(ask, docs: Path) -> None:
    result = await ask(url_of(docs), url_of(docs))
    assert (result.status, result.header("content-type")) == (200, "text/uri-list")
    assert result.body.decode().split("\n") == ["./a%20b%3F.html", "./packed.txt.gz", "./sub/"]
    moved = await ask(url_of(docs / "sub")[:-1], url_of(docs))
    assert (moved.status, moved.header("location")) == (301, f"{docs}/sub/")


async def test_a_file_is_a_page_that_need_not_be_read_again(ask, docs: Path) -> None:
    url = url_of(docs / "a b?.html")
    first = await ask(url, url_of(docs))
    assert (first.status, first.header("content-type"), first.content) == (200, "text/html", b"<title>A</title>")
    again = await ask(url, url_of(docs), etag=first.header("etag"))
    assert (again.status, again.body) == (304, b"")
    (docs / "a b?.html").write_text("<title>Another</title>")
    assert (await ask(url, url_of(docs), etag=first.header("etag"))).content == b"<title>Another</title>"
    assert (await ask(url_of(docs / "packed.txt.gz"), url_of(docs))).header("content-type") == "application/gzip"


async def test_large_folders_are_listed_in_pieces(ask, docs: Path) -> None:
    names = {f"{number:05}.txt" for number in range(2 * LISTED + 5)}
    for name in names:
        (docs / "sub" / name).touch()
    found, url, lists = set(), url_of(docs / "sub"), 0
    while url:
        *hrefs, last = (await ask(url, url_of(docs))).body.decode().split("\n")
        url = source_url(last, url) if last.startswith("?") else ""
        found |= {href[2:] for href in ([*hrefs] if url else [*hrefs, last])}
        lists += 1
    assert (found, lists) == (names, 3)


async def test_nothing_outside_of_the_root_is_read(ask, docs: Path, tmp_path: Path) -> None:
    (docs / "out.txt").symlink_to(tmp_path / "secret.txt")
    (docs / "up").symlink_to(tmp_path)
    (docs / "in.html").symlink_to(docs / "a b?.html")
    assert (await ask(url_of(docs) + "out.txt", url_of(docs))).status == 403
    assert (await ask(url_of(docs) + "up/", url_of(docs))).status == 403
    assert (await ask(url_of(docs) + "up/secret.txt", url_of(docs))).status == 403
    assert (await ask(url_of(docs) + "%2e%2e/secret.txt", url_of(docs))).status == 403
    assert (await ask(url_of(docs) + "in.html", url_of(docs))).status == 200
    other = await ask(url_of(tmp_path / "secret.txt"), url_of(docs))
    assert other.kind is FailureKind.FORBIDDEN_ADDRESS


async def test_what_cannot_be_read_is_said(ask, docs: Path) -> None:
    os.mkfifo(docs / "pipe")
    (docs / "loop").symlink_to(docs / "loop")
    (docs / "large.bin").write_bytes(b"x" * 101)
    assert (await ask(url_of(docs) + "absent.html", url_of(docs))).status == 404
    assert (await ask(url_of(docs) + "loop", url_of(docs))).status == 404
    assert (await ask(url_of(docs) + "nul%00", url_of(docs))).status == 404
    assert (await ask(url_of(docs) + "pipe", url_of(docs))).status == 403
    large = await ask(url_of(docs) + "large.bin", url_of(docs), max_body_bytes=100)
    assert large.kind is FailureKind.TOO_LARGE


async def test_names_that_cannot_be_spelled_are_passed_over(ask, docs: Path) -> None:
    (Path(os.fsencode(docs).decode()) / os.fsdecode(b"latin-\xe9")).touch()
    (docs / "two\nlines").touch()
    assert (await ask(url_of(docs), url_of(docs))).body.decode() == "./a%20b%3F.html\n./packed.txt.gz\n./sub/"
