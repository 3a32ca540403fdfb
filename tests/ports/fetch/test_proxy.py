"""Fetching through a proxy, by every engine."""

import asyncio
import base64

import pytest

from gcs.core.page.values import Failure, FailureKind, Response
from gcs.errors import UsageError
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.aio_engine import AioFetcher
from gcs.ports.fetch.curl_engine import CurlFetcher

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def tunnel_to(port: int):
    """A proxy that answers CONNECT, and everything else itself."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve_proxy(conversation) -> None:
        if not conversation.head.startswith(b"CONNECT "):
            await conversation.send(OK)
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await conversation.send(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n")
        await asyncio.gather(pump(reader, conversation.writer), pump(conversation.reader, writer))

    return serve_proxy


async def test_request_to_a_proxy_names_the_whole_url(serve, get) -> None:
    proxy = await serve(OK)
    response = await get("http://far.example:8080/a?b=c", proxy=proxy.origin, allow_private=False)
    assert response.body == b"hello"
    assert response.ip == "127.0.0.1"
    assert response.request_head.startswith(b"GET http://far.example:8080/a?b=c HTTP/1.1\r\nHost: far.example:8080\r\n")
    assert proxy.heads == [response.request_head]


async def test_password_of_the_proxy_is_sent_and_not_told(serve, get) -> None:
    proxy = await serve(OK)
    response = await get("http://far.example/", proxy=f"http://me:secret@127.0.0.1:{proxy.port}")
    secret = base64.b64encode(b"me:secret")
    assert b"Proxy-Authorization: Basic " + secret in proxy.heads[0]
    assert b"Proxy-Authorization" not in response.request_head


async def test_https_goes_through_a_tunnel(serve, get, certificate) -> None:
    site = await serve(OK, tls=certificate.context)
    proxy = await serve(tunnel_to(site.port))
    response = await get(
        f"https://site.test:{site.port}/x",
        proxy=proxy.origin,
        ca_file=str(certificate.file),
        allow_private=False,
        headers=("X-For-The-Site: 1",),
    )
    assert (response.status, response.body) == (200, b"hello")
    assert response.header("via") is None
    assert proxy.heads[0].startswith(f"CONNECT site.test:{site.port} HTTP/1.1\r\n".encode())
    assert b"X-For-The-Site" not in proxy.heads[0]
    assert site.heads == [response.request_head]


async def test_certificate_behind_a_tunnel_is_checked(serve, ask, certificate) -> None:
    site = await serve(OK, tls=certificate.context)
    proxy = await serve(tunnel_to(site.port))
    result = await ask(f"https://other.test:{site.port}/", proxy=proxy.origin, ca_file=str(certificate.file))
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.TLS
    assert site.heads == []


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_dead_proxy_is_a_proxy_failure(serve, ask, scheme: str) -> None:
    proxy = await serve(OK)
    await proxy.close()
    result = await ask(f"{scheme}://far.example/", proxy=f"http://me:secret@127.0.0.1:{proxy.port}")
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.PROXY
    assert result.message == f"the proxy 127.0.0.1:{proxy.port} does not serve: connection refused"


async def test_proxy_that_refuses_a_tunnel_is_a_proxy_failure(serve, ask) -> None:
    proxy = await serve(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    result = await ask("https://far.example/", proxy=proxy.origin)
    assert isinstance(result, Failure)
    assert (result.kind, "it answered 403" in result.message) == (FailureKind.PROXY, True)


async def test_proxy_that_says_nothing_is_a_proxy_failure_on_a_tunnel(serve, ask) -> None:
    async def nothing(conversation) -> None:
        await conversation.reader.read()
        conversation.writer.close()

    proxy = await serve(nothing)
    result = await ask("https://far.example/", proxy=proxy.origin, connect_timeout_s=0.3, first_byte_timeout_s=0.3)
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.PROXY


async def test_proxy_that_does_not_resolve_is_a_proxy_failure(ask) -> None:
    result = await ask("http://far.example/", proxy=f"http://{'a' * 64}.test:3128")
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.PROXY


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "10.0.0.1", "[::1]:81", "localhost", "169.254.169.254"])
async def test_private_host_is_refused_behind_a_proxy_too(serve, ask, host: str) -> None:
    proxy = await serve(OK)
    result = await ask(f"http://{host}/", proxy=proxy.origin, allow_private=False)
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.FORBIDDEN_ADDRESS
    assert proxy.connections == 0


async def test_private_host_is_asked_for_where_it_is_allowed(serve, ask) -> None:
    proxy = await serve(OK)
    assert isinstance(await ask("http://10.0.0.1/", proxy=proxy.origin, allow_private=True), Response)


async def test_connection_to_the_proxy_is_kept(serve, client) -> None:
    proxy = await serve(OK)
    fetching = await client(proxy=proxy.origin)
    for host in ("one.example", "two.example", "one.example"):
        assert (await fetching.ask(f"http://{host}/")).status == 200
    assert len(proxy.heads) == 3
    assert proxy.connections <= 3


async def socks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A SOCKS5 proxy that is also the server behind it: it answers with the name it was asked for."""
    version, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    writer.write(b"\x05\x00")
    version, command, _, kind, length = await reader.readexactly(5)
    assert (version, command, kind) == (5, 1, 3), "a name, not an address"
    name = await reader.readexactly(length)
    await reader.readexactly(2)
    writer.write(b"\x05\x00\x00\x01\0\0\0\0\0\0")
    head = await reader.readuntil(b"\r\n\r\n")
    body = name + b" " + head.split(b"\r\n")[0]
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    writer.close()


@pytest.mark.parametrize("engine", [CurlFetcher])
async def test_socks_proxy_resolves_the_name(client) -> None:
    async with await asyncio.start_server(socks, "127.0.0.1", 0) as server:
        fetching = await client(proxy=f"socks5h://127.0.0.1:{server.sockets[0].getsockname()[1]}", allow_private=False)
        response = await fetching.ask("http://far.example/x")
        assert response.body == b"far.example GET /x HTTP/1.1"
        refused = await fetching.ask("http://10.0.0.1/")
        assert refused.kind is FailureKind.FORBIDDEN_ADDRESS
    dead = await fetching.ask("http://far.example/x")
    assert (dead.kind, "connection refused" in dead.message) == (FailureKind.PROXY, True)


def test_socks_is_for_libcurl_only() -> None:
    with pytest.raises(UsageError, match="curl"):
        AioFetcher(FetchSettings(proxy="socks5h://127.0.0.1:1080"), lambda _result: None)
