"""Message heads: what is composed, and what is read. Content codings: what comes out, what is overlooked, and what a
bomb costs.
"""

import gzip
import resource
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import FailureKind, Request, Response
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.http_message import (
    ContentError,
    RequestHead,
    ResponseHead,
    decode,
    folded,
    own_headers,
    readable,
    reject,
    unfolded,
)

PAGE = " ".join(f"word{n}" for n in range(5000)).encode()
LIMIT = 1 << 20


def lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


@pytest.mark.parametrize("fields", [[("Content-Encoding", "gzip")], [("content-encoding", "x"), ("Vary", "a")], []])
def test_content_of_a_response_that_waits_can_be_made_again(fields: list[tuple[str, str]]) -> None:
    content = bytes(3 << 20)
    body = gzip.compress(content) if len(fields) == 1 else content
    response = Response(Request("http://h/"), 200, "", "1.1", tuple(fields), body, content, b"", "", 0.0, 0.0)
    waiting = folded(response)
    assert len(waiting.content) == (0 if len(fields) == 1 else len(content))
    assert unfolded(waiting, 4 << 20) == response
    assert len(unfolded(waiting, 1 << 20).content) == (1 << 20 if len(fields) == 1 else len(content))


def test_request_head_leaves_out_what_is_empty() -> None:
    head = RequestHead(FetchSettings(accept="", headers=("X-Empty:",))).compose(Request("https://h.example/"))
    assert head == b"GET / HTTP/1.1\r\nHost: h.example\r\nAccept-Encoding: gzip, br, zstd\r\n\r\n"


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
        own_headers(Request("http://h/", etag, date))
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


# -- content codings


def coded(data: bytes, wbits: int) -> bytes:
    stream = zlib.compressobj(wbits=wbits)
    return stream.compress(data) + stream.flush()


@given(st.binary(max_size=5000), st.sampled_from([("gzip", 31), ("x-gzip", 31), ("deflate", 15), ("Deflate", -15)]))
def test_decode_undoes_the_coding(data: bytes, how: tuple[str, int]) -> None:
    assert decode(coded(data, how[1]), how[0], LIMIT) == data


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=8))
def test_decode_joins_the_members_of_gzip(parts: list[bytes]) -> None:
    assert decode(b"".join(map(gzip.compress, parts)), "gzip", LIMIT) == b"".join(parts)


def test_decode_reads_members_that_lie_across_slices() -> None:
    parts = [bytes([n % 256]) * 7 + str(n).encode() for n in range(5000)]
    body = b"".join(map(gzip.compress, parts))
    assert len(body) > 100_000
    assert decode(body, "gzip", LIMIT) == b"".join(parts)


@pytest.mark.parametrize("coding", ["", "identity", "none", "UTF-8", "identity, utf-8", " , ", "aws-chunked"])
def test_decode_leaves_a_body_without_coding_as_it_is(coding: str) -> None:
    assert decode(PAGE, coding, LIMIT) is PAGE


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "made-up"])
def test_decode_of_nothing_is_nothing(coding: str) -> None:
    """An answer without a body may well name a coding."""
    assert decode(b"", coding, LIMIT) == b""


def test_decode_undoes_codings_last_first() -> None:
    assert decode(zlib.compress(gzip.compress(PAGE)), "gzip, identity, deflate", LIMIT) == PAGE


@pytest.mark.parametrize(("coding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_decode_keeps_what_a_stream_cut_short_held(coding: str, wbits: int, share: float) -> None:
    body = coded(PAGE, wbits)
    content = decode(body[: int(len(body) * share)], coding, LIMIT)
    assert PAGE.startswith(content)
    assert len(content) > len(PAGE) * share * 0.7


@pytest.mark.parametrize(("coding", "wbits"), [("gzip", 31), ("deflate", 15)])
def test_decode_overlooks_a_wrong_check_sum(coding: str, wbits: int) -> None:
    body = coded(PAGE, wbits)
    assert decode(body[:-8] + b"\0" * 8 if wbits == 31 else body[:-4] + b"\0" * 4, coding, LIMIT) == PAGE


@pytest.mark.parametrize("tail", [b"\0" * 100, b"<!-- cached -->", b"\x1f\x8b and no member", b"\x1f"])
def test_decode_overlooks_bytes_after_the_end(tail: bytes) -> None:
    assert decode(gzip.compress(PAGE) + tail, "gzip", LIMIT) == PAGE


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (b"<html>not compressed", "gzip"),
        (b"<html>not compressed", "deflate"),
        (b"\x1f\x8b", "gzip"),
        (gzip.compress(PAGE)[:12], "gzip"),
        (zlib.compress(PAGE), "gzip"),
        (PAGE, "rot13"),
        (PAGE, "gzip, rot13"),
        (PAGE, "gzip, gzip, gzip, gzip"),
        (b"\xff" * 100, "br"),
        (b"\xff" * 100, "zstd"),
    ],
)
def test_decode_refuses_what_it_cannot_read(body: bytes, coding: str) -> None:
    with pytest.raises(ContentError) as caught:
        decode(body, coding, LIMIT)
    assert caught.value.kind is FailureKind.ENCODING


