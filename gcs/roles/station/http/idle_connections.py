"""Idle connections are closed, so that there is room for those that send requests.

Anybody who reaches the station can open connections, and aiohttp waits without limit for a request, or for the rest of
one. Each connection is an open file of this process, which may have a thousand of them, and which may be crawling too.

Invariant: a connection with a request under way is left alone (handlers limit their readers and helpers themselves). Of
the others, none stays for longer than IDLE_S, and at most MOST_IDLE stay.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web

from gcs.roles.station.http.auth import Handler

#: seconds that a connection may stay without a request, and how many such connections may stay
IDLE_S, MOST_IDLE = 30.0, 128
#: seconds between two checks
CHECK_S = 0.5


class IdleConnections:
    """The idle connections of one station."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: connection → requests under way
        self._busy: Counter[object] = Counter()
        #: connection → since when it is idle
        self._idle: dict[Any, float] = {}

    @web.middleware
    async def attend(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The outermost middleware: counts the requests under way of each connection."""
        connection = request.protocol
        self._busy[connection] += 1
        try:
            return await handler(request)
        finally:
            self._busy[connection] -= 1
            if not self._busy[connection]:
                del self._busy[connection]

    async def run(self, connections: Callable[[], Sequence[Any]]) -> None:
        while True:
            self.close_idle(connections())
            await asyncio.sleep(CHECK_S)

    def close_idle(self, connections: Sequence[Any]) -> None:
        """Close the connections that have been idle for too long, and the longest idle ones if there are too many."""
        now = self._clock()
        since = {each: self._idle.get(each, now) for each in connections if each not in self._busy}
        oldest = sorted(since, key=since.__getitem__)
        too_many = max(len(oldest) - MOST_IDLE, 0)
        for at, each in enumerate(oldest):
            if at < too_many or now - since[each] >= IDLE_S:
                del since[each]
                each.force_close()
        self._idle = since
