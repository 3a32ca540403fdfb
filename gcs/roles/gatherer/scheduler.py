"""The pulse: when a gatherer's turn is due. It calls; it knows nothing of what a turn does.

Invariant: however often it is woken, the turn is called once, soon; and a sleeper is always woken in time.
"""

import asyncio
from collections.abc import Callable


class Scheduler:
    """Calls a turn when something has happened, or when the time has come."""

    def __init__(self, turn: Callable[[], None]) -> None:
        self._turn = turn
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """From now on: there is a loop to call from."""
        self._loop = asyncio.get_running_loop()

    def wake(self) -> None:
        """Something has happened."""
        if not self._scheduled and self._loop:
            self._scheduled = True
            self._loop.call_soon(self._call)

    def sleep(self, seconds: float) -> None:
        """Nothing to do for so long, unless woken."""
        assert self._loop
        self.stop()
        self._timer = self._loop.call_later(max(seconds, 0.0), self.wake)

    def stop(self) -> None:
        """Forget when we wanted to be woken."""
        if self._timer:
            self._timer.cancel()

    def _call(self) -> None:
        self._scheduled = False
        self._turn()
