"""Made-up exchanges for the tests of the record store."""

import msgspec

from gcs.core.page.values import PageRecord, Request, Response

STARTED_AT = 1_760_000_000.25


def response(url: str = "http://example.com/", body: bytes = b"<p>hello", **changes: object) -> Response:
    answer = Response(
        request=Request(url),
        status=200,
        reason="OK",
        http_version="1.1",
        headers=(("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body)))),
        body=body,
        content=body,
        request_head=b"GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gcs-test\r\n\r\n",
        ip="127.0.0.1",
        started_at=STARTED_AT,
        elapsed_s=0.01,
    )
    return msgspec.structs.replace(answer, **changes)


def record(url: str = "http://example.com/", **changes: object) -> PageRecord:
    page = PageRecord(
        url=url,
        final_url=url,
        parent="http://example.com/parent",
        depth=2,
        status=200,
        fetched_at=STARTED_AT,
        content_type="text/html",
        bytes=8,
        digest="",
        language="en",
        title="A page",
        summary="It says hello.",
        text="hello wörld",
        outlinks=["http://example.com/a", "http://example.com/b"],
        gatherer="g1",
        helper="",
        simhash=0xFEDC_BA98_7654_3210,
        etag='"x"',
        last_modified="",
        warc_file="",
        warc_offset=0,
        warc_bytes=0,
    )
    return msgspec.structs.replace(page, **changes)
