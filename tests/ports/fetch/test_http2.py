"""HTTP/2, which the libcurl engine speaks where it is asked to."""

import asyncio
import contextlib
import ssl

import pytest

from gcs.core.page.values import Request, Response, Result
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.curl_engine import CurlFetcher

h2_connection = pytest.importorskip("h2.connection", reason="h2, the server's half of HTTP/2, is not installed")
h2_events = pytest.importorskip("h2.events")


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers every stream with its own path."""
    protocol = h2_connection.H2Connection(h2_connection.H2Configuration(client_side=False))
    protocol.initiate_connection()
    writer.write(protocol.data_to_send())
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            for event in protocol.receive_data(data):
                if isinstance(event, h2_events.RequestReceived):
                    path = dict(event.headers)[b":path"]
                    fields = [
                        (":status", "200"),
                        ("content-type", "text/plain"),
                        ("x-agent", dict(event.headers)[b"user-agent"]),
                    ]
                    protocol.send_headers(event.stream_id, fields)
                    protocol.send_data(event.stream_id, path, end_stream=True)
            writer.write(protocol.data_to_send())
            await writer.drain()
    writer.close()


async def fetch(urls: list[str], settings: FetchSettings) -> list[Result]:
    results: list[Result] = []
    done = asyncio.Event()

    def sink(result: Result) -> None:
        results.append(result)
        if len(results) == len(urls):
            done.set()

    fetcher = CurlFetcher(settings, sink)
    await fetcher.open()
    for url in urls:
        fetcher.start(Request(url))
    async with asyncio.timeout(20):
        await done.wait()
    await fetcher.close()
    return results


@pytest.mark.parametrize("http2", [True, False])
async def test_http2_is_spoken_where_it_is_offered_and_wanted(certificate, http2: bool) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    context.set_alpn_protocols(["h2"])
    settings = FetchSettings(user_agent="test/1", allow_private=True, ca_file=str(certificate.file), http2=http2)
    async with await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context) as server:
        origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        results = await fetch([f"{origin}/{n}" for n in range(10)], settings)
    if not http2:
        assert not any(isinstance(result, Response) for result in results)  # this server has nothing else
        return
    for result in results:
        assert isinstance(result, Response), result
        path = result.request.url.removeprefix(origin)
        assert (result.status, result.reason, result.http_version) == (200, "", "2")
        assert result.body == path.encode()
        assert result.headers == (("content-type", "text/plain"), ("x-agent", "test/1"))
        assert result.request_head.startswith(f"GET {path} HTTP/2\r\nHost: ".encode())
