"""The contract of the fetch port, asked of every engine: what a server that behaves gets and gives."""

import asyncio
import contextlib
import gzip
import random
import socket
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard

from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.core.url.canonical import canonical
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.aio_engine import AioFetcher

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def framed(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


async def test_response_holds_what_the_server_sent(serve, get) -> None:
    fields = ("Server: x", "Content-Type: text/html", "X-Many: 1", "x-many:2  ", "X-Bytes: caf\xe9", "Empty:")
    site = await serve(framed(b"<p>hi", *fields, status="203 Rather So"))
    response = await get(site.url)
    assert (response.status, response.reason, response.http_version) == (203, "Rather So", "1.1")
    assert response.headers == (
        ("Server", "x"),
        ("Content-Type", "text/html"),
        ("X-Many", "1"),
        ("x-many", "2"),
        ("X-Bytes", "caf\xe9"),
        ("Empty", ""),
        ("Content-Length", "5"),
    )
    assert response.body == b"<p>hi"
    assert response.content is response.body
    assert response.ip == "127.0.0.1"
    assert 0 <= response.elapsed_s < 20
    assert response.started_at > 1.6e9


async def test_request_head_is_what_the_server_received(serve, client) -> None:
    """Byte for byte, for any canonical URL."""
    site = await serve(OK)
    headers = ("X-Extra: one", "Accept-Language: en, de;q=0.5")
    fetching = await client(from_address="me@example.org", headers=headers)
    chance = random.Random(7)
    paths = [
        "/" + "".join(chance.choices("abZ09/.?&=%~!$'()*+,;:@|{}[]^`\\<>\" \t\u00e9\u4e2d-_", k=30)) for _ in range(150)
    ]
    paths += [
        "/",
        "/a//b/./c",
        "/%41%7e%2F%2e/x%20y",
        "/?",
        "/?a=%00%ff",
        "/p?u=http://x.test/y?z",
        "/" + "long/" * 1000,
    ]
    for path in paths:
        url = canonical(site.origin + path)
        assert url is not None
        response = await fetching.ask(url)
        assert response.request_head == site.heads[-1], path
        target = url.removeprefix(site.origin)
        assert response.request_head.startswith(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n".encode())
    for field in ("User-Agent: test/1", "Accept-Encoding: gzip, br, zstd", "From: me@example.org", *headers):
        assert f"\r\n{field}\r\n".encode() in site.heads[-1]
    assert len(site.heads) == len(paths)


async def test_request_head_of_conditional_requests_is_what_the_server_received(serve, client) -> None:
    site = await serve(b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n')
    fetching = await client()
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    responses = [
        await fetching.ask(site.url, etag='W/"x"', last_modified=date),
        await fetching.ask(site.url),
        await fetching.ask(site.url, last_modified=date),
        await fetching.ask(site.url, etag='evil"\r\nX-Smuggled: 1', last_modified="\xe9\u4e2d"),
    ]
    assert [response.status for response in responses] == [304] * 4
    assert site.heads == [response.request_head for response in responses]
    assert f'\r\nIf-None-Match: W/"x"\r\nIf-Modified-Since: {date}\r\n\r\n'.encode() in site.heads[0]
    assert f"\r\nIf-Modified-Since: {date}\r\n\r\n".encode() in site.heads[2]
    assert b"If-" not in site.heads[1] + site.heads[3]
    assert b"Smuggled" not in site.heads[3]


async def test_ipv6_host_is_fetched(serve, get) -> None:
    try:
        site = await serve(OK, "::1")
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    response = await get(site.url)
    assert response.ip == "::1"
    assert site.heads == [response.request_head]


@pytest.mark.parametrize("addresses", ["127.0.0.1", "::1,127.0.0.1", "127.0.0.1,[::1]", "127.0.0.9,127.0.0.1"])
async def test_name_with_several_addresses_is_fetched_from_the_one_that_serves(serve, get, addresses: str) -> None:
    site = await serve(OK)
    response = await get(f"http://dual.test:{site.port}/", resolve=(f"dual.test:{site.port}:{addresses}",))
    assert (response.status, response.ip) == (200, "127.0.0.1")
    assert f"\r\nHost: dual.test:{site.port}\r\n".encode() in site.heads[0]


async def test_address_that_does_not_answer_is_passed_over(serve, get) -> None:
    """Happy eyeballs (RFC 8305): the next address is tried long before the first one is given up."""
    site = await serve(OK)
    with socket.socket(socket.AF_INET6) as silent:
        silent.bind(("::1", site.port))
        silent.listen(0)
        with contextlib.ExitStack() as held:
            for _ in range(3):  # once its queue is full, nobody answers there
                waiting = held.enter_context(socket.socket(socket.AF_INET6))
                waiting.setblocking(False)
                waiting.connect_ex(("::1", site.port))
            settings = {"resolve": (f"dual.test:{site.port}:::1,127.0.0.1",), "connect_timeout_s": 600.0}
            async with asyncio.timeout(15):  # one after the other takes five minutes
                response = await get(f"http://dual.test:{site.port}/", **settings)
    assert response.ip == "127.0.0.1"


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
async def test_every_coding_that_is_offered_is_read(serve, get, coding: str) -> None:
    page = b"<p>A page of the web.</p>" * 1000
    pack = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstandard.compress}[coding]

    async def answer(conversation) -> None:
        assert coding in conversation.head.split(b"Accept-Encoding: ")[1].split(b"\r\n")[0].decode().split(", ")
        packed = pack(page)
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(packed)}\r\n\r\n"
        await conversation.send(head.encode() + packed)

    response = await get((await serve(answer)).url)
    assert (response.content, response.body) == (page, pack(page))


async def test_connection_is_kept_for_the_next_request(serve, client) -> None:
    site = await serve(framed(b"x" * 30_000))
    fetching = await client()
    for n in range(20):
        assert len((await fetching.ask(f"{site.url}{n}")).body) == 30_000
    assert site.connections == 1
    assert len(site.heads) == 20


async def test_kept_connection_that_the_server_closed_is_no_failure(serve, client) -> None:
    async def once(conversation) -> None:
        await conversation.send(OK)
        conversation.writer.close()

    site = await serve(once)
    fetching = await client()
    for _ in range(5):
        assert (await fetching.ask(site.url)).body == b"hello"
    assert site.connections == 5


async def test_redirect_is_not_followed(serve, get) -> None:
    site = await serve(framed(b"", "Location: /elsewhere", status="301 Moved Permanently"))
    response = await get(site.url)
    assert (response.status, response.header("location")) == (301, "/elsewhere")
    assert len(site.heads) == 1


async def test_cookies_are_not_kept(serve, client) -> None:
    site = await serve(framed(b"", "Set-Cookie: a=b; Path=/"))
    fetching = await client()
    await fetching.ask(site.url)
    await fetching.ask(site.url)
    assert b"cookie" not in site.heads[1].lower()


async def test_environment_and_netrc_are_not_read(serve, get, monkeypatch, tmp_path: Path) -> None:
    site = await serve(OK)
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    response = await get(site.url)
    assert response.status == 200
    assert b"authorization" not in site.heads[0].lower()


@pytest.mark.parametrize(
    ("sent", "status", "version", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, "1.0", b"until the end"),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 200, "1.1", b"ok"),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, "1.1", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, "1.1", b""),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", 404, "1.1", b"gone"),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n", 503, "1.1", b""),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n" + OK, 200, "1.1", b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + OK, 200, "1.1", b"hello"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            200,
            "1.1",
            b"abcde",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Trailer: t\r\n\r\n", 200, "1.1", b"a"),
    ],
)
async def test_message_of_any_framing_is_read(serve, get, sent: bytes, status: int, version: str, body: bytes) -> None:
    async def answer(conversation) -> None:
        await conversation.send(sent)
        conversation.writer.close()

    response = await get((await serve(answer)).url)
    assert (response.status, response.http_version, response.body) == (status, version, body)
    assert response.header("link") is None  # of the interim answer
    assert response.header("x-trailer") is None


