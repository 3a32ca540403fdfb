"""The porter: shows connections out that ask for nothing, so that there is room for those that do.

Anybody who reaches the station can open connections, and aiohttp waits for a request, or for the rest of one, as long
as it takes. Each is a file of this process, which may have a thousand of them, and which may be the one that crawls.

Invariant: a connection with a request under way is left alone (how many readers and helpers there may be is for those
to say who serve them); of the others, none stays for longer than IDLE_S, nor more of them than MOST_IDLE.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web

from gcs.roles.station.http.auth import Handler

#: seconds that a connection may stay without a request, and connections that may
IDLE_S, MOST_IDLE = 30.0, 128
#: seconds between two looks
LOOK_S = 0.5


class IdleConnections:
    """Of one station."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: connection → requests under way
        self._busy: Counter[object] = Counter()
        #: connection → since when it asks for nothing
        self._idle: dict[Any, float] = {}

    @web.middleware
    async def attend(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The outermost middleware: sees whose request is under way."""
        connection = request.protocol
        self._busy[connection] += 1
        try:
            return await handler(request)
        finally:
            self._busy[connection] -= 1
            if not self._busy[connection]:
                del self._busy[connection]

    async def run(self, connections: Callable[[], Sequence[Any]]) -> None:
        """Look until cancelled."""
        while True:
            self.look(connections())
            await asyncio.sleep(LOOK_S)

    def look(self, connections: Sequence[Any]) -> None:
        """Show out who has been here for too long, and the longest of those that are too many."""
        now = self._clock()
        since = {each: self._idle.get(each, now) for each in connections if each not in self._busy}
        oldest = sorted(since, key=since.__getitem__)
        too_many = max(len(oldest) - MOST_IDLE, 0)
        for at, each in enumerate(oldest):
            if at < too_many or now - since[each] >= IDLE_S:
                del since[each]
                each.force_close()
        self._idle = since
