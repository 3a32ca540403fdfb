"""Errands from the whiteboard: for helpers that can reach it, inside the same network.

Invariant: an errand is acked after its summary was put, never before; if the helper dies in between, there will
be two summaries, which is harmless.
"""

import asyncio
import math
from collections.abc import Sequence

from gcs.core.helpers.idleness import why_idle
from gcs.core.helpers.pools import BEAT_TTL_S, pool
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, HelperBeat, Means, Member, SummaryTS, UrlTS
from gcs.ports.errands import HelperTerms
from gcs.ports.space.port import Space, Taken

#: seconds before a full inbox is tried again
FULL_S = 0.5


class WhiteboardErrands:
    """See `gcs.ports.errands.ErrandPort`. `close` closes the space, too."""

    def __init__(self, space: Space, terms: HelperTerms, place: str = "", means: Means = Means.PLAIN) -> None:
        self.helper, self.place, self.means, self.terms = space.name, place, means, terms
        self.why_idle = ""
        self._space = space
        self._pool = pool(place, means)
        self._held: dict[str, Taken[UrlTS]] = {}

    async def take(self, limit: int, timeout_s: float) -> list[UrlTS]:
        lease_s = self.terms.lease_s
        taken = await self._space.take_many(
            [template(UrlTS)], at=self._pool, limit=limit, timeout_s=timeout_s, lease_s=lease_s
        )
        self._held |= {each.item.id: each for each in taken}
        return [each.item for each in taken]

    async def extend(self, errands: Sequence[UrlTS]) -> list[UrlTS]:
        held = [self._held[errand.id] for errand in errands if errand.id in self._held]
        still = [each.item for each in await self._space.renew(held)]
        for errand in errands:
            if errand not in still:
                self._held.pop(errand.id, None)
        return still

    async def put(self, summary: SummaryTS) -> None:
        """Put the summary into the inbox of the errand's gatherer; waits while the inbox is full, but not for ever.

        After a lease, the gatherer fetches the page itself, and a summary is of no use.
        """
        for _ in range(math.ceil(self.terms.lease_s / FULL_S)):
            receipt = await self._space.out(summary, to=summary.gatherer)
            if not receipt.full:
                break
            await asyncio.sleep(FULL_S)
        if taken := self._held.pop(summary.id, None):
            await self._space.ack([taken])

    async def give_back(self, errands: Sequence[UrlTS]) -> None:
        held = [taken for errand in errands if (taken := self._held.pop(errand.id, None))]
        await self._space.release(held)

    async def beat(self, beat: HelperBeat) -> bool:
        """Put the beat on the board, and read the state of the crawl there."""
        await self._space.out(beat, ttl_s=BEAT_TTL_S)
        control = await self._space.read(template(Control))
        idle = not (self._held or beat.pages_per_s)
        members = await self._space.scan(template(Member)) if idle else []
        self.why_idle = why_idle(members, control, self.place, self.means) if idle else ""
        return control is None or control.state not in (CrawlState.DONE, CrawlState.STOPPING)

    async def close(self) -> None:
        """Take the beat from the board, and close the space."""
        try:
            await self._space.take(template(HelperBeat, helper=self.helper))
        finally:
            await self._space.close()
