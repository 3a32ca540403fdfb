"""HTTP/2, which the libcurl engine speaks where it is offered: with a real nginx, and with servers that misbehave."""

import asyncio
import contextlib
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.curl_engine import CurlFetcher

h2_connection = pytest.importorskip("h2.connection", reason="h2, the server's half of HTTP/2, is not installed")
h2_events = pytest.importorskip("h2.events")
h2_exceptions = pytest.importorskip("h2.exceptions")


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


async def fetch(urls: list[str], settings: FetchSettings, once: bool = False) -> list[Result]:
    results: list[Result] = []
    done = asyncio.Event()

    def sink(result: Result) -> None:
        results.append(result)
        if len(results) == len(urls):
            done.set()

    fetcher = CurlFetcher(settings, sink)
    await fetcher.open()
    for url in urls:
        fetcher.start(Request(url, once=once))
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
        assert result.request_head.startswith(f"GET {path} HTTP/1.1\r\nHost: ".encode())


# -- nginx


@pytest.fixture(scope="module")
def nginx(certificate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The origin of a real server with HTTP/2, and its log: connection, protocol, TLS session reused."""
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    folder = tmp_path_factory.mktemp("nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for number in range(20):
        (folder / f"{number}.html").write_text(f"<p>page {number}</p>" * 2000)
    (folder / "conf").write_text(
        f"""daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error; user root;
        events {{ }} http {{
          log_format how '$connection $server_protocol $ssl_session_reused'; access_log {folder}/log how;
          types {{ text/html html; }} gzip on; gzip_min_length 1;
          client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
          uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; ssl_session_cache shared:S:1m;
          ssl_certificate {certificate.file}; ssl_certificate_key {certificate.key}; root {folder};
          server {{ listen 127.0.0.1:{port} ssl http2; }}
          server {{ listen 127.0.0.2:{port} ssl http2; keepalive_requests 1; }}
        }}"""
    )
    with subprocess.Popen(["nginx", "-p", folder, "-c", folder / "conf"], stderr=subprocess.DEVNULL) as server:
        for _ in range(100):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.05)
        try:
            yield f"https://127.0.0.1:{port}", folder / "log"
        finally:
            server.terminate()


@pytest.mark.parametrize(("http2", "version", "connections"), [(True, "2", 1), (False, "1.1", 8)])
async def test_requests_to_a_host_share_a_connection(
    nginx, certificate, http2: bool, version: str, connections: int
) -> None:
    """Eight at once, as politeness allows where a host is owed no delay."""
    origin, log = nginx
    before = len(log.read_text().splitlines()) if log.exists() else 0
    settings = FetchSettings(user_agent="t/1", allow_private=True, ca_file=str(certificate.file), http2=http2)
    results = await fetch([f"{origin}/{n}.html" for n in range(8)], settings)
    for result in results:
        assert isinstance(result, Response), result
        number = result.request.url.rpartition("/")[2].removesuffix(".html")
        assert result.content == f"<p>page {number}</p>".encode() * 2000
        assert (result.http_version, result.header("content-encoding")) == (version, "gzip")
    lines = await logged(log, before + 8)
    assert len({line.split()[0] for line in lines[before:]}) == connections
    assert {line.split()[1] for line in lines[before:]} == {f"HTTP/{version}" + (".0" if http2 else "")}


@pytest.mark.parametrize("http2", [True, False])
async def test_tls_sessions_are_used_again(nginx, certificate, http2: bool) -> None:
    """A server that closes after each answer is asked for a whole handshake once."""
    origin, log = nginx
    before = len(log.read_text().splitlines()) if log.exists() else 0
    port = origin.rpartition(":")[2]
    settings = FetchSettings(
        user_agent="t/1",
        allow_private=True,
        ca_file=str(certificate.file),
        http2=http2,
        resolve=(f"closing.test:{port}:127.0.0.2",),
    )
    arrived: asyncio.Queue[Result] = asyncio.Queue()
    fetcher = CurlFetcher(settings, arrived.put_nowait)
    await fetcher.open()
    async with asyncio.timeout(20):
        for number in range(4):
            fetcher.start(Request(f"https://closing.test:{port}/{number}.html"))
            assert isinstance(await arrived.get(), Response)
    await fetcher.close()
    lines = (await logged(log, before + 4))[before:]
    assert len({line.split()[0] for line in lines}) == 4, "each over a connection of its own"
    assert [line.split()[2] for line in lines] == [".", "r", "r", "r"]


async def logged(log: Path, count: int) -> list[str]:
    async with asyncio.timeout(20):
        while not log.exists() or len(log.read_text().splitlines()) < count:
            await asyncio.sleep(0.02)
    return log.read_text().splitlines()


# -- servers that misbehave


class Strange:
    """A server whose connections do something else than to answer."""

    def __init__(self, how: str) -> None:
        self.how, self.asked, self.connections = how, Counter[str](), 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        protocol = h2_connection.H2Connection(h2_connection.H2Configuration(client_side=False))
        protocol.initiate_connection()
        writer.write(protocol.data_to_send())
        with contextlib.suppress(OSError, h2_exceptions.ProtocolError):
            while data := await reader.read(65536):
                for event in protocol.receive_data(data):
                    if isinstance(event, h2_events.RequestReceived):
                        self.asked[dict(event.headers)[b":path"].decode()] += 1
                        await getattr(self, self.how)(protocol, event.stream_id, writer)
                writer.write(protocol.data_to_send())
                await writer.drain()
        writer.close()

    async def resets(self, protocol: Any, stream: int, _: asyncio.StreamWriter) -> None:
        protocol.send_headers(stream, [(":status", "200")])
        protocol.send_data(stream, b"some")
        protocol.reset_stream(stream, 2)

    async def refuses(self, protocol: Any, stream: int, _: asyncio.StreamWriter) -> None:
        """REFUSED_STREAM: nothing was done, the client may try again."""
        if self.asked.total() == 1:
            protocol.reset_stream(stream, 7)
        else:
            protocol.send_headers(stream, [(":status", "200")], end_stream=True)

    async def leaves(self, protocol: Any, stream: int, writer: asyncio.StreamWriter) -> None:
        protocol.send_headers(stream, [(":status", "200")])
        protocol.close_connection(11)
        writer.write(protocol.data_to_send())
        writer.close()

    async def stalls(self, protocol: Any, stream: int, _: asyncio.StreamWriter) -> None:
        protocol.send_headers(stream, [(":status", "200"), ("content-length", "1000")])
        protocol.send_data(stream, b"x")

    async def swells(self, protocol: Any, stream: int, writer: asyncio.StreamWriter) -> None:
        """Headers without end: a flood of CONTINUATION frames, each a header of 16,000 letters."""
        writer.write(protocol.data_to_send())
        writer.write(b"\0\0\1\1\0" + stream.to_bytes(4, "big") + b"\x88")
        field = b"\0\1x\x7f" + bytes([(16_000 - 127) & 127 | 128, (16_000 - 127) >> 7]) + b"y" * 16_000
        while not writer.is_closing():
            writer.write(len(field).to_bytes(3, "big") + b"\x09\0" + stream.to_bytes(4, "big") + field)
            await writer.drain()

    async def talks_nonsense(self, protocol: Any, stream: int, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\xff" * 5_000)

    async def lies(self, protocol: Any, stream: int, writer: asyncio.StreamWriter) -> None:
        """Less than it announced."""
        protocol.send_headers(stream, [(":status", "200"), ("content-length", "1000")])
        protocol.send_data(stream, b"x", end_stream=True)

    async def answers_twice(self, protocol: Any, stream: int, writer: asyncio.StreamWriter) -> None:
        """Interim answers without end."""
        for _ in range(2_000):
            protocol.send_headers(stream, [(":status", "103"), ("link", "</" + "x" * 200 + ">")])
        protocol.send_headers(stream, [(":status", "200")], end_stream=True)


async def at_strange(certificate, strange: Strange, paths: list[str], once: bool = False, **changes: Any):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    context.set_alpn_protocols(["h2"])
    settings = FetchSettings(user_agent="test/1", allow_private=True, ca_file=str(certificate.file), **changes)
    async with await asyncio.start_server(strange.talk, "127.0.0.1", 0, ssl=context) as server:
        origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return await fetch([origin + path for path in paths], settings, once)


@pytest.mark.parametrize(
    ("how", "kinds"),
    [
        ("resets", {"disconnect"}),
        ("leaves", {FailureKind.PROTOCOL}),
        ("stalls", {"time"}),
        ("swells", {FailureKind.TOO_LARGE, FailureKind.PROTOCOL}),
        ("talks_nonsense", {FailureKind.PROTOCOL, FailureKind.TIMEOUT}),
        ("lies", {"disconnect"}),
        ("answers_twice", {FailureKind.TOO_LARGE, FailureKind.PROTOCOL, FailureKind.TIMEOUT}),
    ],
)
async def test_server_that_breaks_http2_has_one_result_for_each_request(certificate, how: str, kinds: set) -> None:
    strange = Strange(how)
    results = await at_strange(certificate, strange, ["/a", "/b", "/c"], slow_s=0.5, total_timeout_s=5.0)
    assert len(results) == 3
    for result in results:
        if isinstance(result, Response):  # as far as it came
            assert result.truncated in kinds, result
        else:
            assert result.kind in kinds, result
            assert re.fullmatch("[^\n]+", result.message)


@pytest.mark.parametrize("once", [False, True])
async def test_refused_stream_is_sent_again_only_where_politeness_allows(certificate, once: bool) -> None:
    strange = Strange("refuses")
    [result] = await at_strange(certificate, strange, ["/a"], once)
    assert isinstance(result, Failure if once else Response), result
    assert strange.asked["/a"] == (1 if once else 2)
