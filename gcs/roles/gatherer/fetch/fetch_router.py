"""Hands: who fetches for a gatherer. Its own fetch engine; and the helpers, for what that has no room for.

Our own engine comes first, because it answers soonest: only what politeness has released and we cannot start now is
lent; and what needs a browser, which we do not have. To the dispatcher all are one engine.

Invariant: robots.txt, sources that are no web servers, and what a helper has brought back untried, we fetch ourselves.
"""

from gcs.core.page.values import Request
from gcs.core.url.sources import is_source
from gcs.ports.fetch import Fetcher
from gcs.roles.gatherer.fetch.dispatcher import PageVisit
from gcs.roles.gatherer.helpers.lending import Lending


class FetchRouter:
    """One fetch engine of two. See `gcs.ports.fetch.Fetcher`."""

    def __init__(self, own: Fetcher, lending: Lending | None = None) -> None:
        self._own, self._lending = own, lending
        self._left = 0

    @property
    def own_in_flight(self) -> int:
        """Those of our own engine."""
        return self._own.in_flight

    @property
    def in_flight(self) -> int:
        """Requests started and not yet answered."""
        return self._own.in_flight + (self._lending.in_flight if self._lending else 0)

    async def open(self) -> None:
        """Our own. Lending is opened by the gatherer, which has to know what an earlier run of it has lent."""
        await self._own.open()

    async def close(self) -> None:
        """Both."""
        await self._own.close()
        if self._lending:
            await self._lending.close()

    def allot(self, own: int) -> int:
        """So many requests our own engine may start in this turn; returns how many may be started in all.

        What then cannot be lent is ours after all: we are over our number for a while, by what could have been lent.
        """
        self._left = own
        return own + (self._lending.room if self._lending else 0)

    def start(self, request: Request) -> None:
        """Begin the request, here or elsewhere."""
        means = None
        if self._lending and type(request.tag) is PageVisit and not is_source(request.url):
            means = self._lending.means_for(request.tag, we_could=self._left > 0)
        if self._lending and means:
            self._lending.start(request, means)
        else:
            self._left -= 1
            self._own.start(request)
