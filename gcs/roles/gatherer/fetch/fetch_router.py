"""The fetch router: each request goes to the gatherer's own fetch engine, or to helpers.

To the dispatcher both are one engine. The own engine comes first, because it answers soonest. Lent are requests that
politeness has released while the own engine has no room, and pages that need a browser.
Only what the own engine sends is signed, if requests are signed at all: robots.txt, too.

Invariant: never lent are robots.txt, sources that are no web servers, requests with headers of a plug-in (they may hold
secrets), what pages need (requisites), and pages that a helper has returned untried.
"""

from collections.abc import Callable

from gcs.core.page.values import Request
from gcs.core.url.queued_url import level_of
from gcs.core.url.sources import is_source
from gcs.ports.fetch import Fetcher
from gcs.roles.gatherer.fetch.dispatcher import PageVisit
from gcs.roles.gatherer.helpers.lending import Lending


class FetchRouter:
    """The own fetch engine and lending as one. Implements `gcs.ports.fetch.Fetcher`."""

    def __init__(
        self, own: Fetcher, lending: Lending | None = None, sign: Callable[[Request], Request] | None = None
    ) -> None:
        self._own, self._lending, self._sign = own, lending, sign
        self._left = 0  # requests that the own engine may still start in this turn

    @property
    def own_in_flight(self) -> int:
        return self._own.in_flight

    @property
    def in_flight(self) -> int:
        return self._own.in_flight + (self._lending.in_flight if self._lending else 0)

    async def open(self) -> None:
        """Open the own engine. The gatherer opens lending, since it needs the URLs that an earlier run has lent."""
        await self._own.open()

    async def close(self) -> None:
        await self._own.close()
        if self._lending:
            await self._lending.close()

    def allot(self, own: int) -> int:
        """Set how many requests the own engine may start in this turn; returns how many may be started in all.

        If some of the latter cannot be lent, the own engine starts them too, and is over its number for a while.
        """
        self._left = own
        return own + (self._lending.room if self._lending else 0)

    def start(self, request: Request) -> None:
        means = None
        tag = request.tag
        if self._lending and type(tag) is PageVisit:
            is_own = level_of(tag.entry.depth) or is_source(request.url) or request.headers
            means = None if is_own else self._lending.means_for(tag, own_room=self._left > 0)
        if self._lending and means:
            self._lending.start(request, means)
        else:
            self._left -= 1
            self._own.start(self._sign(request) if self._sign and not is_source(request.url) else request)
