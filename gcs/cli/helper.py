"""`gcs helper`: lends this machine to a crawl, at hours and within limits that its owner sets.

Nothing is written to any disk: no state, no cache, no compiled module. SIGTERM, or the end of the shift, ends or gives
back what is under way within seconds.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from datetime import datetime

import click

from gcs import events as logging
from gcs.cli.loan import Loan, work
from gcs.cli.loop import run_loop
from gcs.core import shift as shifts
from gcs.core.allowance import Limits
from gcs.core.shift import Shift
from gcs.events import Events

events = Events("helper")

#: seconds between two looks at the clock on the wall
LOOK_S = 1.0


@click.command()
@click.option("--space", "url", envvar="GCS_SPACE", required=True, metavar="URL", help="The whiteboard of the crawl.")
@click.option("--crawl", default="crawl", show_default=True, help="Name of the crawl.")
@click.option("--place", default="", help="Where this machine stands: it helps the gatherers of the same place.")
@click.option("--shift", "hours", metavar="HH:MM-HH:MM", help="Help at these hours only, local time.  [always]")
@click.option(
    "--days", default="", metavar="DAYS", help="Days on which a shift begins: mon-fri, sat,sun …  [every day]"
)
@click.option("-j", "--connections", type=click.IntRange(1), default=4, show_default=True, help="Pages at once.")
@click.option("--cpu", type=click.FloatRange(0, 100), default=0, metavar="PERCENT", help="Of one core, at most.")
@click.option("--rate", type=click.FloatRange(0), default=0, metavar="N", help="Pages a second, at most.")
@click.option("--max-mb", type=click.FloatRange(0), default=0, metavar="N", help="Fetch so many MB, then end.")
@click.option("--allow-private", is_flag=True, help="Fetch from this machine's private network too, if the crawl asks.")
@click.option(
    "--log", "log_level", type=click.Choice(logging.LEVELS), default="info", show_default=True, help="What is logged."
)
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
def helper(
    url: str,
    crawl: str,
    place: str,
    hours: str | None,
    days: str,
    connections: int,
    cpu: float,
    rate: float,
    max_mb: float,
    allow_private: bool,
    log_level: str,
    log_json: bool,
) -> int:
    """Lend this machine to a crawl: fetch pages for its gatherers, and keep nothing. SIGTERM ends it within seconds."""
    logging.set_up(log_level, log_json)
    limits = Limits(connections, rate, cpu / 100, int(max_mb * 1_000_000))
    loan = Loan(url, crawl, place, limits, allow_private)
    shift = shifts.parse(hours or shifts.WHOLE_DAY, days) if hours or days else None
    return run_loop(_lend(loan, shift))


async def _lend(loan: Loan, shift: Shift | None) -> int:
    """Work every shift until a signal comes or the crawl is over; without a shift, work now."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _second_ends(stop.set))
    while not stop.is_set():
        if shift is None or shift.ends_at(datetime.now()):
            is_over = await work(loan, lambda: stop.is_set() or bool(shift and not shift.ends_at(datetime.now())))
            if is_over or shift is None:
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
