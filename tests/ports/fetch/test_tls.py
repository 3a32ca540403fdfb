"""HTTPS, by every engine."""

import asyncio
import ssl
from pathlib import Path

import pytest

from gcs.core.page.values import Failure, FailureKind, Response
from gcs.errors import UsageError
from gcs.ports.fetch import FetchSettings

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


async def test_trusted_certificate_is_accepted(serve, get, certificate) -> None:
    site = await serve(OK, tls=certificate.context)
    response = await get(site.url, ca_file=str(certificate.file))
    assert (response.status, response.ip, response.http_version) == (200, "127.0.0.1", "1.1")
    assert site.heads == [response.request_head]


async def test_name_of_the_certificate_is_accepted(serve, get, certificate) -> None:
    site = await serve(OK, tls=certificate.context)
    resolve = (f"site.test:{site.port}:127.0.0.1",)
    response = await get(f"https://site.test:{site.port}/", ca_file=str(certificate.file), resolve=resolve)
    assert response.status == 200


async def test_unknown_certificate_is_a_tls_failure(serve, ask, certificate) -> None:
    site = await serve(OK, tls=certificate.context)
    result = await ask(site.url)
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.TLS
    assert "no trusted connection" in result.message
    assert site.heads == []


async def test_certificate_for_another_name_is_a_tls_failure(serve, ask, certificate) -> None:
    site = await serve(OK, tls=certificate.context)
    resolve = (f"other.test:{site.port}:127.0.0.1",)
    result = await ask(f"https://other.test:{site.port}/", ca_file=str(certificate.file), resolve=resolve)
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.TLS
    assert site.heads == []


async def test_plain_server_on_a_tls_port_is_a_tls_failure(ask) -> None:
    async def plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        result = await ask(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.TLS


async def test_tls_that_never_completes_is_a_connect_timeout(ask) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        result = await ask(url, connect_timeout_s=0.2, first_byte_timeout_s=0.1)
    assert isinstance(result, Failure)
    assert (result.kind, result.message) == (FailureKind.TIMEOUT, "no connection within 0.2 s")


async def test_guard_holds_for_https(serve, ask, certificate) -> None:
    site = await serve(OK, tls=certificate.context)
    result = await ask(site.url, ca_file=str(certificate.file), allow_private=False)
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.FORBIDDEN_ADDRESS
    assert site.connections == 0


async def test_missing_certificates_are_told_at_open(engine, tmp_path: Path) -> None:
    fetcher = engine(FetchSettings(ca_file=str(tmp_path / "absent.pem")), lambda _result: None)
    with pytest.raises(UsageError, match=r"absent\.pem"):
        await fetcher.open()
    await fetcher.close()


async def test_tls_1_2_is_spoken(serve, ask, certificate) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    site = await serve(OK, tls=context)
    assert isinstance(await ask(site.url, ca_file=str(certificate.file)), Response)


async def test_requests_do_not_wait_for_one_another_where_http2_is_not_spoken(serve, client, certificate) -> None:
    """After the robots.txt, the server answers none before it has them all."""
    arrived = asyncio.Barrier(8)

    async def together(conversation) -> None:
        if b"/robots.txt" not in conversation.head:
            await arrived.wait()
        await conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    site = await serve(together, tls=certificate.context)
    fetching = await client(ca_file=str(certificate.file))
    assert (await fetching.ask(f"{site.url}robots.txt")).status == 200
    answers = await asyncio.gather(*(fetching.ask(f"{site.url}{n}") for n in range(8)))
    assert [answer.http_version for answer in answers] == ["1.1"] * 8


async def test_connection_is_kept_over_tls(serve, client, certificate) -> None:
    site = await serve(OK, tls=certificate.context)
    fetching = await client(ca_file=str(certificate.file))
    for _ in range(5):
        assert (await fetching.ask(site.url)).body == b"hello"
    assert site.connections == 1