@given(st.binary(max_size=400), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, deflate"]))
def test_decode_of_anything_is_content_or_an_error(body: bytes, coding: str) -> None:
    try:
        assert len(decode(body, coding, LIMIT)) <= LIMIT
    except ContentError as error:
        assert "\n" not in str(error)


BOMB_BYTES = 30_000_000


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (gzip.compress(b"\0" * BOMB_BYTES), "gzip"),
        (gzip.compress(b"x") + gzip.compress(b"\0" * BOMB_BYTES), "gzip"),
        (gzip.compress(b"\0" * (LIMIT - 5)) * 2, "gzip"),
        (zlib.compress(b"\0" * BOMB_BYTES), "deflate"),
        (gzip.compress(gzip.compress(b"\0" * BOMB_BYTES)), "gzip, gzip"),
        (b"\0" * (LIMIT + 1), "identity"),
    ],
    ids=["gzip", "second member", "sum of members", "deflate", "twice", "plain"],
)
def test_decode_stops_a_bomb_within_its_memory(body: bytes, coding: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ContentError) as caught:
            decode(body, coding, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 4 * LIMIT
    finally:
        tracemalloc.stop()
    assert caught.value.kind is FailureKind.TOO_LARGE


def test_decode_gives_up_on_members_without_end() -> None:
    with pytest.raises(ContentError, match="members"):
        decode(gzip.compress(b"") * 20_000, "gzip", LIMIT)


def test_decode_lets_content_as_large_as_the_limit_pass() -> None:
    for coding, wbits in (("gzip", 31), ("deflate", 15), ("deflate", -15)):
        assert len(decode(coded(b"\0" * LIMIT, wbits), coding, LIMIT)) == LIMIT
        with pytest.raises(ContentError):
            decode(coded(b"\0" * (LIMIT + 1), wbits), coding, LIMIT)


def test_decode_reads_brotli_within_its_memory() -> None:
    assert decode(brotli.compress(PAGE), "br", LIMIT) == PAGE
    cut = decode(brotli.compress(PAGE)[:-1], "br", LIMIT)
    assert cut and PAGE.startswith(cut)
    refuses_bomb(brotli.compress(b"\0" * BOMB_BYTES, quality=1), "br")


def test_decode_reads_zstd_within_its_memory() -> None:
    assert decode(zstandard.compress(PAGE) * 2, "zstd", LIMIT) == PAGE * 2
    refuses_bomb(zstandard.compress(b"\0" * BOMB_BYTES), "zstd")
    wide = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27))
    with pytest.raises(ContentError, match="damaged"):
        stream = wide.compressobj()
        decode(stream.compress(PAGE) + stream.flush(), "zstd", LIMIT)


def refuses_bomb(body: bytes, coding: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ContentError) as caught:
        decode(body, coding, LIMIT)
    assert caught.value.kind is FailureKind.TOO_LARGE
    grown_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown_bytes < BOMB_BYTES, "the bomb was unfolded"


def test_readable_gives_what_comes_before_the_damage() -> None:
    """And nothing of what follows it, nor bytes that still have another coding."""
    stream = zlib.compressobj(wbits=31)
    page = b"".join(b"line %d\n" % number for number in range(5_000))
    damaged = stream.compress(page) + stream.flush(zlib.Z_FULL_FLUSH) + b"\xff" * 99 + stream.flush()
    content, why = readable(damaged, "gzip", LIMIT)
    assert why == "unspecified" and page.startswith(content) and len(content) > len(page) // 2
    assert readable(damaged, "deflate, gzip", LIMIT) == (b"", "unspecified")
    assert readable(gzip.compress(page), "gzip", 1_000) == (page[:1_000], "length")
    assert readable(gzip.compress(page), "gzip", LIMIT) == (page, "")
