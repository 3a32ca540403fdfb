import gzip
import io
from hashlib import sha1
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from gcs.core.page.values import Request
from gcs.ports.records import warc
from gcs.ports.records.warc import Original

from .pages import STARTED_AT, response


def parsed(data: bytes) -> tuple[ArcWarcRecord, bytes]:
    """The one record that warcio sees, with its digests checked, and its payload as stored."""
    records = ArchiveIterator(io.BytesIO(data), check_digests="raise", no_record_parse=False)
    record = next(records)
    payload = record.raw_stream.read()
    assert next(records, None) is None
    return record, payload


def stored(answer: object) -> tuple[ArcWarcRecord, bytes]:
    return parsed(b"".join(warc.response(answer, warc.record_id(), warc.payload_digest(answer.body), 1)))  # type: ignore[attr-defined]


def test_response_is_kept_as_sent() -> None:
    body = bytes(range(256)) * 50
    headers = (("content-TYPE", "image/png"), ("X-Twice", "1"), ("X-Twice", "2"), ("Content-Length", "12800"))
    record, payload = stored(response(body=body, headers=headers))
    assert payload == body
    assert record.http_headers.headers == list(headers)
    assert record.http_headers.get_statuscode() == "200"
    assert record.rec_headers.protocol == "WARC/1.1"
    assert record.rec_headers["WARC-IP-Address"] == "127.0.0.1"
    assert record.rec_headers["WARC-Date"] == "2025-10-09T08:53:20.250000Z"
    assert record.rec_headers["WARC-Payload-Digest"] == warc.payload_digest(body)


@pytest.mark.parametrize("size", (0, 1, 65_535, 65_536, 200_000))
def test_response_that_was_packed_is_not_packed_again(size: int) -> None:
    """Its body lies in the member as it was sent; blocks that are stored hold 65,535 bytes at most."""
    body = Random(1).randbytes(size // 2) + bytes(size - size // 2)
    answer = response(body=body, headers=(("Content-Encoding", "gzip"),))
    data = b"".join(warc.response(answer, warc.record_id(), warc.payload_digest(body), 1))
    assert parsed(data)[1] == body
    assert gzip.decompress(data).endswith(body + b"\r\n\r\n")
    assert body[:65_535] in data


@settings(deadline=None)
@given(
    st.binary(max_size=300),
    st.lists(st.tuples(st.from_regex(r"[A-Za-z-]{1,12}", fullmatch=True), st.text(max_size=20)), max_size=5).map(tuple),
    st.integers(100, 999),
    st.text(max_size=10),
    st.sampled_from(["1.0", "1.1", "2", "3"]),
)
def test_response_of_whatever_a_server_says_is_a_valid_record(
    body: bytes, headers: tuple[tuple[str, str], ...], status: int, reason: str, version: str
) -> None:
    """Also with line breaks, surrogates or emoji in headers, which no parser should have let through."""
    answer = response(body=body, headers=headers, status=status, reason=reason, http_version=version)
    data = b"".join(warc.response(answer, warc.record_id(), warc.payload_digest(body), 1))
    record, payload = parsed(data)
    assert payload == body
    assert len(record.http_headers.headers) == len(headers)


def test_headers_that_contradict_the_stored_body_are_renamed() -> None:
    headers = (("Transfer-Encoding", "chunked"), ("Content-Length", "999"), ("Content-Encoding", "gzip"))
    record, payload = stored(response(body=b"four", headers=headers))
    assert payload == b"four"
    assert record.http_headers.headers == [
        ("X-GCS-Transfer-Encoding", "chunked"),
        ("X-GCS-Content-Length", "999"),
        ("Content-Encoding", "gzip"),
    ]


@pytest.mark.parametrize(
    ("version", "line", "protocol"),
    [("1.0", "HTTP/1.0", None), ("1.1", "HTTP/1.1", None), ("2", "HTTP/1.1", "h2"), ("3", "HTTP/1.1", "h3")],
)
def test_http_version_is_that_of_archives_with_the_true_one_beside_it(
    version: str, line: str, protocol: str | None
) -> None:
    record, _ = stored(response(http_version=version, reason=""))
    assert record.http_headers.protocol == line
    assert record.http_headers.statusline == "200 OK"
    assert record.rec_headers["WARC-Protocol"] == protocol


def test_request_names_its_response_and_ends_its_head() -> None:
    answer = response(request_head=b"GET /x HTTP/1.1\r\nHost: example.com\r\n")
    record, _ = parsed(warc.request(answer, "<urn:uuid:1>", 1))
    assert record.rec_type == "request"
    assert record.rec_headers["WARC-Concurrent-To"] == "<urn:uuid:1>"
    assert record.http_headers.statusline == "/x HTTP/1.1"
    assert record.rec_headers["Content-Length"] == str(len(answer.request_head) + 2)


def test_revisit_refers_to_the_record_with_the_payload() -> None:
    answer = response("http://example.com/copy", b"same")
    digest = warc.payload_digest(b"same")
    record, payload = parsed(
        warc.revisit(answer, "<urn:uuid:2>", digest, Original("http://example.com/", STARTED_AT), 1)
    )
    fields = record.rec_headers
    assert record.rec_type == "revisit"
    assert payload == b""
    assert fields["WARC-Profile"].endswith("/1.1/revisit/identical-payload-digest")
    assert fields["WARC-Refers-To-Target-URI"] == "http://example.com/"
    assert fields["WARC-Refers-To-Date"] == "2025-10-09T08:53:20.250000Z"
    assert fields["WARC-Payload-Digest"] == digest
    assert record.http_headers["Content-Length"] == "4"


def test_revisit_of_a_304_is_server_not_modified() -> None:
    answer = response(body=b"", status=304, reason="Not Modified", headers=(("ETag", '"x"'), ("A\r\nBad", "y\r\nz")))
    record, _ = parsed(warc.revisit(answer, "<urn:uuid:3>", "", Original(answer.request.url, 0.0), 1))
    assert record.rec_headers["WARC-Profile"].endswith("/1.1/revisit/server-not-modified")
    assert record.rec_headers["WARC-Refers-To-Date"] is None
    assert record.rec_headers["WARC-Payload-Digest"] is None
    assert record.rec_headers["Content-Length"] == "0", "with a block, replay tools show the 304 and not the page"
    assert record.rec_headers["X-GCS-Answer"] == "304 Not Modified"
    assert record.rec_headers["X-GCS-Answer-ETag"] == '"x"'
    assert record.rec_headers["X-GCS-Answer-Bad"] is None


def test_warcinfo_says_who_made_the_file() -> None:
    info = {"software": "GCS", "operator": "two\r\nlines"}
    record, payload = parsed(warc.warcinfo("x.warc.gz", STARTED_AT, info, 1))
    assert record.rec_headers["WARC-Filename"] == "x.warc.gz"
    assert payload == b"software: GCS\r\noperator: two  lines\r\n"


@pytest.mark.parametrize("level", range(4))
def test_every_level_makes_one_gzip_member(level: int) -> None:
    body = b"<p>text " * 5_000
    answer = response(body=body)
    record, payload = parsed(b"".join(warc.response(answer, warc.record_id(), warc.payload_digest(body), level)))
    assert payload == body
    assert record.rec_headers["WARC-Target-URI"] == Request("http://example.com/").url


def test_payload_digest_is_sha1_in_base32() -> None:
    digest = warc.payload_digest(b"x").removeprefix("sha1:")
    assert len(digest) == 32
    assert int(sha1(b"x").hexdigest(), 16) == sum(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".index(char) << 5 * place for place, char in enumerate(reversed(digest))
    )
