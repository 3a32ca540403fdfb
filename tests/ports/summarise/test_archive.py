"""Archives through the registry, as the crawl reads them."""

import gzip
import io
import tarfile
import zipfile

import pytest

from gcs.ports.summarise import Options
from gcs.ports.summarise.summarisers import Summarisers

PAGE = b"""<html lang=en><title>Inside</title><body><p>The whiteboard stands in the middle of the station.</p>
<a href="https://other.example/a">one</a> <a href="local.html">two</a></body></html>"""
FILES = {
    "docs/page.html": PAGE,
    "notes.txt": b"Plain notes about trains.\nMore of them.",
    "logo.png": b"\x89PNG\r\n\x1a\n",
}


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (zipped(FILES), "application/zip"),
        (zipped(FILES), "application/java-archive"),
        (tarred(FILES), "application/x-tar"),
        (gzip.compress(tarred(FILES)), "application/gzip"),
        (gzip.compress(tarred(FILES)), "application/octet-stream"),
    ],
)
def test_archive_says_what_its_members_say(content: bytes, content_type: str) -> None:
    document = Summarisers().summarise(content, content_type, "http://a.example/x", "fast")
    assert document.hrefs == ["https://other.example/a"]
    assert document.title == "Inside"
    assert "docs/page.html\n" in document.text
    assert "whiteboard stands" in document.text
    assert "notes.txt\nPlain notes about trains." in document.text
    assert document.simhash


def test_archive_inside_an_archive_is_passed_over() -> None:
    content = zipped({"inner.zip": zipped(FILES), "inner.tgz": gzip.compress(tarred(FILES)), "a.txt": b"words"})
    document = Summarisers().summarise(content, "application/zip", "http://a.example/x.zip", "fast")
    assert document.text == "a.txt\nwords"


def test_archive_is_bounded_and_damage_is_no_error() -> None:
    bomb = zipped({f"{number}.txt": b"word " * 800_000 for number in range(40)})
    document = Summarisers().summarise(
        bomb, "application/zip", "http://a.example/x.zip", "fast", Options(max_text_bytes=5_000)
    )
    assert 0 < len(document.text) < 6_000
    half = zipped(FILES)
    for cut in range(0, len(half), 50):
        Summarisers().summarise(half[:cut], "application/zip", "http://a.example/x.zip", "fast")
