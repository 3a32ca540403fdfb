"""Everything that reads what a stranger wrote, each as a function of bytes, and the seeds of the inputs.

Not here: the main text by trafilatura, which takes tens of milliseconds a page and runs in a process that is ended
after 30 s.
"""

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from gcs.core.helpers.claims import Claim, summary_of
from gcs.core.messages import codec, seal
from gcs.core.messages.tuples import TUPLES, UrlTS
from gcs.core.page.recognise import recognise
from gcs.core.page.robots import Robots
from gcs.core.page.site_dates import kept_date, kept_moment, span_of, unavailable_after
from gcs.core.page.values import PageFacts, PageRecord, Request, Response
from gcs.core.polite.politeness import retry_after_s, seconds_of_date
from gcs.core.search.matching import matches
from gcs.core.search.query import day_of, parse, phrases
from gcs.core.search.searchable import MOST_TEXT, Searchable
from gcs.core.search.snippet import snippet
from gcs.core.search.words import words
from gcs.core.url.canonical import UrlRules, canonical
from gcs.core.url.join import Joiner
from gcs.core.url.sortkey import sort_key
from gcs.core.watch.text_change import text_change
from gcs.errors import CodecError, UsageError
from gcs.ports.fetch.http_message import ResponseHead, decode
from gcs.ports.frontier.url_rows import key_of
from gcs.ports.plugins import ReadPage
from gcs.ports.reader import _ELSEWHERE as ELSEWHERE
from gcs.ports.reader import Reader, Summarisers, gist
from gcs.ports.records import record_log
from gcs.ports.records.cdxj import surt
from gcs.ports.summarise import Depth, Options, Source
from gcs.ports.summarise.html import refresh_target, srcset_urls
from gcs.ports.summarise.requisites import requisites_of_css, requisites_of_html

SUITES = Path(__file__).parents[2] / ".." / "shared" / "suites"
URL = "http://h.test/a/b.html"
TYPES = (
    *("", "text/html", "text/plain", "text/xml", "application/rss+xml", "message/rfc822", "text/uri-list"),
    *(
        "application/zip",
        "application/x-tar",
        "application/gzip",
        "application/octet-stream",
        "text/html; charset=big5",
    ),
)
OPTIONS = Options(images=True, anchors=True, more_links=True)
_summarisers = Summarisers()
_reader = Reader(UrlRules(), _summarisers, OPTIONS, "links", heed=True)
_joiner = Joiner(memo_entries=1 << 12)
_errand = UrlTS("g0", "run", 1, URL, 30.0)


def _summarise(content_type: str, depth: Depth = "links") -> Callable[[bytes], object]:
    """A process of the text pool bears what a library raises; but not its hunger."""

    def read(data: bytes) -> object:
        source = Source(data, content_type, URL, depth, OPTIONS)
        document = _summarisers.read(source, here=True)
        if document is not ELSEWHERE:
            return document
        try:
            return _summarisers.read(source)
        except MemoryError:
            raise
        except Exception:
            return None

    return read


def _package(content_type: str, *names: str) -> Callable[[bytes], object]:
    """A format that is a zip file: the input is its parts, as damage to a zip file is found before they are read."""
    read = _summarise(content_type, "fast")

    def pack(data: bytes) -> object:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as package:
            for name, part in zip(names, data.split(PART, len(names) - 1), strict=False):
                package.writestr(name, part)
        return read(out.getvalue())

    return pack


def _tree(data: bytes) -> object:
    """What a plug-in may ask of a page."""
    response = Response(Request(URL), 200, "OK", "1.1", (("content-type", "text/html"),), data, data, b"", "", 0.0, 0.0)
    page = ReadPage(response, PageFacts())
    asked = page.css("div > a[href^='http']:not([rel~=nofollow]), td ~ td, li:nth-child(2n+1)")
    return asked, page.first("h1, title"), page.xpath("//a[@href]/text()"), page.xpath("string(//table[1]//td[last()])")


def _needs(data: bytes) -> object:
    """What a page or a style sheet needs to look like itself."""
    return requisites_of_html(data, "text/html", 1_000), requisites_of_css(data, "text/css", 1_000)


