"""The scheduler calls a gatherer's turn when it is due, and knows nothing of what a turn does.

Invariant: any number of calls to `request_turn` before a turn lead to one turn, soon; and a turn comes at the latest
when the time given to `sleep` is over.
"""

import asyncio
from collections.abc import Callable


class Scheduler:
    """Calls a turn after `request_turn`, or when the time given to `sleep` is over."""

    def __init__(self, turn: Callable[[], None]) -> None:
        self._turn = turn
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to schedule turns, on the running event loop; `request_turn` has no effect before."""
        self._loop = asyncio.get_running_loop()

    def request_turn(self) -> None:
        """Ask for a turn, because something has happened."""
        if not self._scheduled and self._loop:
            self._scheduled = True
            self._loop.call_soon(self._call)

    def sleep(self, seconds: float) -> None:
        """Ask for a turn in so many seconds; `request_turn` may bring it sooner."""
        assert self._loop
        self._cancel()
        self._timer = self._loop.call_later(max(seconds, 0.0), self.request_turn)

    def stop(self) -> None:
        """Call no more turns: what a turn needs is being closed."""
        self._loop = None
        self._cancel()

    def _cancel(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _call(self) -> None:
        self._scheduled = False
        if self._loop:
            self._turn()
