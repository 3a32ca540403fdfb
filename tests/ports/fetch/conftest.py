"""What the tests of the fetch port share: every engine, and servers on loopback that behave as they are told."""

import asyncio
import contextlib
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from gcs.core.page.values import Request, Response, Result
from gcs.ports.fetch import Fetcher, FetchSettings, Sink, curl_engine
from gcs.ports.fetch.aio_engine import AioFetcher
from gcs.ports.fetch.curl_engine import CurlFetcher, LoopSocketWatch

#: what a server does with a request: the bytes it answers, or a coroutine that does as it likes
Behaviour = bytes | Callable[["Conversation"], Awaitable[None]]
Engine = Callable[[FetchSettings, Sink], Fetcher]


@pytest.fixture(params=["curl", "curl-loop", "aiohttp"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Every engine; libcurl's with both of its socket watches."""
    if request.param == "curl-loop":
        monkeypatch.setattr(curl_engine, "watch", LoopSocketWatch)
    return AioFetcher if request.param == "aiohttp" else CurlFetcher


class Conversation:
    """One request as a server sees it."""

    def __init__(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = head
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Ends the connection with RST."""
        self.writer.transport.abort()


class Site:
    """A server that records what it was sent."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._writers: set[asyncio.StreamWriter] = set()
        self.heads: list[bytes] = []
        self.connections = 0
        self.asked = asyncio.Condition()  # told of every head
        self.hung_up = asyncio.Event()  # a client closed its connection

    async def listen(self, address: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._server = await asyncio.start_server(self._talk, address, port, ssl=tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        host = f"[{address}]" if ":" in address else address
        self.origin = f"{'https' if tls else 'http'}://{host}:{self.port}"
        self.url = f"{self.origin}/"

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                conversation = Conversation(await reader.readuntil(b"\r\n\r\n"), reader, writer)
                async with self.asked:
                    self.heads.append(conversation.head)
                    self.asked.notify_all()
                if isinstance(self._behaviour, bytes):
                    await conversation.send(self._behaviour)
                else:
                    await self._behaviour(conversation)
                if writer.is_closing():
                    break
        self.hung_up.set()
        writer.close()

    async def close(self) -> None:
        self._server.close()
        for writer in self._writers:
            with contextlib.suppress(AttributeError):  # of Python before 3.11.4, where a TLS transport has ended
                writer.transport.abort()
        await asyncio.sleep(0)


Serve = Callable[..., Awaitable[Site]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts a site: serve(behaviour, address="127.0.0.1", port=0, tls=None)."""
    sites: list[Site] = []

    async def start(
        behaviour: Behaviour, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
    ) -> Site:
        site = Site(behaviour)
        await site.listen(address, port, tls)
        sites.append(site)
        return site

    yield start
    for site in sites:
        await site.close()


class Client:
    """An engine, opened, that answers to `ask`."""

    def __init__(self, engine: Engine, settings: FetchSettings) -> None:
        self._waiting: dict[int, asyncio.Future[Result]] = {}
        self.fetcher = engine(settings, self._arrive)

    def _arrive(self, result: Result) -> None:
        tag = result.request.tag
        assert isinstance(tag, int)
        self._waiting.pop(tag).set_result(result)

    async def ask(
        self, url: str, etag: str | None = None, last_modified: str | None = None, once: bool = False
    ) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting[id(future)] = future
        self.fetcher.start(Request(url, etag, last_modified, tag=id(future), once=once))
        async with asyncio.timeout(20):
            return await future


Ask = Callable[..., Awaitable[Result]]


@pytest.fixture
async def client(engine: Engine) -> AsyncIterator[Callable[..., Awaitable[Client]]]:
    """Opens a client with these settings: client(allow_private=False, …)."""
    clients: list[Client] = []

    async def start(**settings: object) -> Client:
        made = Client(engine, FetchSettings(**{"user_agent": "test/1", "allow_private": True, **settings}))  # type: ignore[arg-type]
        await made.fetcher.open()
        clients.append(made)
        return made

    yield start
    for made in clients:
        await made.fetcher.close()


@pytest.fixture
def ask(client: Callable[..., Awaitable[Client]]) -> Ask:
    """One request with these settings: ask(url, max_body_bytes=100, …)."""

    async def one(url: str, **settings: object) -> Result:
        return await (await client(**settings)).ask(url)

    return one


@pytest.fixture
def get(ask: Ask) -> Callable[..., Awaitable[Response]]:
    """The same, where a response is expected."""

    async def one(url: str, **settings: object) -> Response:
        result = await ask(url, **settings)
        assert isinstance(result, Response), result
        return result

    return one


class Certificate:
    """A self-made certificate for localhost and 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        self.file, self.key = folder / "cert.pem", folder / "key.pem"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
                *("-keyout", self.key, "-out", self.file, "-days", "2", "-subj", "/CN=localhost"),
                *("-addext", "subjectAltName=DNS:localhost,DNS:site.test,DNS:closing.test,IP:127.0.0.1"),
            ],
            check=True,
            capture_output=True,
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.file, self.key)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    return Certificate(tmp_path_factory.mktemp("tls"))
