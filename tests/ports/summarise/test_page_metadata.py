import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import MOST_KEYWORDS, Document
from gcs.core.url.join import Joiner, facts_of
from gcs.ports.summarise import DEFAULT, Depth, Options, Source
from gcs.ports.summarise.html import summarise_html


def read(page: str, options: Options = DEFAULT, depth: Depth = "fast") -> Document:
    return summarise_html(
        Source(page.encode("utf-8", "replace"), "text/html; charset=utf-8", "http://x/", depth, options)
    )


def ld(text: str) -> str:
    return f'<script type="Application/LD+JSON">{text}</script>'


@pytest.mark.parametrize(
    ("page", "name", "value"),
    [
        ("<meta name=Author content=' Ann  Miller '>", "author", "Ann Miller"),
        (
            "<meta property=article:author content='https://example.com/ann'><meta name=byl content=Ann>",
            "author",
            "Ann",
        ),
        (ld('{"@type": "Article", "author": "Ann"}') + "<meta name=author content=Bo>", "author", "Ann"),
        (ld('[{"@type": "Article", "author": [{"name": "Ann"}, {"name": "Bo"}]}]'), "author", "Ann, Bo"),
        (ld('{"@graph": [{"@type": "WebSite"}, {"@type": ["BlogPosting"], "author": "Ann"}]}'), "author", "Ann"),
        (ld("{broken") + ld('{"@type": "Article", "author": "Ann"}'), "author", "Ann"),
        ("<article itemscope><b itemprop=author>Ann <i>Miller</i></b></article>", "author", "Ann Miller"),
        (ld('{"@type": "Recipe", "datePublished": "2026-05"}'), "published", "2026-05"),
        ("<meta property=article:published_time content=2026-05-04T10:00:00Z>", "published", "2026-05-04T10:00:00Z"),
        ("<meta name=date content='Mon, 04 May 2026 10:00:00 +0200'>", "published", "2026-05-04T10:00:00+02:00"),
        ("<meta name=date content='yesterday'>", "published", ""),
        ("<time itemprop=datePublished datetime=2026-05-04>May</time>", "published", "2026-05-04"),
        ("<meta property=article:modified_time content=2026-05-05>", "modified", "2026-05-05"),
        ("<meta property=og:site_name content=Mills>", "site_name", "Mills"),
        (ld('{"@type": "Article", "publisher": {"name": "Mills"}}'), "site_name", "Mills"),
        ("<meta property=og:type content=article>", "page_type", "article"),
        (ld('{"@type": "Organization"}') + ld('{"@type": "Product"}'), "page_type", "Product"),
        ("<meta name=keywords content='a, b,,a'><meta property=article:tag content=c>", "keywords", ["a", "b", "c"]),
        (ld('{"@type": "Article", "keywords": ["a", 1, "b"]}'), "keywords", ["a", "b"]),
    ],
)
def test_metadata_is_what_the_page_says(page: str, name: str, value: object) -> None:
    assert getattr(read(f"<head>{page}"), name) == value


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"@type": "Article", "@graph": ' * 5_000,
        '{"@type": 7, "author": {"name": [1]}, "keywords": {"a": 1}, "publisher": "x", "datePublished": 1}',
        '{"@type": "Article", "author": {"name": 5}, "datePublished": ["2026"], "publisher": {"name": {}}}',
        '"\\ud800"',
        "null",
    ],
)
def test_metadata_takes_any_json(text: str) -> None:
    assert isinstance(read(ld(text)), Document)


@given(st.text())
def test_metadata_takes_any_text(text: str) -> None:
    said = read(f"<meta name=author content='{text}'><meta name=keywords content='{text}'>{ld(text)}")
    assert len(said.author) <= 300
    assert len(said.keywords) <= MOST_KEYWORDS


LINKS = (
    "<link rel=alternate href=/feed><a href=/a rel=ugc> The <b>first</b> </a><a href=/a>second</a>"
    "<a href='/b'><img src=x alt=y></a><a href=/b>later</a><a href=mailto:x@y>mail</a>"
)


@pytest.mark.parametrize("depth", ["links", "fast"])
def test_anchors_are_those_of_the_outlinks(depth: Depth) -> None:
    document = read(LINKS, Options(anchors=True), depth)
    facts = facts_of(document, "http://x/", Joiner(), heed=True)
    assert facts.outlinks == ["http://x/feed", "http://x/a", "http://x/b"]
    assert facts.anchors == ["", "The first", "later"]
    assert facts.rels == ["", "ugc", ""]


def test_anchors_are_kept_only_where_they_are_asked_for() -> None:
    document = read(LINKS)
    assert document.anchors == document.rels == []


def test_text_is_counted_not_markup_and_a_cut_is_told() -> None:
    words = "Words of the page, which are what its reader came for. " * 40
    page = f"<script>{'var a = 1;' * 60_000}</script><article><p>{words}</p><p>{words}</p></article>"
    whole = read(page)
    assert words.strip() in whole.text
    assert not whole.text_cut
    part = read(page, Options(max_text_bytes=1_000))
    assert part.text_cut
    assert len(part.text) == len(part.markdown) == 1_000