async def test_body_that_trickles_in_is_joined(serve, get) -> None:
    async def trickle(conversation) -> None:
        message = framed(b"0123456789" * 20)
        for at in range(0, len(message), 17):
            await conversation.send(message[at : at + 17])
            await asyncio.sleep(0.001)

    assert (await get((await serve(trickle)).url)).body == b"0123456789" * 20


PAGE = b"<html>" + b"some words of a page " * 3000


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(PAGE)),
        ("GZip", gzip.compress(PAGE[:100]) + gzip.compress(PAGE[100:])),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", zlib.compress(PAGE)[2:-4]),
        ("gzip, gzip", gzip.compress(gzip.compress(PAGE))),
        ("identity", PAGE),
    ],
)
async def test_content_is_decoded_and_the_body_kept(serve, get, coding: str, body: bytes) -> None:
    response = await get((await serve(framed(body, f"Content-Encoding: {coding}"))).url)
    assert response.body == body
    assert response.content == PAGE
    assert response.header("content-encoding") == coding


async def test_coding_spread_over_two_headers_is_decoded(serve, get) -> None:
    body = zlib.compress(gzip.compress(PAGE))
    response = await get((await serve(framed(body, "Content-Encoding: gzip", "content-encoding: deflate"))).url)
    assert response.content == PAGE


