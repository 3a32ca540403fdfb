"""Ending tasks for sure. A cancellation can get lost: a library may catch it while it tidies a connection up."""

import asyncio
from collections.abc import Iterable
from typing import Any

#: seconds after which a task that goes on is told again
AGAIN_S = 1.0


async def end(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel the tasks, again and again, until all have ended."""
    waiting = {task for task in tasks if not task.done()}
    while waiting:
        for task in waiting:
            task.cancel()
        _, waiting = await asyncio.wait(waiting, timeout=AGAIN_S)
