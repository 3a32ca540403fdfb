"""What a page needs to look like itself, as it is written there."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.ports.summarise.requisites import requisites_of_css, requisites_of_html


def of_html(markup: str, most: int = 500) -> list[str]:
    return requisites_of_html(markup.encode(), "text/html; charset=utf-8", most).hrefs


def of_css(style: str) -> list[str]:
    return requisites_of_css(style.encode(), "text/css", 500).hrefs


@pytest.mark.parametrize(
    ("markup", "hrefs"),
    [
        ('<link rel=stylesheet href=a.css><link rel="shortcut icon" href=i.png>', ["a.css", "i.png"]),
        ("<link rel=next href=2.html><link rel=canonical href=c><a href=x>", []),
        ("<script src=s.js></script><script>var x='url(no.png)'</script>", ["s.js"]),
        ('<img src=a.png srcset="b.png 2x, c.png 3x"><img data-src=late.png>', ["a.png", "b.png", "c.png", "late.png"]),
        ('<picture><source srcset="w.webp 1x"><img src=w.png></picture>', ["w.webp", "w.png"]),
        ("<video src=film.mp4 poster=p.jpg></video><audio src=a.mp3></audio>", ["p.jpg"]),
        ("<iframe src=//video.example/1></iframe><object data=o.svg></object>", ["//video.example/1", "o.svg"]),
        ("<svg><image href=v.png /><use xlink:href='u.svg#one'/><use href='#here'/></svg>", ["v.png", "u.svg#one"]),
        ("<body background=back.png><p style=\"background:url('q.png')\">", ["back.png", "q.png"]),
        ("<style>@import 'm.css'; p{background:url(n.png)} /* url(no.png) */</style>", ["m.css", "n.png"]),
        ("<img src='data:image/png;base64,AA'><img src=''><iframe src='about:blank'></iframe>", []),
        ("<img src=a.png><img src=a.png>", ["a.png"]),
    ],
)
def test_html_needs(markup: str, hrefs: list[str]) -> None:
    assert of_html(f"<!doctype html><html>{markup}") == hrefs


def test_base_of_a_page_is_told() -> None:
    assert requisites_of_html(b"<base href='/static/'><img src=a.png>", "text/html", 9).base == "/static/"


def test_css_needs_imports_fonts_and_images() -> None:
    style = """@charset "utf-8"; @import url("one.css") screen; @import 'two.css';
    @font-face { src: url(f.woff2) format("woff2"), url( 'f.woff' ) }
    a { background: url(  i.svg  ) } /* url(no) */ b { content: "url(" } c { background: url(data:x) }"""
    assert of_css(style) == ["one.css", "two.css", "f.woff2", "f.woff", "i.svg"]


def test_number_is_bounded() -> None:
    assert of_html("".join(f"<img src={n}.png>" for n in range(100)), most=3) == ["0.png", "1.png", "2.png"]


@given(st.binary(max_size=2000))
def test_any_bytes_are_read(content: bytes) -> None:
    requisites_of_html(b"<html><style>" + content, "", 10)
    requisites_of_css(content, "", 10)


def test_styles_that_stand_in_one_another_are_read_once() -> None:
    """In a drawing each has the text of all in it: 4 MB took 600 MB."""
    page = b"<svg>" + b"<style>" * 200 + b"a" * (1 << 20)
    requisites_of_html(page, "text/html", 100)
    tracemalloc.start()
    requisites_of_html(page, "text/html", 100)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 40 << 20
