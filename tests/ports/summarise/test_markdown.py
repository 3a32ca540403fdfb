"""Markdown of twenty pages that were written for this test: each `NAME.md` was read by a person beside `NAME.html`.

`python -m tests.ports.summarise.test_markdown` writes the files anew; read the difference before you commit it.
"""

from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from turbohtml import Element, parse

from gcs.core.page.values import Document
from gcs.ports.summarise import DEFAULT, Source
from gcs.ports.summarise.html import summarise_html

PAGES = sorted((Path(__file__).parent / "markdown_pages").glob("*.html"))


def document(page: Path) -> Document:
    return summarise_html(Source(page.read_bytes(), "text/html", "http://example.com/", "fast", DEFAULT))


def words(text: str) -> str:
    return " ".join(text.split())


def article(page: Path) -> Element:
    found = parse(page.read_text()).select_one("article")
    assert found is not None
    return found


def parsed(markdown: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(markdown)


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens if token.type == "inline" for child in token.children or ()]


def said(token: Token) -> str:
    """What a reader sees of an inline token: the text, without its marks."""
    return words("".join(child.content for child in token.children or () if child.type in ("text", "code_inline")))


def test_there_are_twenty_pages() -> None:
    assert len(PAGES) == 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_markdown_is_as_it_was_checked(page: Path) -> None:
    assert document(page).markdown + "\n" == page.with_suffix(".md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_markdown_has_the_headings_of_the_page(page: Path) -> None:
    tokens = parsed(document(page).markdown)
    found = [(token.tag, said(tokens[at + 1])) for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert found == [(each.tag, words(each.text)) for each in article(page).select("h1, h2, h3, h4, h5, h6")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_markdown_has_the_links_of_the_page(page: Path) -> None:
    expected = [parse(each.html).select_one("a") for each in article(page).select("a[href]")]
    hrefs = [MarkdownIt().normalizeLink(each.attr("href") or "") for each in expected if each is not None]
    assert [t.attrGet("href") for t in inline(parsed(document(page).markdown)) if t.type == "link_open"] == hrefs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_markdown_has_the_code_blocks_of_the_page(page: Path) -> None:
    found = [token.content for token in parsed(document(page).markdown) if token.type in ("fence", "code_block")]
    assert found == [f"{each.text.strip()}\n" for each in article(page).select("pre")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_text_and_markdown_hold_the_article_and_nothing_else(page: Path) -> None:
    read = document(page)
    for paragraph in article(page).select("article > p"):
        first = words(paragraph.text)[:12]
        assert first in words(read.text)
    for each in (read.text, read.markdown):
        assert "Imprint" not in each
        assert "tracker" not in each
        assert "More pages" not in each
    assert "ALTERNATIVE" not in read.text, "the text of an image is no text"


def test_metadata_of_the_page_that_has_some() -> None:
    read = document(next(page for page in PAGES if page.stem == "metadata"))
    assert (read.author, read.site_name, read.page_type) == ("Ann Miller, Bo Wheeler", "Mills today", "NewsArticle")
    assert (read.published, read.modified) == ("2026-05-04T10:00:00+02:00", "2026-05-06")
    assert read.keywords == ["mills", "rivers"]


if __name__ == "__main__":
    for each in PAGES:
        each.with_suffix(".md").write_text(document(each).markdown + "\n")