async def test_body_as_large_as_the_limit_is_a_response(serve, get) -> None:
    site = await serve(framed(b"x" * 1000))
    assert len((await get(site.url, max_body_bytes=1000, max_content_bytes=1000)).body) == 1000


async def test_many_requests_run_at_once(serve, client) -> None:
    """The server answers none before it has them all."""
    arrived = asyncio.Barrier(60)

    async def together(conversation) -> None:
        await arrived.wait()
        await conversation.send(framed(conversation.head.split()[1]))

    site = await serve(together)
    fetching = await client()
    asked = [asyncio.ensure_future(fetching.ask(f"{site.url}{n}")) for n in range(60)]
    await asyncio.sleep(0)
    assert fetching.fetcher.in_flight == 60
    assert [(await answer).body for answer in asked] == [f"/{n}".encode() for n in range(60)]
    assert fetching.fetcher.in_flight == 0


async def test_sink_may_start_the_next_request(serve, engine) -> None:
    site = await serve(OK)
    results: list[Result] = []
    done = asyncio.Event()

    def sink(result: Result) -> None:
        assert fetcher.in_flight == 0
        results.append(result)
        if len(results) == 50:
            done.set()
        else:
            fetcher.start(Request(site.url))

    fetcher = engine(FetchSettings(allow_private=True), sink)
    await fetcher.open()
    fetcher.start(Request(site.url))
    async with asyncio.timeout(20):
        await done.wait()
    await fetcher.close()
    assert {result.status for result in results if isinstance(result, Response)} == {200}
    assert site.connections == 1


async def test_sink_that_fails_keeps_no_other_answer_back(serve, engine) -> None:
    site = await serve(OK)
    seen: list[object] = []
    all_seen = asyncio.Event()
    faults: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(context))

    def sink(result: Result) -> None:
        seen.append(result.request.tag)
        if len(seen) == 5:
            all_seen.set()
        raise RuntimeError("a fault of the asker's")

    fetcher = engine(FetchSettings(allow_private=True), sink)
    await fetcher.open()
    for tag in range(5):
        fetcher.start(Request(site.url if tag else "not a url", tag=tag))
    async with asyncio.timeout(20):
        await all_seen.wait()
    await asyncio.sleep(0)
    assert sorted(seen) == list(range(5))
    assert [str(fault["exception"]) for fault in faults] == ["a fault of the asker's"] * 5
    await fetcher.close()


async def test_close_drops_what_is_in_flight(serve, engine) -> None:
    async def never(conversation) -> None:
        await conversation.reader.read()  # until the client hangs up
        conversation.writer.close()

    site = await serve(never)
    results: list[Result] = []
    fetcher = engine(FetchSettings(allow_private=True), results.append)
    await fetcher.open()
    for _ in range(5):
        fetcher.start(Request(site.url))
    fetcher.start(Request("not a url"))
    async with asyncio.timeout(20), site.asked:
        await site.asked.wait_for(lambda: len(site.heads) == 5)
    results.clear()
    fetcher.start(Request("not a url"))
    await fetcher.close()
    assert fetcher.in_flight == 0
    async with asyncio.timeout(20):
        await site.hung_up.wait()
    await asyncio.sleep(0.05)
    assert results == []
    await fetcher.close()  # a second time is no fault


async def test_close_without_open_is_no_fault(engine) -> None:
    await engine(FetchSettings(), lambda _result: None).close()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:1/",
        "http://me:secret@127.0.0.1:1/",
        "http:///path",
        "http://127.0.0.1",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/\r\nX: y",
        "http://127.0.0.1/\u4e2d",
        "http://127.0.0.1:99999/",
        "http://a..b/",
        "",
    ],
)
async def test_url_that_cannot_be_fetched_is_a_failure(ask, url: str) -> None:
    result = await ask(url)
    assert isinstance(result, Failure)
    assert result.kind in (FailureKind.PROTOCOL, FailureKind.DNS)
    assert result.message
    assert "secret" not in result.message


async def test_request_that_may_go_out_once_is_not_repeated_by_the_engine(serve, client, engine) -> None:
    """libcurl sends a request again at once where a kept connection is hung up: not where a delay is owed."""
    if engine is AioFetcher:
        pytest.skip("aiohttp has no say in it")
    requests = 0

    async def hang_up_on_the_second(conversation) -> None:
        nonlocal requests
        requests += 1
        if requests == 1:
            await conversation.send(OK)
        else:
            conversation.writer.close()

    site = await serve(hang_up_on_the_second)
    fetching = await client()
    await fetching.ask(site.url)
    result = await fetching.ask(site.url, once=True)
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.PROTOCOL
    assert requests == 2
