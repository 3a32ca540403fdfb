"""Webhooks: a POST for each match, signed as Standard Webhooks says. 2xx means that the receiver has it.

Invariant: no redirect is followed, and of the answer only its status is read. A public webhook is connected to at a
public address only: the very address that the name had when it was checked.
"""

import socket
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from gcs.core.watch.profile import Match
from gcs.core.watch.push_target import PushTarget
from gcs.core.watch.signature import signed_headers
from gcs.ports.fetch.guard import forbidden
from gcs.ports.push import PUSH_S, PushError
from gcs.version import __version__


class WebhookMessage(msgspec.Struct, frozen=True):
    """The body of a POST."""

    type: str
    timestamp: str
    data: Match


class PublicResolver(AbstractResolver):
    """Finds addresses of hosts, public ones only."""

    def __init__(self) -> None:
        self._resolver = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        if public := [each for each in found if forbidden(each["host"]) is None]:
            return public
        raise OSError("it has no public address")

    async def close(self) -> None:
        await self._resolver.close()


class WebhookReceiver:
    """Posts each match to a URL, with a signature; with `is_public`, to public addresses only."""

    most = 1

    def __init__(self, is_public: bool = False) -> None:
        self._is_public = is_public
        self._session: aiohttp.ClientSession | None = None

    async def push(self, target: PushTarget, secret: str, matches: Sequence[Match]) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=PUSH_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=aiohttp.TCPConnector(limit=0, resolver=PublicResolver() if self._is_public else None),
            )
        host = (urlsplit(target.address).hostname or "").rstrip(".")
        if self._is_public and _is_address(host) and forbidden(host):  # of an address, no resolver is asked
            raise PushError("it has no public address")
        for match in matches:
            now = time.time()
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
            body = msgspec.json.encode(WebhookMessage(f"page.{match.event}", at, match))
            headers = {"Content-Type": "application/json", "User-Agent": f"gcs/{__version__}"}
            headers |= signed_headers(secret, match.id, int(now), body)
            try:
                async with self._session.post(
                    target.address, data=body, headers=headers, allow_redirects=False
                ) as answer:
                    status = answer.status
            except TimeoutError as error:
                raise PushError(f"no answer in {PUSH_S:.0f} s") from error
            except aiohttp.ClientConnectorDNSError as error:
                raise PushError("it has no public address" if self._is_public else "DNS") from error
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise PushError(type(error).__name__) from None  # its text holds the address
            if not 200 <= status < 300:
                raise PushError(f"HTTP {status}")

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _is_address(host: str) -> bool:
    """Whether it is connected to as it is: an address, in any notation that a system takes for one."""
    return ":" in host or host.rpartition(".")[2][:1].isdigit()
