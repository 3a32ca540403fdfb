"""`gcs helper`: lends this machine to a crawl, at hours and within limits that its owner sets.

Nothing is written to any disk: no state, no cache, no compiled module (with --browser, Chromium has a profile in TMPDIR
while it runs). SIGTERM, or the end of the shift, ends or gives back what is under way within seconds.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from gcs.app.helper_process import loan_options, read_loan, work, work_shift
from gcs.app.local_crawl import run_loop
from gcs.app.setting_options import log_options
from gcs.core.helpers.loan import Loan, Shift
from gcs.events import Events

events = Events("helper")

#: seconds between two looks at the clock on the wall
LOOK_S = 1.0


@click.command()
@loan_options
@log_options
def helper(**options: Any) -> int:
    """Lend this machine to a crawl: fetch pages for its gatherers, and keep nothing. SIGTERM ends it within seconds."""
    return run_loop(_lend(*read_loan(options)))


async def _lend(loan: Loan, shift: Shift | None) -> int:
    """Work every shift until a signal comes or the crawl is over; without a shift, work now."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _second_ends(stop.set))
    while not stop.is_set():
        if shift is None or shift.ends_at(datetime.now()):
            help_ = work_shift if shift else work
            done = await help_(loan, lambda: stop.is_set() or bool(shift and not shift.ends_at(datetime.now())))
            if done.is_final or shift is None:
                break
        else:
            events.info("off-duty", shift=shift, until=shift.next_begin(datetime.now()))
        while shift and not stop.is_set() and not shift.ends_at(datetime.now()):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LOOK_S)
    return 0


def _second_ends(first: Callable[[], None]) -> Callable[[], None]:
    """A signal handler: the first signal asks, the second one ends the process."""

    def handle() -> None:
        if told:
            os._exit(130)
        told.append(True)
        first()

    told: list[bool] = []
    return handle
