"""Archived markup: what a browser would load comes from the archive, and all else stays as it was sent."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.ports.summarise.archived_markup import MOST_URLS, ArchivedMarkup

BASE = "http://a.example/x/page.html"


def place_of(url: str, is_frame: bool) -> str:
    return f"{'F' if is_frame else 'N'}:{url.removeprefix('http://')}"


def page(markup: str) -> str:
    return ArchivedMarkup(BASE, place_of).page(markup.encode(), "text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("<link rel=stylesheet href=/a.css integrity=x>", '<link rel="stylesheet" href="N:a.example/a.css">'),
        ("<img src=../i.png alt='q' />", '<img src="N:a.example/i.png" alt="q"/>'),
        ("<img src='data:x' data-src=i loading=lazy>", '<img src="N:a.example/x/i" data-src="N:a.example/x/i">'),
        ("<img srcset='a.png, b.png 2x'>", '<img srcset="N:a.example/x/a.png, N:a.example/x/b.png 2x">'),
        ("<iframe src='//b.example/f'></iframe>", '<iframe src="F:b.example/f"></iframe>'),
        (
            "<style>@import 'a'; b{c:url( d )}</style>",
            "<style>@import 'N:a.example/x/a'; b{c:url( N:a.example/x/d )}</style>",
        ),
        ("<style>/* url(e) */</style>", "<style>/* url(e) */</style>"),
        ('<p style="a:url(b)">url(c)</p>', '<p style="a:url(N:a.example/x/b)">url(c)</p>'),
        ("<noscript><img src=i.png></noscript>", '<noscript><img src="N:a.example/x/i.png"></noscript>'),
        ("<base href=/b/><img src=i>", '<img src="N:a.example/b/i">'),
        ("<svg><use href='s.svg#one'/></svg>", '<svg><use href="N:a.example/x/s.svg#one"/></svg>'),
        ("<a href=next>n</a><a href='#here'>h</a>", "<a href=\"http://a.example/x/next\">n</a><a href='#here'>h</a>"),
        ("<meta http-equiv=Refresh content='0;url=/x'><meta name=a>", "<meta name=a>"),
        (
            "<!-- <img src=a> --><title><img src=a></title> &amp;",
            "<!-- <img src=a> --><title><img src=a></title> &amp;",
        ),
    ],
)
def test_page_asks_for_what_it_needs_where_that_is_archived(sent: str, shown: str) -> None:
    assert page(sent) == shown


def test_style_sheet_asks_for_what_it_needs_where_that_is_archived() -> None:
    markup = ArchivedMarkup("http://a.example/c/main.css", place_of)
    style = markup.style(b"@charset 'x'; @import url(../b.css); i{j:url('k.png')} l{m:url(data:n)}", "text/css")
    assert style == "@charset 'x'; @import url(N:a.example/b.css); i{j:url('N:a.example/c/k.png')} l{m:url(data:n)}"


@given(st.binary(max_size=200) | st.text(alphabet="<>/='\" abimgsrctylenoscript&;:!-\0\ud800", max_size=200))
def test_page_never_raises(sent: bytes | str) -> None:
    content = sent if isinstance(sent, bytes) else sent.encode("utf-8", "surrogatepass")
    ArchivedMarkup(BASE, place_of).page(content, "text/html")
    ArchivedMarkup(BASE, place_of).style(content, "text/css")


def test_long_base_does_not_make_a_page_of_gigabytes() -> None:
    sent = f"<base href='/{'b' * 1_000}/'>" + "<img src=i>" * 100_000
    shown = page(sent)
    assert shown.count("N:a.example") < MOST_URLS and len(shown) < len(sent) + MOST_URLS * 2_000
    assert "/i" not in unquote(shown[-100:])


@pytest.mark.parametrize(
    "piece", ["<noscript>", "<style>", "<img srcset='", "<p style='url(", "<base href=x>", "<svg>"]
)
def test_markup_of_megabytes_ends(piece: str) -> None:
    """A quadratic form of any of these would not."""
    assert page(piece * (4_000_000 // len(piece)) + "'><img src=i>").count("a.example") <= 2
