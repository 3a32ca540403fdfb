"""The stream: live values as server-sent events. A topic is sent when it has changed since this reader got it.

Invariant: a slow reader misses states, but never the newest one: nothing is queued for it. The stream of a reader whose
token is revoked ends at the next poll.
"""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.roles.station.http.auth import Authenticator
from gcs.roles.station.http.problems import problem
from gcs.roles.station.view.poller import POLL_S, Poller

#: readers at a time: each holds a connection
MOST_READERS = 200
#: seconds of silence after which a reader is sent a comment, to show that the station is there
QUIET_S = 10 * POLL_S
#: milliseconds after which a browser comes back
RETRY_MS = 2_000


class EventStream:
    """The live values of one crawl."""

    def __init__(self, poller: Poller, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._topics: dict[str, Callable[[], msgspec.Struct]] = {
            "status": poller.status,
            "links": poller.links,
            "rebalances": poller.rebalances,
            "errors": poller.errors,
            "pages": poller.pages,
        }
        self._events: dict[str, bytes] = {}
        self._changed = asyncio.Event()
        self._readers = 0
        self._ended = False
        poller.listen(self._update)

    def end(self) -> None:
        """End the streams of all readers, when the station or the opened closes."""
        self._ended = True
        self._wake_readers()

    @property
    def readers(self) -> int:
        return self._readers

    def _update(self) -> None:
        if self._readers:
            self._encode()
        self._wake_readers()

    def _wake_readers(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _encode(self) -> None:
        for topic, value in self._topics.items():
            self._events[topic] = b"event: %s\ndata: %s\n\n" % (topic.encode(), msgspec.json.encode(value()))

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self._readers >= MOST_READERS:
            return problem(503, "too many readers: close some pages", {"Retry-After": "30"})
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
        )
        self._readers += 1
        try:
            with contextlib.suppress(ConnectionError):  # the reader has gone
                await response.prepare(request)
                await response.write(b"retry: %d\n\n" % RETRY_MS)
                self._encode()
                await self._feed(request, response)
        finally:
            self._readers -= 1
        return response

    async def _feed(self, request: web.Request, response: web.StreamResponse) -> None:
        sent: dict[str, bytes] = {}
        while self._authenticator.allows(request, Role.VIEW):
            changed = self._changed
            news = [event for topic, event in self._events.items() if sent.get(topic) != event]
            sent = dict(self._events)
            await response.write(b"".join(news) or b": still here\n\n")
            if self._ended:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), QUIET_S)
