"""A crawl by one gatherer in this process: the event loop, Ctrl-C, the progress line."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any, TypeVar

from gcs.app.terminal import Outcome, Progress
from gcs.core.report import report
from gcs.roles.gatherer import Gatherer, GathererState

T = TypeVar("T")
#: seconds between two redraws of the progress
REFRESH_S = 0.25


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on uvloop, with a garbage collector tuned for a crawl."""
    import uvloop

    # a page makes thousands of objects and no cycles: looking for cycles every 700 objects costs a tenth of the crawl
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    return uvloop.run(main)


def run_crawl(
    make: Callable[[], Gatherer], seeds: list[str], *, crawl: str, progress: bool, session: int = 1
) -> Outcome:
    """Run a gatherer to its end. The first Ctrl-C keeps the state and ends soon, the second ends at once."""
    return run_loop(_run(make, seeds, crawl, progress, session))


async def _run(make: Callable[[], Gatherer], seeds: list[str], crawl: str, progress: bool, session: int) -> Outcome:
    gatherer = make()
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        if interrupted:
            if bar:
                bar.stop()  # the terminal gets its cursor back
            os._exit(130)  # everything stored is in the log already; the next run replays it
        interrupted = True
        print("ending: waiting for pages in flight (Ctrl-C again to end at once)", file=sys.stderr)
        gatherer.stop()

    loop = asyncio.get_running_loop()
    with Progress() if progress and sys.stderr.isatty() else nullcontext() as bar:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
        display = asyncio.create_task(_show(gatherer, bar)) if bar else None
        try:
            state = await gatherer.run(seeds, session)
        finally:
            if display:
                display.cancel()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
    return Outcome(report.build(crawl, state, [gatherer.final_share]), interrupted and state is not GathererState.DONE)


async def _show(gatherer: Gatherer, bar: Progress) -> None:
    while True:
        await asyncio.sleep(REFRESH_S)
        if gatherer.state is not GathererState.RUNNING:
            return
        bar.update(gatherer.share())
