import gzip
import io
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.recognise import Format, recognise
from tests.limits import cpu_limit

PNG = b"\x89PNG\r\n\x1a\n\x00\x00"
SITEMAP = b'<?xml version="1.0"?>\n<!-- made by hand -->\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
RSS = b'<?xml version="1.0"?><rss version="2.0"><channel>'
ATOM = b'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">'
RDF = b'<?xml version="1.0"?><rdf:RDF xmlns="http://purl.org/rss/1.0/">'
XHTML = b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd"><html xmlns="y">'


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "text")
    return out.getvalue()


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    return out.getvalue()


@pytest.mark.parametrize(
    ("content_type", "content", "expected"),
    [
        ("text/html; charset=utf-8", b"<!DOCTYPE html><p>", Format.HTML),
        ("TEXT/HTML", b"hello", Format.HTML),
        ("text/html", b"", Format.HTML),
        ("application/xhtml+xml", XHTML, Format.HTML),
        ("text/html", XHTML, Format.HTML),
        ("application/xml", XHTML, Format.HTML),
        # the bytes win where they are sure
        ("text/html", b"%PDF-1.7\n", Format.PDF),
        ("text/html", PNG, Format.IMAGE),
        ("text/plain", gzip.compress(b"x"), Format.GZIP),
        ("text/html", SITEMAP, Format.SITEMAP),
        ("text/html", RSS, Format.FEED),
        ("text/plain", SITEMAP, Format.SITEMAP),
        # the header wins where they are not
        ("text/plain", b"<!DOCTYPE html><p>", Format.TEXT),
        ("text/html", b"<feed>not a feed</feed>", Format.HTML),
        ("application/pdf", b"damaged", Format.PDF),
        ("image/png", b"damaged", Format.IMAGE),
        ("application/xml", SITEMAP, Format.SITEMAP),
        ("text/xml", b"\xef\xbb\xbf" + SITEMAP, Format.SITEMAP),
        ("text/xml", SITEMAP.replace(b"urlset", b"sm:urlset"), Format.SITEMAP),
        ("text/xml", b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]><sitemapindex>", Format.SITEMAP),
        ("application/xml", SITEMAP.decode().encode("utf-16"), Format.SITEMAP),
        ("application/xml", RSS, Format.FEED),
        ("application/atom+xml", ATOM, Format.FEED),
        ("application/rdf+xml", RDF, Format.FEED),
        ("application/rss+xml", b"", Format.FEED),
        ("application/xml", b"<?xml version='1.0'?><catalog>", Format.XML),
        ("image/svg+xml", b"<svg>", Format.SVG),
        ("application/json", b"{}", Format.JSON),
        ("application/ld+json", b"{}", Format.JSON),
        ("text/css", b"a{}", Format.CODE),
        ("text/javascript", b"1", Format.CODE),
        ("application/x-javascript", b"1", Format.CODE),
        ("video/mp4", b"", Format.MEDIA),
        ("font/woff2", b"", Format.OTHER),
        ("application/vnd.ms-excel", b"\xd0\xcf\x11\xe0", Format.OTHER),
        ("application/java-archive", _zip(), Format.ZIP),
        # lists of URLs
        ("text/plain", b"http://a/\r\nhttps://b/x?y=1\r\n\r\n", Format.URL_LIST),
        ("text/plain", b"\xef\xbb\xbfhttp://a/\n", Format.URL_LIST),
        ("text/plain", b"http://a/ is a nice page\n", Format.TEXT),
        ("text/plain", b"http://a/" + b"x" * 3000 + b"\nhttp://b/" + b"y" * 3000, Format.URL_LIST),
        ("text/plain", b"", Format.TEXT),
        # no header, or one that says nothing
        ("", b"\n  <!-- x --> <html>", Format.HTML),
        ("", b"<!doctype HTML><p>", Format.HTML),
        ("application/octet-stream", SITEMAP, Format.SITEMAP),
        ("application/octet-stream", b"<rss version='2.0'>", Format.FEED),
        ("", b"<?xml version='1.0'?><catalog>", Format.XML),
        ("", _zip(), Format.ZIP),
        ("", _tar(), Format.TAR),
        ("", b"just words\n", Format.TEXT),
        ("", b"words\x00and nul", Format.OTHER),
        ("", b"", Format.OTHER),
        ("nonsense", b"RIFF\x00\x00\x00\x00WEBPVP8 ", Format.IMAGE),
        ("", b"\x00\x00\x00\x18ftypmp42", Format.MEDIA),
        ("", b"\x00\x00\x00\x18ftypavif", Format.IMAGE),
    ],
)
def test_recognise_knows_the_format(content_type: str, content: bytes, expected: Format) -> None:
    assert recognise(content_type, content) is expected


@given(st.text(max_size=40), st.binary(max_size=400))
def test_recognise_takes_anything(content_type: str, content: bytes) -> None:
    assert recognise(content_type, content) in Format


@given(st.sampled_from([SITEMAP, RSS, XHTML, b"<!DOCTYPE html><p>", b"%PDF-1"]), st.binary(max_size=200))
def test_recognise_looks_at_the_head_only(head: bytes, tail: bytes) -> None:
    filler = b"<x/>" * 2000
    assert recognise("application/xml", head + filler + tail) is recognise("application/xml", head + filler)


def test_recognise_takes_linear_time_for_comments() -> None:
    """These 281 bytes held a gatherer for ever, then the next one that got them."""
    with cpu_limit(1.0):
        for count in (40, 400):
            assert recognise("", b"<!---->" * count + b"x") is Format.TEXT
            assert recognise("", b"<!----> \n" * count + b"<p>") is Format.HTML
