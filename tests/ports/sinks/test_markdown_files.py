"""Markdown files: their names, pages that go, front matter that no page can end."""

from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.url.canonical import UrlRules, canonical
from gcs.ports.records.page import Page
from gcs.ports.sinks.markdown_files import MarkdownFiles, markdown_file
from tests.ports.records.pages import record


def page(url: str, **changes: object) -> Page:
    return Page(record(url, **changes), "nowhere")


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


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_page_ends_its_front_matter(title: str, author: str) -> None:
    content = markdown_file(page("http://a.example/", title=f"{title}\n---\nurl: x", author=author, text="words"))
    _, front, text = content.decode().split("---\n", 2)
    said = dict(line.split(": ", 1) for line in front.rstrip("\n").split("\n"))
    assert msgspec.json.decode(said["title"]).split("\n")[-2:] == ["---", "url: x"]
    assert msgspec.json.decode(said["url"]) == "http://a.example/"
    assert text == "\nwords\n"


@pytest.mark.parametrize("odd", "\x7f\x85\x9b\u2028\u2029\ufeff\ufffe")
def test_front_matter_is_yaml_whatever_the_title(odd: str) -> None:
    """YAML breaks lines where JSON does not, and refuses characters that JSON leaves as they are."""
    front = markdown_file(page("http://a.example/", title=f"a{odd}--- b", text="words")).decode().split("---\n")[1]
    assert yaml.safe_load(front)["title"] == f"a{odd}--- b"


def test_what_a_page_does_not_say_is_left_out_and_what_a_plug_in_adds_is_kept() -> None:
    front = markdown_file(page("http://a.example/", text="words", fields='{"price":0}')).decode()
    assert "author:" not in front and "text_cut:" not in front
    assert "price: 0\n" in front


def test_page_without_text_has_no_file() -> None:
    assert markdown_file(page("http://a.example/", text="", markdown="", warc_file="")) == b""
