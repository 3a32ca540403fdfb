"""Tasks that run beside a turn, work that is repeated whatever fails, and ending tasks for sure."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, NoReturn

from gcs.errors import SpaceError
from gcs.events import Events

#: seconds after which a task that goes on is cancelled again: a library may swallow a cancellation while it tidies up
AGAIN_S = 1.0


async def end(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel the tasks, again and again, until all have ended."""
    waiting = {task for task in tasks if not task.done()}
    while waiting:
        for task in waiting:
            task.cancel()
        _, waiting = await asyncio.wait(waiting, timeout=AGAIN_S)


async def repeat(work: Callable[[], Awaitable[None]], pause_s: float, events: Events, failed: str) -> NoReturn:
    """Do the work again and again. A whiteboard that cannot be reached is logged once, until it is back."""
    reason = ""
    while True:
        try:
            await work()
            reason = ""
        except SpaceError as error:
            if str(error) != reason:
                reason = str(error)
                events.warning("unreachable", reason=reason)
        except Exception as error:  # whatever it is, the next try may succeed
            events.error(failed, error=repr(error))
        await asyncio.sleep(pause_s)


class BackgroundTasks:
    """Tasks that wait for the network so that a turn never has to. The first failure is kept for the next turn."""

    def __init__(self, request_turn: Callable[[], None]) -> None:
        #: asks for a turn
        self.request_turn = request_turn
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: BaseException | None = None

    def start(self, *jobs: Coroutine[Any, Any, None]) -> None:
        """Run these jobs until `close`."""
        for job in jobs:
            task = asyncio.ensure_future(job)
            task.add_done_callback(self._ended)
            self._tasks.append(task)

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self._failed is not None:
            raise self._failed

    async def close(self) -> None:
        await end(self._tasks)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed = self._failed or error
            self.request_turn()
