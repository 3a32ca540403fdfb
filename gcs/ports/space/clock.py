"""Time for leases and for the in-memory whiteboard: the system's, or one that a test moves by hand."""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Protocol


def lease_time() -> float:
    """Seconds since some moment, by which the holders of leases count: also while the machine sleeps (Linux).

    The clocks of other machines go on meanwhile: when this machine wakes, its leases may be held by others.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class Clock(Protocol):
    """What the in-memory whiteboard asks of time."""

    def now(self) -> float:
        """Seconds since some moment."""

    def on_tick(self, look: Callable[[], None]) -> None:
        """Call this whenever time was moved by hand."""

    async def wait(self, change: asyncio.Event, deadline: float | None) -> None:
        """Come back when the event is set, or not long after the deadline (None: never)."""


class LoopClock:
    """The time of the event loop."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def on_tick(self, look: Callable[[], None]) -> None:
        """Real time is never moved by hand."""

    async def wait(self, change: asyncio.Event, deadline: float | None) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await change.wait()
        except TimeoutError:
            return
