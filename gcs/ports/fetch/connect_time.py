"""How far a host is: the round trip of a connection that is opened and closed at once, without a request.

The kernel's own figure is taken where it tells it (Linux): a busy process would measure itself. The address guard holds
here as it does for every engine. Behind a proxy nothing can be measured.
"""

import asyncio
import contextlib
import socket
import struct
import time

from gcs.core.url.sortkey import split_port
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.guard import forbidden

#: where tcp_info of Linux has the smoothed round trip, in microseconds
_RTT_AT, _INFO_BYTES = 68, 72


async def round_trip(origin: str, settings: FetchSettings) -> float | None:
    """Seconds of a round trip to a canonical origin; None if it cannot be reached, or must not."""
    if settings.proxy is not None:
        return None
    scheme, _, authority = origin.partition("://")
    host, port = split_port(authority)
    number = int(port[1:]) if port else 443 if scheme == "https" else 80
    with contextlib.suppress(OSError, TimeoutError, UnicodeError):
        async with asyncio.timeout(2 * settings.connect_timeout_s):
            for address in await _addresses(host.strip("[]"), number, settings):
                if settings.allow_private or not forbidden(address):
                    return await asyncio.to_thread(_connect, address, number, settings.connect_timeout_s)
    return None


async def _addresses(host: str, port: int, settings: FetchSettings) -> list[str]:
    for entry in settings.resolve:
        name, number, addresses = entry.split(":", 2)
        if (name, number) == (host, str(port)):
            return [address.strip("[]") for address in addresses.split(",")]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _connect(address: str, port: int, timeout_s: float) -> float:
    begun = time.perf_counter()
    with socket.create_connection((address, port), timeout_s) as connection:
        seconds = time.perf_counter() - begun
        with contextlib.suppress(OSError, AttributeError, struct.error):
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
            seconds = struct.unpack_from("=I", info, _RTT_AT)[0] / 1e6 or seconds
        return seconds
