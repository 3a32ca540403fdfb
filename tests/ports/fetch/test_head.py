"""Message heads: what is composed, and what is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Request
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.head import RequestHead, ResponseHead, conditions, reject


def lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


def test_request_head_leaves_out_what_is_empty() -> None:
    head = RequestHead(FetchSettings(accept="", headers=("X-Empty:",))).compose(Request("https://h.example/"))
    assert head == b"GET / HTTP/1.1\r\nHost: h.example\r\nAccept-Encoding: gzip, deflate\r\n\r\n"


@pytest.mark.parametrize(
    ("proxy", "url", "target"),
    [
        ("http://p:1", "http://h.example:8080/a?b", "http://h.example:8080/a?b"),
        ("http://p:1", "https://h.example/a?b", "/a?b"),
        ("socks5h://p:1", "http://h.example/a", "/a"),
        (None, "http://h.example/a//b/?c=/d", "/a//b/?c=/d"),
    ],
)
def test_request_head_names_what_its_reader_needs(proxy: str | None, url: str, target: str) -> None:
    head = RequestHead(FetchSettings(proxy=proxy)).compose(Request(url))
    assert head.split(b"\r\n")[0] == f"GET {target} HTTP/1.1".encode()


@given(st.text(max_size=20), st.text(max_size=20))
def test_conditions_cannot_smuggle_a_header(etag: str, date: str) -> None:
    head = RequestHead(FetchSettings()).compose(Request("http://h/", etag, date))
    assert head.count(b"\r\n") == head.count(b"\n") == head.count(b"\r")
    assert head.count(b"\r\n") == RequestHead(FetchSettings()).compose(Request("http://h/")).count(b"\r\n") + len(
        conditions(Request("http://h/", etag, date))
    )


def test_response_head_is_that_of_the_final_answer() -> None:
    head = ResponseHead(
        lines(b"HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/2 404 \r\nC:d \r\nC: e\r\n\r\nTrailer: f\r\n\r\n")
    )
    assert (head.version, head.status, head.reason) == ("2", 404, "")
    assert head.headers == (("C", "d"), ("C", "e"))


@pytest.mark.parametrize(
    ("fields", "coding"),
    [
        (b"", ""),
        (b"content-encoding: gzip\r\n", "gzip"),
        (b"Content-Encoding:deflate\r\nX: y\r\nCONTENT-ENCODING: gzip\r\n", "deflate,gzip"),
        (b"Content-Languages: en\r\n", ""),
    ],
)
def test_response_head_knows_its_content_coding(fields: bytes, coding: str) -> None:
    assert ResponseHead(lines(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")).coding == coding


@given(st.lists(st.binary(max_size=30), max_size=8))
def test_response_head_of_anything_is_read_or_a_value_error(parts: list[bytes]) -> None:
    try:
        head = ResponseHead([b"HTTP/1.1 200 OK\r\n", *parts, b"\r\n"])
    except ValueError:
        return
    assert isinstance(head.status, int)


@pytest.mark.parametrize("url", ["http://h/", "https://[::1]:8080/a?b=%20", "http://xn--bcher-kva.example/~x/;y"])
def test_canonical_url_is_not_rejected(url: str) -> None:
    assert reject(url) is None


@pytest.mark.parametrize(
    "url", ["", "h", "http://", "http://h", "http://h?x", "ws://h/", "http://u@h/", "http://h/#x", "http://h/\x7f"]
)
def test_other_url_is_rejected(url: str) -> None:
    assert reject(url) is not None
