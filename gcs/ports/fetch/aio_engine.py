"""The aiohttp engine: requests in, answers out, one task for each; its client session; its errors in our words.

The session is set up for crawling: no cookies, no decoding, no environment, our own names and guard.

Invariant: the address guard sits in the socket factory, so it judges the very address that is connected, whether
it came from DNS or stood in the URL.
"""

import asyncio
import contextvars
import os
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.http_exceptions import LineTooLong
from yarl import URL

from gcs.core.page.values import DISCONNECT, TOO_LONG, TOO_SLOW, Failure, FailureKind, Request, Response, Result
from gcs.errors import UsageError
from gcs.ports.fetch import BodyBudget, FetchSettings, Sink, one_line, proxy_name
from gcs.ports.fetch.guard import forbidden
from gcs.ports.fetch.http_message import NOT_HTTP, ContentError, RequestHead, own_headers, readable

#: a line of a head longer than this ends the request; libcurl's limit is 100 KB
_MAX_LINE_BYTES = 64 << 10

#: why the guard refused addresses of the request that the current task carries out; filled by the socket factory
refused: contextvars.ContextVar[list[str]] = contextvars.ContextVar("refused")


@dataclass(slots=True)
class _Exchange:
    """One request, its start, and how far it has come."""

    request: Request
    #: by the clock of the event loop
    begun_s: float
    started_at: float = field(default_factory=time.time)
    head_read: bool = False


class AioFetcher:
    """Fetches by aiohttp. The contract stands in `gcs.ports.fetch`."""

    def __init__(self, settings: FetchSettings, sink: Sink) -> None:
        if settings.proxy and settings.proxy.startswith("socks"):
            raise UsageError("fetch.proxy: the engine aiohttp has no SOCKS; set fetch.engine to curl")
        self._settings, self._sink = settings, sink
        self._head = RequestHead(settings)
        self._tasks: set[asyncio.Task[Result]] = set()
        self._bodies = BodyBudget(settings)
        self._unfolding = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None

    @property
    def in_flight(self) -> int:
        return len(self._tasks)

    async def open(self) -> None:
        """Raises UsageError where the certificates to trust cannot be read."""
        self._loop = asyncio.get_running_loop()
        self._session = open_session(self._settings)

    def start(self, request: Request) -> None:
        task = self._loop.create_task(self._fetch(_Exchange(request, self._loop.time())))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await session.close()

    def _done(self, task: asyncio.Task[Result]) -> None:
        self._tasks.discard(task)
        if self._session is not None:  # else: closed, and the sink is not called any more
            self._sink(task.result())

    async def _fetch(self, exchange: _Exchange) -> Result:
        if refusal := self._head.refusal(exchange.request.url):
            return self._failure(exchange, *refusal)
        reasons: list[str] = []
        refused.set(reasons)
        try:
            return await self._exchange(exchange)
        except ContentError as error:
            return self._failure(exchange, error.kind, str(error))
        except Exception as error:  # aiohttp lets many kinds through, and every request must be answered
            if reasons:
                return self._failure(exchange, FailureKind.FORBIDDEN_ADDRESS, reasons[0])
            return self._failure(exchange, *fault(error, self._settings, exchange.head_read))

    async def _exchange(self, exchange: _Exchange) -> Response:
        assert self._session is not None, "open() comes first"
        request = exchange.request
        fields = [*self._head.fields, *own_headers(request)]
        url = URL(request.url, encoded=True)
        async with self._session.get(url, headers=fields, allow_redirects=False) as answer:
            if answer.status < 100:  # aiohttp takes any three digits
                raise ContentError(FailureKind.PROTOCOL, NOT_HTTP)
            exchange.head_read = True
            body, truncated = await self._body(answer)
        content = body
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.raw_headers)
        coding = ",".join(value for name, value in headers if name.lower() == "content-encoding")
        if coding:
            async with self._unfolding:  # some kilobytes from each of a hundred servers could be gigabytes at once
                content, why = readable(body, coding, self._settings.max_content_bytes)
                await asyncio.sleep(0)
            truncated = truncated or why
        version = answer.version
        return Response(
            request,
            answer.status,
            answer.reason or "",
            f"{version.major}.{version.minor}" if version else "1.1",
            headers,
            body,
            content,
            self._head.compose(request),
            answer.ip if isinstance(answer, _Response) else "",
            exchange.started_at,
            self._loop.time() - exchange.begun_s,
            truncated=truncated,
        )

    async def _body(self, answer: aiohttp.ClientResponse) -> tuple[bytes, str]:
        """The body as sent, within its limit of size and above its limit of speed, and why it is cut short.

        Raises what ended the answer before the first byte of its body.
        """
        chunks: list[bytes] = []
        try:
            truncated = await self._fill(chunks, answer)
        except (TimeoutError, aiohttp.ClientError, ConnectionError) as error:
            if not chunks:
                raise
            truncated = TOO_SLOW if isinstance(error, TimeoutError) else DISCONNECT
        finally:
            self._bodies.give_back(sum(map(len, chunks)))
        return b"".join(chunks), truncated

    async def _fill(self, chunks: list[bytes], answer: aiohttp.ClientResponse) -> str:
        """Reads the body into `chunks`; returns why not all of it."""
        settings = self._settings
        protocol = answer.connection.protocol if answer.connection is not None else None
        if protocol is not None:  # else: all of it is here
            protocol.read_timeout = settings.slow_s
            protocol.start_timeout()
        size_bytes = mark_bytes = 0
        mark_s = self._loop.time()
        while chunk := await answer.content.readany():
            chunks.append(chunk)
            size_bytes += len(chunk)
            is_within = self._bodies.take(len(chunk), size_bytes)
            if (beyond := size_bytes - settings.max_body_bytes) > 0:
                chunks[-1] = chunk[:-beyond]
                self._bodies.give_back(beyond)
                return TOO_LONG
            if not is_within:
                return TOO_LONG
            now_s = self._loop.time()
            if now_s - mark_s >= settings.slow_s:
                if size_bytes - mark_bytes < settings.slow_bytes_per_s * (now_s - mark_s):
                    return TOO_SLOW
                mark_s, mark_bytes = now_s, size_bytes
        return ""

    def _failure(self, exchange: _Exchange, kind: FailureKind, message: str) -> Failure:
        return Failure(exchange.request, kind, message, exchange.started_at, self._loop.time() - exchange.begun_s)