def _search(data: bytes) -> object:
    """A text as search, profiles and people see it: its words, an excerpt, what has changed."""
    text = data.decode("utf-8", "replace")[: MOST_TEXT // 2]
    old, new = text[: len(text) // 2], text[len(text) // 2 :]
    found = words(text)
    assert words(" ".join(found)) == found
    return snippet(text, list(phrases(parse("text OR \u4e2d OR wor*")))), text_change(old, new)


def _query(data: bytes) -> object:
    try:
        return matches(parse(data.decode("utf-8", "replace")), Searchable(URL, "h.test", "Title", "Text of a page"))
    except UsageError:
        return None


def _dates(data: bytes) -> object:
    text = data.decode("latin-1")
    kept = kept_date(text)
    assert kept_date(kept) == kept
    return span_of(kept), span_of(text), unavailable_after(text), day_of(text), kept_moment(seconds_of_date(text))


def _sealed(data: bytes) -> object:
    for key in (b"", b"key"):
        with suppress(seal.SealError):
            seal.Seal(key).open(data, seal.place_of("stream", data[:3], data[3:6]))
    return seal.bare(data)


def _any(data: bytes) -> object:
    content_type = TYPES[data[0] % len(TYPES)] if data else ""
    return recognise(content_type, data[1:]), _summarise(content_type)(data[1:])


def _response(data: bytes) -> object:
    head, _, body = data.partition(b"\n\n")
    fields = (line.decode("latin-1").partition(":") for line in head.split(b"\n"))
    headers = tuple((name, value.strip()) for name, _, value in fields)
    response = Response(Request(URL), 200, "OK", "1.1", headers, body, body, b"", "", 0.0, 0.0)
    facts = _reader.read(response)
    return facts, _reader.redirect_target(response), gist(facts)


def _robots(data: bytes) -> object:
    robots = Robots.parse(data, "gcs/1.0")
    assert Robots.decode(robots.encode()) == robots
    return [robots.allows(f"http://h.test{path}") for path in ("/", "/a/b?c=%E9", "/" + "a" * 500)]


def _head(data: bytes) -> object:
    text = data.decode("latin-1")
    retry_after_s(text, text), seconds_of_date(text), refresh_target(text), list(srcset_urls(text))
    try:
        return ResponseHead([data])
    except ValueError:
        return None


def _coding(data: bytes) -> object:
    coding = ("gzip", "deflate", "br", "zstd", "gzip, gzip")[data[0] % 5] if data else ""
    try:
        return decode(data[1:], coding, 1 << 20)
    except CodecError:
        return None


def _url(data: bytes) -> object:
    text = data.decode("utf-8", "surrogateescape")
    urls = [*_joiner.join(URL, text.split("\n")), *filter(None, [canonical(text)])]
    return [(surt(url), sort_key(url), key_of(url)) for url in urls if len(url) <= 2_000]


def _tuple(data: bytes) -> object:
    try:
        return codec.encode(codec.decode(data))
    except CodecError:
        return None


def _plan(data: bytes) -> object:
    try:
        return codec.unpack(dict, 1, data)
    except CodecError:
        return None


def _claim(data: bytes) -> object:
    try:
        claim = msgspec.json.decode(data, type=Claim)
        return summary_of(claim, _errand, "helper", trusted=False, joiner=_joiner, text=True, heed=True, now=0.0)
    except (msgspec.MsgspecError, ValueError):
        return None


def _log(data: bytes) -> object:
    try:
        return [record_log.exchange_of(frame) for frame in record_log.frames_of(io.BytesIO(data))]
    except CodecError:
        return None


#: between the parts of a package
PART = b"\x1d\x1d"
_OOXML = "application/vnd.openxmlformats-officedocument"
_WORKBOOK = ("xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/s.xml", "xl/sharedStrings.xml", "docProps/core.xml")
_SLIDES = ("ppt/presentation.xml", "ppt/_rels/presentation.xml.rels", "ppt/s.xml", "ppt/_rels/s.xml.rels")

READERS: dict[str, Callable[[bytes], object]] = {
    "any": _any,
    "html": _summarise("text/html"),
    "html-text": _summarise("text/html", "fast"),
    "xml": _summarise("text/xml"),
    "feed": _summarise("application/rss+xml", "fast"),
    "url-list": _summarise("text/plain"),
    "mail": _summarise("message/rfc822", "fast"),
    "zip": _summarise("application/zip"),
    "tar": _summarise("application/x-tar"),
    "docx": _package(
        f"{_OOXML}.wordprocessingml.document", "word/document.xml", "word/_rels/document.xml.rels", "docProps/core.xml"
    ),
    "xlsx": _package(f"{_OOXML}.spreadsheetml.sheet", *_WORKBOOK),
    "pptx": _package(f"{_OOXML}.presentationml.presentation", *_SLIDES),
    "odt": _package("application/vnd.oasis.opendocument.text", "content.xml", "meta.xml"),
    "epub": _package("application/epub+zip", "META-INF/container.xml", "c.opf", "1.html"),
    "rtf": _summarise("application/rtf", "fast"),
    "csv": _summarise("text/csv", "fast"),
    "markdown": _summarise("text/markdown", "fast"),
    "json": _summarise("application/json", "fast"),
    "svg": _summarise("image/svg+xml", "fast"),
    "mhtml": _summarise("multipart/related", "fast"),
    "pdf": _summarise("application/pdf", "fast"),
    "image": _summarise("image/png", "fast"),
    "media": _summarise("video/mp4", "fast"),
    "tree": _tree,
    "requisites": _needs,
    "search": _search,
    "query": _query,
    "dates": _dates,
    "response": _response,
    "robots": _robots,
    "head": _head,
    "coding": _coding,
    "url": _url,
    "tuple": _tuple,
    "seal": _sealed,
    "plan": _plan,
    "claim": _claim,
    "log": _log,
}

#: words of all formats: what a mutation puts in
WORDS = (
    b"<p>|<b a=1>|<font color=2>|<div>|</div>|<svg>|<math>|<title>|<table>|<td>|<select>|<template>|"
    b"<a href=x>|<base href=/>|"
    b"<meta http-equiv=refresh content='1;url=x'>|<link rel=alternate href=y type=' '>|"
    b"<img srcset='a 1x,'>|<!--|-->|<![CDATA[|"
    b"]]>|<?xml version='1.0' encoding='x'?>|<!DOCTYPE html>|<script>|</script>|<style>|<urlset>|<url>"
    b"<loc>http://h.test/|"
    b"</loc></url>|<rss><channel>|<item><link>|&#55296;|&#x10FFFF;|&amp;|&nbsp;|&|=|;|:| |\t|\n|\r\n|\n\n|"
    b"\0|\x0b|\x1c|\xff\xfe|\xef\xbb\xbf|"
    b"\xc3\xa9|\xed\xa0\x80|%|%2e|%25|..|/|//|?|#|@|*|$|User-agent: *|Disallow: /|Allow: /*a|Sitemap: |Crawl-delay: 1|"
    b"Subject: =?utf-8?q?x?=|Content-Type: multipart/mixed; boundary=x|--x|"
    b"Content-Type: text/html; charset=|X-Robots-Tag: |"
    b"Retry-After: 1|Location: /|HTTP/1.1 200 OK|Wed, 21 Oct 2015 07:28:00 GMT|http://|https://h.test/|"
    b";jsessionid=|utm_x=|"
    b"(S(abcdefghijklmnopqrstuvwx))/|PK\x03\x04|PK\x01\x02|PK\x05\x06|\x1f\x8b\x08|ustar|BZh9|\xfd7zXZ\0|"
    b"\x81|\xdf|\xc1|\xdd\xff\xff\xff\xff|\x1d\x1d|{\\rtf1 |{\\info{\\title |\\par|\\u1 ?|\\'e9|"
    b"{\\field{\\*\\fldinst HYPERLINK "
    b'|{"a":[|]}|,"b":1e9|%PDF-1.4\n|1 0 obj<<|>>endobj\n|stream\n|endstream|\xff\xd8\xff|'
    b"\x89PNG\r\n\x1a\n|IHDR|GIF89a|RIFF|"
    b"ftyp|moov|mvhd|ID3|OggS\0|fLaC\0|\x1aE\xdf\xa3|\xff\xfb\x90|<w:p>|<w:t>|<row>|<c t='s'><v>0</v></c>|"
    b"<si><t>|<sheet "
    b"|<Relationship Id='r' Type='a/hyperlink' Target='http://h.test/' TargetMode='External'/>|xmlns:a='b' |<text:p>|"
    b"<item id='1' href='1.html' media-type='application/xhtml+xml'/>|<itemref idref='1'/>|"
    b"Content-Location: http://h.test/\n|&amp;#|&#|0x|-|<meta name=date content='|<meta name=keywords content='|"
    b"@import |url(|/*|*/|<style>|<link rel=stylesheet href=|\xcc\xa7|\xcc\x81|\xef\xb7\xba|\xef\xbe\x9e|title:|"
    b"date:>=|..|OR |site:|unavailable_after: |<script type='application/ld+json'>{|"
    b"<a href=x rel='nofollow ugc'>|Link: </a>; rel=next|1 jan -1 10:00:00-0000"
).split(b"|")
#: more digits than Python makes an int of
WORDS = (*WORDS, b"1" * 5_000, b"&#" + b"0" * 5_000 + b"65;")


def seeds() -> dict[str, list[bytes]]:
    """The inputs from which others are made: small, those of each reader, and under "" those of none."""
    page = (
        b"<!DOCTYPE html><html lang=en><head><title>T</title><base href='/x/'><meta name=robots content=noindex></head>"
    )
    body = b"<body><p>Text. More! <a href='y?z=1#f'>link</a><table><tr><td>cell<img src=i srcset='a 1x, b 2x'></table>"
    frames = b"<frameset><noframes><a href=n></noframes></frameset><embed src=e><object data=o><option value='/v'>"
    sitemap = (
        b"<?xml version='1.0'?><urlset><url><loc>http://h.test/1</loc></url><url><loc>http://h.test/2</loc>"
        b"</url></urlset>"
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nRetry-After: 120\r\n\r\n"
    record = PageRecord(url=URL, parent="", depth=0, status=200, fetched_at=0.0, gatherer="g0", outlinks=[URL])
    payload = b"P" + msgspec.msgpack.encode([getattr(record, name) for name in record_log.COLUMNS])
    packed = b"\x01" + zlib.compress(msgspec.msgpack.encode({"a": [1, 2, "x" * 50]}))
    made = {
        **{key: [page + body, frames] for key in ("html", "html-text", "tree")},
        "requisites": [
            b"<link rel=stylesheet href=a.css><style>@import 'b.css'; p{background:url(c.png)}</style><img src=d><p "
            b"style='background:url(e)'><svg><image href=f /></svg>",
            b"/* a */ @import url(\"b.css\"); @font-face{src:url('c.woff2')} p{background:url( d.png )}",
        ],
        "search": ["Some words of a text. Caf\u00e9 \u4e2d\u6587 e\u0327\u0301.\nSome words of a text!".encode()],
        "query": [
            b'crawler "tuple space" crawl* -draft (a OR title:b) site:h.test date:2024-05..2024 depth:<=2 lang:en'
        ],
        "dates": [b"2024-05-04T08:00:00+02:00", b"unavailable_after: Wed, 21 Oct 2015 07:28:00 GMT", b"2024-05"],
        "any": [b"\1" + page + body, b"\3" + sitemap],
        "xml": [sitemap],
        "feed": [
            b"<rss><channel><title>t</title><item><link>http://h.test/3</link><description>d &amp; e</description>"
            b"</item></channel></rss>"
        ],
        "mail": [
            b"Subject: =?utf-8?q?a?=\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n"
            b"\n<a href=q>\n--x--\n"
        ],
        "zip": [_archive(page, is_zip=True)],
        "tar": [_archive(page, is_zip=False)],
        "response": [b"Content-Type: text/html\nX-Robots-Tag: gcs: nofollow\nLocation: ../c\n\n" + page + body],
        "robots": [b"User-agent: *\nDisallow: /private\nAllow: /a*b$\nCrawl-delay: 2\nSitemap: /s.xml\n"],
        "head": [head],
        "coding": [b"\x00" + zlib.compress(page, wbits=31), b"\x01" + zlib.compress(page)],
        "url": [
            b"http://h.test/a/../b?utm_source=x&sid=1\n//k.test/\n../c;jsessionid=1\nhttps://user@h.test:8443/%7Ea\n"
        ],
        "claim": [
            msgspec.json.encode(Claim(id="g0/run/1", url=URL, status=200, hrefs=["a", "b"], title="t", text="x"))
        ],
        "plan": [packed],
        "log": [record_log.FRAME_HEAD.pack(len(payload), record_log.crc32(payload)) + payload],
        "tuple": [codec.encode(_errand), *(bytes((kind.code, kind.version)) + b"\x90" for kind in TUPLES)],
        "seal": [seal.Seal(b"key").close(codec.encode(_errand), seal.place_of("stream", b"a", b"b"))],
        **_documents(),
    }
    if SUITES.exists():
        files = [path for path in sorted(SUITES.rglob("*")) if path.is_file() and path.stat().st_size <= 8_192]
        made[""] = [path.read_bytes() for path in files[::4]]
    return made


def _documents() -> dict[str, list[bytes]]:
    """One or more for each format; those that are zip files as parts of theirs."""
    rels = b"<Relationships><Relationship Id='r1' Type='http://x/%b' Target='s.xml'/></Relationships>"
    office = b"xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'"
    properties = b"<cp><dc:title xmlns:dc='d'>Title</dc:title><dc:language xmlns:dc='d'>en</dc:language></cp>"
    docx = (
        b"<w:document xmlns:w='w'><w:p><w:r><w:t>Words</w:t><w:tab/></w:r></w:p></w:document>",
        rels % b"hyperlink",
        properties,
    )
    xlsx = (
        b"<workbook %b><sheets><sheet name='a' r:id='r1'/></sheets></workbook>" % office,
        rels % b"worksheet",
        b"<worksheet><row><c t='s'><v>0</v></c><c><v>7</v></c><c t='inlineStr'><t>x</t></c></row></worksheet>",
        b"<sst><si><t>Name</t></si></sst>",
        properties,
    )
    pptx = (
        b"<p:presentation %b><p:sldId xmlns:p='p' r:id='r1'/></p:presentation>" % office,
        rels % b"slide",
        b"<sld><p><t>Slide</t></p></sld>",
        rels % b"notesSlide",
    )
    odt = (b"<d><h>Head</h><table-row><table-cell><p>x</p></table-cell></table-row></d>", properties)
    epub = (
        b"<container><rootfile full-path='c.opf'/></container>",
        b"<package><item id='1' href='1.html' media-type='application/xhtml+xml'/><itemref idref='1'/></package>",
        b"<html><body><p>Chapter <a href='http://h.test/'>one</a></p></body></html>",
    )
    sound = b"\xff\xfb\x90\x00" + bytes(200)
    movie = struct.pack(">I4s", 108, b"mvhd") + bytes(12) + struct.pack(">II", 1_000, 9_000) + bytes(80)
    return {
        "docx": [PART.join(docx)],
        "xlsx": [PART.join(xlsx)],
        "pptx": [PART.join(pptx)],
        "odt": [PART.join(odt)],
        "epub": [PART.join(epub)],
        "rtf": [
            rb"{\rtf1\ansi\ansicpg1251{\info{\title T}}A\par\u1052?\'cc{\field{\*\fldinst HYPERLINK "
            rb'"http://h.test/"}}}'
        ],
        "csv": [b'a;b\n1;"two, 2"\n'],
        "markdown": [
            b"---\ntitle: t\n---\n# H #\n[a](b.md 'c') <http://h.test/> `x`\n```\ncode\n```\n[r]: /r\n",
        ],
        "json": [b'{"version": "https://jsonfeed.org/version/1", "title": "t", "items": [{"url": "http://h.test/1"}]}'],
        "svg": [
            b"<svg xmlns='http://www.w3.org/2000/svg'><title>T</title><desc>D</desc>"
            b"<a href='b.svg'><text>x</text></a></svg>"
        ],
        "mhtml": [
            b"From: x\nContent-Type: multipart/related; boundary=x\n\n--x\nContent-Type: text/html\n"
            b"Content-Location: http://h.test/a\n\n<a href=q>q</a>\n--x--\n"
        ],
        "pdf": [
            b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
            b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Annots[<</Type/Annot/Subtype/Link"
            b"/Rect[0 0 9 9]/A<</S/URI/URI(http://h.test/)>>>>]>>endobj\n4 0 obj<</Length 30>>stream\n"
            b"BT /F1 9 Tf (Words) Tj ET\nendstream endobj\ntrailer<</Root 1 0 R>>\n"
        ],
        "image": [
            b"GIF89a\2\0\2\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\2\0\2\0\0\2\2\x84Q\0;",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9cc`\0\0\0\2\0\1"
            b"H\xaf\xa4q\0\0\0\0IEND\xaeB`\x82",
        ],
        "media": [
            b"ID3\3\0\0\0\0\0\x0cTIT2\0\0\0\2\0\0\0a" + sound * 3,
            b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\x10\0\0\0" + bytes(16),
            struct.pack(">I4s8s", 16, b"ftyp", b"isom") + struct.pack(">I4s", 8 + len(movie), b"moov") + movie,
            bytes.fromhex("1A45DFA380" + "18538067A0" + "1549A96690" + "2AD7B1830F4240" + "4489844700") + bytes(30),
        ],
    }


def _archive(page: bytes, *, is_zip: bool) -> bytes:
    file = io.BytesIO()
    if is_zip:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.html", page)
    else:
        with tarfile.open(fileobj=file, mode="w") as archive:
            info = tarfile.TarInfo("a.html")
            info.size = len(page)
            archive.addfile(info, io.BytesIO(page))
    return file.getvalue()
