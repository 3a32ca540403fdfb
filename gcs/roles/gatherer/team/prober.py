"""The prober: measures the way to hosts of other gatherers, when the leader asks for it, one after the other.

It opens connections and asks for nothing, so it needs no host's turn; and it probes no host twice in ten minutes.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gcs.core.messages.tuples import ProbeList
from gcs.core.plan.probes import AccessTimes
from gcs.core.url.canonical import canonical
from gcs.core.url.sortkey import host_of_key, origin_of, sort_key

#: seconds between two probes, and between two looks for a new list
PAUSE_S, LOOK_S = 0.05, 0.5


class Prober:
    """What one gatherer knows of the way to hosts."""

    def __init__(
        self, round_trip: Callable[[str], Awaitable[float | None]] | None, most: int, clock: Callable[[], float]
    ) -> None:
        self._round_trip = round_trip if most else None
        self._times = AccessTimes(most, clock)

    def access(self) -> dict[bytes, float]:
        """Host → seconds of a round trip, for the leader."""
        return dict(self._times.seconds)

    async def run(self, wanted: Callable[[], ProbeList | None]) -> None:
        """Probe what the list on the board names, and again when it has grown old."""
        while self._round_trip is not None:
            await asyncio.sleep(LOOK_S)
            asked = wanted()
            for origin in self._times.due(asked.origins) if asked else ():
                url = canonical(f"{origin}/")
                if url is None or origin_of(url) != origin:
                    continue  # not written by a leader of ours
                self._times.probed(origin, host_of_key(sort_key(url)), await self._round_trip(origin))
                await asyncio.sleep(PAUSE_S)
