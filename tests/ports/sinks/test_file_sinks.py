"""Files as sinks: half lines, names of Markdown files, pages that go."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.canonical import UrlRules, canonical
from gcs.errors import SettingsError
from gcs.ports.records.page import Page
from gcs.ports.sinks.file_sinks import CsvTable, JsonLines, MarkdownFiles
from tests.ports.records.pages import record


def page(url: str, **changes: object) -> Page:
    return Page(record(url, **changes), "nowhere")


def test_half_line_of_a_killed_process_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    sink = JsonLines(str(file))
    sink.write([page("http://a.example/1")])
    sink.close()
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"id":"half' + b"x" * 100_000)
    sink = JsonLines(str(file))
    sink.write([page("http://a.example/2")])
    sink.close()
    assert file.read_bytes().startswith(whole) and len(file.read_bytes().splitlines()) == 2


def test_old_table_keeps_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "pages.csv"
    file.write_bytes(b"id,title,url,of_old\r\n1,One,http://a.example/1,x\r\n")
    sink = CsvTable(str(file))
    sink.write([page("http://a.example/2", title="Two")])
    sink.close()
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [(row["title"], row["url"], row["of_old"]) for row in rows] == [
        ("One", "http://a.example/1", "x"),
        ("Two", "http://a.example/2", ""),
    ]


def test_table_that_is_another_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_bytes(b"name,price\r\nchair,49")
    with pytest.raises(SettingsError, match="another table"):
        CsvTable(str(file))
    assert file.read_bytes() == b"name,price\r\nchair,49"


def test_markdown_file_is_where_its_url_says(tmp_path: Path) -> None:
    sink = MarkdownFiles(str(tmp_path))
    sink.write([page("http://a.example/docs/"), page("http://a.example/docs"), page("http://a.example/docs/a.html")])
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.md")}
    assert found == {"a.example/docs/index.md", "a.example/docs.md", "a.example/docs/a.html.md"}


def test_page_that_is_gone_loses_its_file_and_a_new_one_takes_the_place_of_the_old(tmp_path: Path) -> None:
    sink = MarkdownFiles(str(tmp_path))
    sink.write([page("http://a.example/x", text="old"), page("http://a.example/y")])
    sink.write([page("http://a.example/x", text="new", session=2, change="changed")])
    sink.write([page("http://a.example/y", status=404, failure="http-404", session=2, change="gone")])
    (left,) = tmp_path.rglob("*.md")
    assert "new" in left.read_text() and "old" not in left.read_text()


@given(st.lists(st.text(st.sampled_from("ab./~%?&=:md_-é"), max_size=40), min_size=1, max_size=20, unique=True))
def test_urls_have_files_of_their_own_inside_the_folder(tails: list[str]) -> None:
    urls = {url for tail in tails if (url := canonical(f"http://a.example/{tail}", UrlRules()))}
    root = Path("/nowhere/corpus")
    sink = MarkdownFiles.__new__(MarkdownFiles)
    sink._root = root
    paths = {url: sink._path(url) for url in urls}
    assert len(set(paths.values())) == len(urls)
    for path in paths.values():
        assert path.is_relative_to(root) and ".." not in path.parts and len(path.name) < 160
        assert not any(other in path.parents for other in paths.values())
