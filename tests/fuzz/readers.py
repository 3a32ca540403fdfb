"""Everything that reads what a stranger wrote, each as a function of bytes, and the seeds of the inputs."""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from gcs.core.helpers.claims import Claim, summary_of
from gcs.core.messages import codec
from gcs.core.messages.tuples import TUPLES, UrlTS
from gcs.core.page.recognise import recognise
from gcs.core.page.robots import Robots
from gcs.core.page.values import PageRecord, Request, Response
from gcs.core.polite.politeness import retry_after_s, seconds_of_date
from gcs.core.url.canonical import UrlRules, canonical
from gcs.core.url.join import Joiner
from gcs.core.url.sortkey import sort_key
from gcs.errors import CodecError
from gcs.ports.fetch.http_message import ResponseHead, decode
from gcs.ports.frontier.url_rows import key_of
from gcs.ports.reader import Reader, Summarisers, gist
from gcs.ports.records import record_log
from gcs.ports.records.cdxj import surt
from gcs.ports.summarise import Depth, Options, Source
from gcs.ports.summarise.html import refresh_target, srcset_urls

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
OPTIONS = Options(images=True)
_summarisers = Summarisers()
_reader = Reader(UrlRules(), _summarisers, OPTIONS, "links", heed=True)
_joiner = Joiner(memo_entries=1 << 12)
_errand = UrlTS("g0", "run", 1, URL, 30.0)


def _summarise(content_type: str, depth: Depth = "links") -> Callable[[bytes], object]:
    return lambda data: _summarisers.read(Source(data, content_type, URL, depth, OPTIONS))


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
    "response": _response,
    "robots": _robots,
    "head": _head,
    "coding": _coding,
    "url": _url,
    "tuple": _tuple,
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
    b"\x81|\xdf|\xc1|\xdd\xff\xff\xff\xff"
).split(b"|")


def seeds() -> list[bytes]:
    """The inputs from which others are made: small, one or more for each reader."""
    page = (
        b"<!DOCTYPE html><html lang=en><head><title>T</title><base href='/x/'><meta name=robots content=noindex></head>"
    )
    body = b"<body><p>Text. More! <a href='y?z=1#f'>link</a><table><tr><td>cell<img src=i srcset='a 1x, b 2x'></table>"
    made = [
        page + body,
        b"Content-Type: text/html\nX-Robots-Tag: gcs: nofollow\nLocation: ../c\n\n" + page + body,
        b"<?xml version='1.0'?><urlset><url><loc>http://h.test/1</loc></url><url><loc>http://h.test/2</loc>"
        b"</url></urlset>",
        b"<rss><channel><title>t</title><item><link>http://h.test/3</link><description>d &amp; e</description>"
        b"</item></channel></rss>",
        b"User-agent: *\nDisallow: /private\nAllow: /a*b$\nCrawl-delay: 2\nSitemap: /s.xml\n",
        b"Subject: =?utf-8?q?a?=\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n"
        b"\n<a href=q>\n--x--\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nRetry-After: 120\r\n\r\n",
        b"http://h.test/a/../b?utm_source=x&sid=1\n//k.test/\n../c;jsessionid=1\nhttps://user@h.test:8443/%7Ea\n",
        msgspec.json.encode(Claim(id="g0/run/1", url=URL, status=200, hrefs=["a", "b"], title="t", text="x")),
        b"\x01" + zlib.compress(msgspec.msgpack.encode({"a": [1, 2, "x" * 50]})),
        b"\x00" + zlib.compress(page, wbits=31),
        b"\x01" + zlib.compress(page),
    ]
    record = PageRecord(url=URL, parent="", depth=0, status=200, fetched_at=0.0, gatherer="g0", outlinks=[URL])
    payload = b"P" + msgspec.msgpack.encode([getattr(record, name) for name in record_log.COLUMNS])
    made.append(record_log.FRAME_HEAD.pack(len(payload), record_log.crc32(payload)) + payload)
    made.append(codec.encode(_errand))
    made += [bytes((kind.code, kind.version)) + b"\x90" for kind in TUPLES]
    for archive in (io.BytesIO(), io.BytesIO()):
        made.append(_archive(archive, page, is_zip=len(made) % 2 == 0))
    if SUITES.exists():
        files = [path for path in sorted(SUITES.rglob("*")) if path.is_file() and path.stat().st_size <= 8_192]
        made += [path.read_bytes() for path in files[::4]]
    return made


def _archive(file: io.BytesIO, page: bytes, is_zip: bool) -> bytes:
    if is_zip:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.html", page)
    else:
        with tarfile.open(fileobj=file, mode="w") as archive:
            info = tarfile.TarInfo("a.html")
            info.size = len(page)
            archive.addfile(info, io.BytesIO(page))
    return file.getvalue()