# -- the client session


def open_session(settings: FetchSettings) -> aiohttp.ClientSession:
    """Raises UsageError where the certificates to trust cannot be read."""
    guarded = settings.proxy is None and not settings.allow_private
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0,  # how many requests run is the caller's choice
            ttl_dns_cache=settings.dns_cache_s,
            keepalive_timeout=settings.idle_s,
            resolver=_FixedResolver(settings.resolve) if settings.resolve else None,
            socket_factory=_guarded_socket if guarded else None,
            ssl=_trust(settings.ca_file),
        ),
        response_class=_Response,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        proxy=settings.proxy,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
        timeout=aiohttp.ClientTimeout(
            total=settings.total_timeout_s, connect=settings.connect_timeout_s, sock_read=settings.first_byte_timeout_s
        ),
        max_line_size=_MAX_LINE_BYTES,
        max_field_size=_MAX_LINE_BYTES,
    )


def _trust(ca_file: str | None) -> ssl.SSLContext | bool:
    if ca_file is None:
        return True  # the system's certificates
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise UsageError(f"fetch.ca_file: {ca_file} cannot be read as PEM ({error})") from None


def _guarded_socket(info: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, address = info
    if reason := forbidden(address[0]):
        refused.get().append(reason)
        raise PermissionError(reason)
    return socket.socket(family, kind, protocol)


class _Response(aiohttp.ClientResponse):
    """An answer that knows the address of its server, which is gone with the connection when a short body is read."""

    #: address of the server, or of the proxy
    ip = ""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        if peer := connection.transport and connection.transport.get_extra_info("peername"):
            self.ip = peer[0]
        return await super().start(connection)


class _FixedResolver(AbstractResolver):
    """Names of the settings first, then DNS."""

    def __init__(self, entries: tuple[str, ...]) -> None:
        self._dns = aiohttp.DefaultResolver()
        self._table: dict[tuple[str, int], list[str]] = {}
        for entry in entries:
            host, port, addresses = entry.split(":", 2)
            self._table[host.lower(), int(port)] = [address.strip("[]") for address in addresses.split(",")]

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        addresses = self._table.get((host.lower(), port))
        if addresses is None:
            return await self._dns.resolve(host, port, family)
        return [_resolved(host, address, port) for address in addresses]

    async def close(self) -> None:
        await self._dns.close()


def _resolved(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)


# -- errors


def fault(error: Exception, settings: FetchSettings, head_read: bool) -> tuple[FailureKind, str]:
    """The kind and the line for a request that aiohttp ended with this exception, before or after its head came."""
    at_proxy = (
        *(aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError, aiohttp.ClientConnectorDNSError),
        *(aiohttp.ConnectionTimeoutError, UnicodeError),
    )
    if settings.proxy is not None and isinstance(error, at_proxy):
        return FailureKind.PROXY, f"the proxy {proxy_name(settings.proxy)} does not serve: {_proxy_words(error)}"
    match error:
        case aiohttp.ConnectionTimeoutError():
            return FailureKind.TIMEOUT, f"no connection within {settings.connect_timeout_s:g} s"
        case aiohttp.SocketTimeoutError() if head_read:
            return FailureKind.TIMEOUT, too_slow(settings)
        case aiohttp.SocketTimeoutError():
            return FailureKind.TIMEOUT, f"no answer within {settings.first_byte_timeout_s:g} s"
        case TimeoutError():
            return FailureKind.TIMEOUT, f"the answer was not complete after {settings.total_timeout_s:g} s"
        case aiohttp.ClientConnectorDNSError() | UnicodeError():  # a label that no name may have
            return FailureKind.DNS, "the host name does not resolve"
        case aiohttp.ClientSSLError() | ssl.SSLError() | ssl.CertificateError():
            return FailureKind.TLS, f"no trusted connection: {one_line(str(error))}"
        case aiohttp.ClientConnectorError():
            return FailureKind.CONNECT, f"no connection: {_os_words(error.os_error)}"
        case aiohttp.ClientPayloadError():
            return FailureKind.PROTOCOL, "the server closed the connection in the middle of its answer"
        case aiohttp.ServerDisconnectedError() | ConnectionError():
            return FailureKind.PROTOCOL, "the server closed the connection without an answer"
        case aiohttp.ClientResponseError():
            return _not_http(error)
        case _:
            return FailureKind.PROTOCOL, one_line(str(error)) or type(error).__name__


def too_slow(settings: FetchSettings) -> str:
    return f"slower than {settings.slow_bytes_per_s} bytes a second for {settings.slow_s:g} s"


def _not_http(error: Exception) -> tuple[FailureKind, str]:
    cause = error.__cause__ and error.__cause__.__cause__  # what the parser said, behind what aiohttp made of it
    if isinstance(cause, LineTooLong) or "Too many headers" in str(error):
        return FailureKind.TOO_LARGE, "the headers of the answer never end"
    return FailureKind.PROTOCOL, NOT_HTTP


def _proxy_words(error: Exception) -> str:
    match error:
        case aiohttp.ClientHttpProxyError():
            return f"it answered {error.status}"
        case aiohttp.ClientConnectorDNSError() | UnicodeError():
            return "its name does not resolve"
        case aiohttp.ClientConnectorError():
            return _os_words(error.os_error)
        case _:
            return "no connection in time"


def _os_words(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else one_line(str(error))
