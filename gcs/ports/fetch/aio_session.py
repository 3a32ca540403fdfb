"""aiohttp's client session, set up for crawling: no cookies, no decoding, no environment, our own names and guard.

Invariant: the address guard sits in the socket factory, so it judges the very address that is connected, whether
it came from DNS or stood in the URL.
"""

import contextvars
import socket
import ssl
from typing import TYPE_CHECKING, Any

from gcs.errors import UsageError
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.guard import forbidden

if TYPE_CHECKING:
    import aiohttp

#: a line of a head longer than this ends the request; libcurl's limit is 100 KB
_MAX_LINE_BYTES = 64 << 10

#: why the guard refused addresses of the request that the current task carries out; filled by the socket factory
refused: contextvars.ContextVar[list[str]] = contextvars.ContextVar("refused")


def open_session(settings: FetchSettings) -> "aiohttp.ClientSession":
    """Raises UsageError where the certificates to trust cannot be read."""
    import aiohttp

    guarded = settings.proxy is None and not settings.allow_private
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0,  # how many requests run is the caller's choice
            ttl_dns_cache=settings.dns_cache_s,
            keepalive_timeout=settings.idle_s,
            resolver=_fixed_resolver(settings.resolve) if settings.resolve else None,
            socket_factory=_guarded_socket if guarded else None,
            ssl=_trust(settings.ca_file),
        ),
        response_class=_response_class(),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        proxy=settings.proxy,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
        timeout=aiohttp.ClientTimeout(
            total=settings.total_timeout_s,
            connect=settings.connect_timeout_s,
            sock_read=settings.first_byte_timeout_s,
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


def _response_class() -> "type[aiohttp.ClientResponse]":
    import aiohttp

    class Answer(aiohttp.ClientResponse):
        """Knows the address of its server, which is gone with the connection when a short body is read."""

        #: address of the server, or of the proxy
        ip = ""

        async def start(self, connection: Any) -> aiohttp.ClientResponse:
            if peer := connection.transport and connection.transport.get_extra_info("peername"):
                self.ip = peer[0]
            return await super().start(connection)

    return Answer


def _fixed_resolver(entries: tuple[str, ...]) -> "aiohttp.abc.AbstractResolver":
    import aiohttp
    from aiohttp.abc import AbstractResolver, ResolveResult

    table: dict[tuple[str, int], list[str]] = {}
    for entry in entries:
        host, port, addresses = entry.split(":", 2)
        table[host.lower(), int(port)] = [address.strip("[]") for address in addresses.split(",")]

    class Fixed(AbstractResolver):
        """Names of the settings first, then DNS."""

        def __init__(self) -> None:
            self._dns = aiohttp.DefaultResolver()

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[ResolveResult]:
            addresses = table.get((host.lower(), port))
            if addresses is None:
                return await self._dns.resolve(host, port, family)
            return [_resolved(host, address, port) for address in addresses]

        async def close(self) -> None:
            await self._dns.close()

    def _resolved(host: str, address: str, port: int) -> ResolveResult:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return ResolveResult(
            hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST
        )

    return Fixed()
