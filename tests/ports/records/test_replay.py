"""pywb, given our WARC files and our index, serves the pages as they were."""

import http.client
import random
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store

from .pages import STARTED_AT, record, response
from .replay import collect, serving

PAGE = b"<html><body>The page.</body></html>"
GZIPPED = zlib.compress(PAGE, wbits=31)
BINARY = random.Random(9).randbytes(200_000)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with all that is peculiar, laid out as a collection of pywb."""
    crawl = tmp_path_factory.mktemp("crawl")
    html = ("Content-Type", "text/html")
    exchanges = [
        response("http://www.example.com/page/", PAGE),
        response("http://example.com/copy?z=1&a=2", PAGE, started_at=STARTED_AT + 5),
        response("http://example.com/chunked", b"<p>chunks", headers=(html, ("Transfer-Encoding", "chunked"))),
        response("http://example.com/zipped", GZIPPED, headers=(html, ("Content-Encoding", "gzip"))),
        response(
            "http://example.com/two", b"<p>two", http_version="2", reason="", headers=(("content-type", "text/html"),)
        ),
        response("http://example.com/moved", b"", status=301, headers=(("Location", "http://example.com/page"),)),
        response("http://example.com/gone", b"<p>gone", status=404, reason="Not Found"),
        response("http://example.com/binary", BINARY, headers=(("Content-Type", "application/octet-stream"),)),
        response("http://www.example.com/page/", b"", status=304, reason="", started_at=STARTED_AT + 60),
    ]
    with Store.open(crawl, StoreSettings(warc_bytes=2_000), "g1") as store:
        store.fetched(response("http://example.com/robots.txt", b"User-agent: *", headers=()))
        for answer in exchanges:
            store.add_page(record(answer.request.url), answer)
            store.sync()
        store.finish()
    root = tmp_path_factory.mktemp("pywb")
    collect(root, "crawl", crawl)
    return root


@pytest.fixture(scope="module")
def wayback(archive: Path) -> Iterator[int]:
    """The port of a pywb that serves the archive."""
    with serving(archive) as port:
        yield port


def replayed(port: int, url: str, mode: str = "id_") -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/crawl/20251009085325{mode}/{url}")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


@pytest.mark.parametrize(
    ("url", "status", "body"),
    [
        ("http://www.example.com/page/", 200, PAGE),
        ("http://example.com/copy?z=1&a=2", 200, PAGE),
        ("http://example.com/chunked", 200, b"<p>chunks"),
        ("http://example.com/zipped", 200, PAGE),
        ("http://example.com/two", 200, b"<p>two"),
        ("http://example.com/gone", 404, b"<p>gone"),
        ("http://example.com/binary", 200, BINARY),
        ("http://example.com/robots.txt", 200, b"User-agent: *"),
    ],
)
def test_pywb_replays_what_was_stored(wayback: int, url: str, status: int, body: bytes) -> None:
    assert replayed(wayback, url)[::2] == (status, body)


def test_pywb_replays_a_redirect(wayback: int) -> None:
    status, headers, _ = replayed(wayback, "http://example.com/moved")
    assert (status, headers["location"]) == (301, "http://example.com/page")


def test_pywb_rewrites_a_page_for_the_browser(wayback: int) -> None:
    status, headers, body = replayed(wayback, "http://example.com/zipped", "mp_")
    assert status == 200
    assert b"The page." in body
    assert headers["memento-datetime"] == "Thu, 09 Oct 2025 08:53:20 GMT"


def test_pywb_replays_the_copy_that_a_304_confirmed(wayback: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", wayback, timeout=30)
    connection.request("GET", "/crawl/20251009085420id_/http://www.example.com/page/")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, PAGE)
    connection.close()
