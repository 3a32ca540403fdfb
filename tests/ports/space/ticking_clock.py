"""Time that a test moves by hand: nothing ever times out unless the test calls `advance`."""

import asyncio
from collections.abc import Callable


class TickingClock:
    """Time that stands still until `advance`."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._lookers: list[Callable[[], None]] = []

    def now(self) -> float:
        return self._now

    def on_tick(self, look: Callable[[], None]) -> None:
        self._lookers.append(look)

    def advance(self, seconds: float) -> None:
        """Let time pass, and let those who wait look again."""
        self._now += seconds
        for look in self._lookers:
            look()

    async def wait(self, change: asyncio.Event, deadline: float | None) -> None:
        await change.wait()
