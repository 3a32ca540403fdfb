"""The fake web as a server in this process: one listening socket for every host, plus one for control.

    async with FakeWeb(FakeWebSpec.plain(hosts=5, pages=100)) as server:
        ... crawl server.seeds ...
        assert set(server.log.hits) >= survey(server.web).pages

Only loopback addresses are bound (never 0.0.0.0), all at one port. The control socket answers
`/__log` (JSON of RequestLog), `/__reset` and `/__session/N`.
"""

import asyncio
import errno
import resource
import socket
from functools import partial
from typing import cast

import msgspec

from gcs.errors import UsageError
from gcs.fakeweb import FakeWebSpec, RequestLog, Web
from gcs.fakeweb.body import head
from gcs.fakeweb.server.http_connection import FakeWebConnection, Service

_BACKLOG = 512
#: descriptors beside the listening sockets: connections, files of the process
_SPARE_DESCRIPTORS = 2_048
_PORT_TRIES = 20


class FakeWeb:
    """A running fake web. Port 0 takes a free one."""

    def __init__(self, spec: FakeWebSpec, port: int = 0) -> None:
        self._spec = spec
        self._wanted_port = port
        self._servers: list[asyncio.Server] = []
        self._connections: set[FakeWebConnection] = set()

    async def __aenter__(self) -> "FakeWeb":
        loop = asyncio.get_running_loop()
        _allow_descriptors(self._spec.hosts + _SPARE_DESCRIPTORS)
        addresses = [site.address for site in Web(self._spec, 0).sites]
        port, sockets = _bind_all(addresses, self._wanted_port)
        self._service = Service(Web(self._spec, port))
        connect = partial(FakeWebConnection, self._service, self._connections)
        try:
            for sock in sockets:
                self._servers.append(await loop.create_server(connect, sock=sock, backlog=_BACKLOG))
            control = await loop.create_server(lambda: _Control(self._service), "127.0.0.1", 0)
        except OSError as error:
            await self.__aexit__()
            for sock in sockets:
                sock.close()
            raise UsageError(f"fake web: cannot serve {self._spec.hosts} hosts: {error}") from error
        self._servers.append(control)
        self.control_port: int = control.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        del error
        for _ in range(3):  # asyncio loses a connection that it has accepted and whose server is closed a moment later
            await asyncio.sleep(0)
        for server in self._servers:
            server.close()
        for _ in range(3):  # what was accepted a moment ago becomes a connection in the next turns of the loop
            for connection in list(self._connections):
                connection.abort()
            await asyncio.sleep(0)
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()

    @property
    def web(self) -> Web:
        """The web as it is served now."""
        return self._service.web

    @property
    def log(self) -> RequestLog:
        """What was requested since the start or the last reset."""
        return self._service.log

    @property
    def port(self) -> int:
        return self.web.port

    @property
    def seeds(self) -> tuple[str, ...]:
        return self.web.seeds

    def reset(self) -> None:
        """Forgets the log; flaky URLs fail again at their next first try."""
        self._service.reset()

    def set_session(self, session: int) -> None:
        """The same web, as it is in another session."""
        self._service.set_session(session)


class _Control(asyncio.Protocol):
    """Answers one request of a test, then hangs up."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by type

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if b"\r\n\r\n" in self._buffer:
            status, body = self._do(self._buffer.split(b" ")[1].decode("latin-1"))
            headers = (f"Content-Length: {len(body)}", "Content-Type: application/json", "Connection: close")
            self._transport.write(head(status, *headers) + body)
            self._transport.close()

    def _do(self, path: str) -> tuple[int, bytes]:
        if path == "/__log":
            return 200, msgspec.json.encode(self._service.log)
        if path == "/__reset":
            self._service.reset()
            return 200, b"{}"
        number = path.removeprefix("/__session/")
        if number.isdigit() and int(number):
            self._service.set_session(int(number))
            return 200, b"{}"
        return 404, b'{"error": "ask for /__log, /__reset or /__session/N"}'


def _bind_all(addresses: list[str], port: int) -> tuple[int, list[socket.socket]]:
    """Listening sockets on all addresses at one port."""
    for attempt in range(_PORT_TRIES):
        sockets: list[socket.socket] = []
        chosen = port
        try:
            for address in addresses:
                sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                sockets.append(sock)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((address, chosen))
                sock.listen(_BACKLOG)
                chosen = sock.getsockname()[1]
            return chosen, sockets
        except OSError as error:
            for sock in sockets:
                sock.close()
            # the first address found a free port that another process holds on a later one: try again
            if error.errno == errno.EADDRINUSE and not port and attempt + 1 < _PORT_TRIES:
                continue
            where = f"{address}:{chosen}"
            raise UsageError(
                f"fake web: cannot listen on {where} ({error.strerror}); give another port, or fewer hosts"
            ) from error
    raise AssertionError("unreachable")


def _allow_descriptors(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
