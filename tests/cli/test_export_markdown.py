"""`gcs export --format md`, as its users run it: one stream, or one file a page."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gcs.core.page.values import PageRecord
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store

MARKDOWN = "# A title\n\nSome [words](http://example.com/).\n\n---\n\n```python\nx = 1\n```"
TITLE = 'Quotes " and\n---\nurl: http://evil.test/'


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("crawl")
    with Store.open(directory, StoreSettings(log_records=2), "g1") as store:
        for number in range(4):
            url = f"http://example.com/folder/{number}?q=ä&x=../../etc"
            record = PageRecord(url=url, parent="", depth=0, status=200, fetched_at=1.76e9, gatherer="g1")
            markdown = MARKDOWN if number else ""  # a page without a text
            store.add_page(
                msgspec.structs.replace(record, title=TITLE, markdown=markdown, author="A. B.", keywords=["x", "y"]),
                None,
            )
            store.sync()
    return directory


def export(crawl: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gcs", "export", str(crawl), "--format", "md", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def test_export_md_writes_each_page_with_its_front_matter(crawl: Path) -> None:
    done = export(crawl)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(MARKDOWN) == 3
    _, front, rest = done.stdout.split("---\n", 2)
    said = dict(line.split(": ", 1) for line in front.splitlines())
    assert msgspec.json.decode(said["title"]) == TITLE, "a page cannot end its front matter"
    assert msgspec.json.decode(said["url"]).startswith("http://example.com/folder/1")
    assert msgspec.json.decode(said["keywords"]) == ["x", "y"]
    assert msgspec.json.decode(said["fetched_at"]) == "2025-10-09T08:53:20Z"
    assert "description" not in said, "what a page does not say is left out"
    assert rest.startswith("\n# A title")


def test_export_md_writes_one_file_a_page_into_a_folder(crawl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done = export(crawl, "--output", f"{folder}/", "--json")
    assert msgspec.json.decode(done.stdout)["records"] == 3
    files = sorted(folder.rglob("*.md"))
    assert len(files) == 3
    assert {file.parent for file in files} == {folder / "example.com" / "folder"}
    assert all(MARKDOWN in file.read_text() for file in files)
    assert export(crawl, "--output", str(folder)).returncode == 0
    assert sorted(folder.rglob("*.md")) == files, "a second export writes the same files"


def test_export_md_takes_no_fields(crawl: Path) -> None:
    done = export(crawl, "--fields", "url")
    assert done.returncode != 0
    assert "--fields" in done.stderr
