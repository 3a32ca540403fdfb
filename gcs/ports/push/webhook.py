"""Webhooks: a POST for each match, signed as Standard Webhooks says. 2xx means that the receiver has it.

Invariant: no redirect is followed, and of the answer only its status is read.
"""

import time
from collections.abc import Sequence

import aiohttp
import msgspec

from gcs.core.watch.profile import Match
from gcs.core.watch.push_target import PushTarget
from gcs.core.watch.signature import signed_headers
from gcs.ports.push import PUSH_S, PushError
from gcs.version import __version__


class WebhookMessage(msgspec.Struct, frozen=True):
    """The body of a POST."""

    type: str
    timestamp: str
    data: Match


class WebhookReceiver:
    """Posts each match to a URL, with a signature."""

    most = 1

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def push(self, target: PushTarget, secret: str, matches: Sequence[Match]) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=PUSH_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=aiohttp.TCPConnector(limit=0),
            )
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
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise PushError(type(error).__name__) from None  # its text holds the address
            if not 200 <= status < 300:
                raise PushError(f"HTTP {status}")

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
