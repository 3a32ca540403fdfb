"""The process of a helper (`gcs helper`, or an RQ job of a shift): options, start, work and end.

A loan is what the owner of a machine lends to a crawl: which crawl, and within which limits.
"""

import asyncio
import contextlib
import dataclasses
import functools
import os
import random
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click

from gcs.app import find_crawl
from gcs.app.assembly import make_browser, make_fetcher, make_reader
from gcs.app.crawl_input import Number
from gcs.core.helpers.loan import WHOLE_DAY, Loan, LoanLimits, Shift, parse
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Means
from gcs.errors import SpaceError, UsageError
from gcs.events import Events
from gcs.ports.errands import ErrandPort
from gcs.ports.errands.gateway_client import AwayError, open_gateway
from gcs.ports.errands.whiteboard_errands import WhiteboardErrands
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.clock import lease_time
from gcs.ports.space.port import checked
from gcs.ports.space.redis_space import open_space
from gcs.roles.helper.helper import FETCH, Helper
from gcs.settings import of_charter, terms

events = Events("helper")

#: seconds between two looks whether to stop, and off duty between two looks at the clock on the wall
LOOK_S, OFF_DUTY_LOOK_S = 0.25, 1.0
#: seconds before a crawl that is out of reach, or over, is asked for again, in a shift or by a helper that stays
AWAY_S = 20.0
#: seconds after which a helper that was stopped and does not end (the whiteboard is gone) is given up
HARD_S = 6.0
#: deliveries before an errand is set aside: it expires, and its gatherer sees to it
NEVER = 1 << 31
#: timeouts of a fetch, which must end within the lease
TIMEOUTS = ("connect_timeout_s", "first_byte_timeout_s", "total_timeout_s", "slow_s")
#: what the owner of a machine decides; the same for `gcs helper` and `gcs shift schedule`
OPTIONS = (
    click.option("--space", "url", envvar="GCS_SPACE", default="", metavar="URL", help="Whiteboard of the crawl."),
    click.option("--crawl", default="crawl", show_default=True, help="Name of the crawl, with --space."),
    click.option("--gateway", envvar="GCS_GATEWAY", default="", metavar="URL", help="Or a station; needs --token."),
    click.option(
        "--token",
        envvar="GCS_TOKEN",
        default="",
        help="From the operator of the crawl (gcs token create). Set GCS_TOKEN to keep it out of process lists.",
    ),
    click.option("--browser", is_flag=True, help="Help with pages that scripts write, in headless Chromium."),
    click.option("--place", default="", help="Place of this machine: it helps the gatherers of the same place."),
    click.option("--shift", "hours", metavar="HH:MM-HH:MM", help="Help at these hours only, local time.  [always]"),
    click.option("--days", default="", metavar="DAYS", help="Days on which a shift begins: mon-fri, sat,sun …  [all]"),
    click.option("-j", "--connections", type=click.IntRange(1), default=4, show_default=True, help="Pages at once."),
    click.option("--cpu", type=Number(0, 100), default=0, metavar="PERCENT", help="Of one core, at most."),
    click.option("--rate", type=Number(0), default=0, metavar="N", help="Pages a second, at most."),
    click.option("--max-mb", type=Number(0), default=0, metavar="N", help="Fetch so many MB, then end."),
    click.option("--allow-private", is_flag=True, help="Fetch from the machine's own network too, if the crawl asks."),
)


@dataclass(frozen=True, slots=True)
class HelperOutcome:
    """What came of a helper's work."""

    helper: str
    pages: int
    bytes: int
    #: the crawl is over
    is_over: bool
    #: what the owner of the machine lends is spent
    is_spent: bool


def loan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a loan; `read_loan` reads them."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def read_loan(options: dict[str, Any]) -> tuple[Loan, Shift | None]:
    """What is lent, and when; takes its own options out of `options`."""
    take = options.pop
    limits = LoanLimits(take("connections"), take("rate"), take("cpu") / 100, int(take("max_mb") * 1_000_000))
    place = take("place")
    checked(place or "-", "place")
    url, gateway, token = take("url"), take("gateway"), take("token").strip()  # a file ends in a newline
    if gateway:
        url = ""  # of the two ways, the one that needs less trust
        if not token:
            raise UsageError("--gateway needs a --token (or GCS_TOKEN): ask the operator of the crawl for one")
        if not token.isprintable():
            raise UsageError("--token: it must be one line, as gcs token create prints it")
    elif not url:
        raise UsageError(
            "no crawl is named: give --gateway URL of a station and --token, or --space URL of the whiteboard"
        )
    loan = Loan(url, take("crawl"), place, limits, take("allow_private"), gateway, token, take("browser"))
    hours, days = take("hours"), take("days")
    return loan, parse(hours or WHOLE_DAY, days) if hours or days else None


async def lend(loan: Loan, shift: Shift | None, stays: bool = False) -> int:
    """Work every shift until a signal comes or the crawl is over; without a shift, work now.

    `stays`: after the end of a crawl, wait for the next one.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _second_ends(stop.set))
    while not stop.is_set():
        if shift is None or shift.ends_at(datetime.now()):
            help_ = work_shift if shift or stays else work
            done = await help_(loan, lambda: stop.is_set() or bool(shift and not shift.ends_at(datetime.now())))
            if done.is_over and stays:
                await _ends(asyncio.ensure_future(asyncio.sleep(AWAY_S)), stop.is_set)
                continue
            if done.is_over or done.is_spent or shift is None:
                break
        else:
            events.info("off-duty", shift=shift, until=shift.next_begin(datetime.now()))
        while shift and not stop.is_set() and not shift.ends_at(datetime.now()):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), OFF_DUTY_LOOK_S)
    return 0


async def work(loan: Loan, is_to_stop: Callable[[], bool]) -> HelperOutcome:
    """Help until `is_to_stop` says so, or nothing is left to do."""
    opening = asyncio.ensure_future(open_errands(loan))
    if not await _ends(opening, is_to_stop):  # stopped before the crawl was there
        opening.cancel()
        return HelperOutcome("", 0, 0, is_over=False, is_spent=False)
    errands = await opening
    helper = make_helper(errands, loan)
    crawl, connections = errands.terms.crawl, loan.limits.connections
    events.info("on-duty", helper=errands.helper, crawl=crawl, place=errands.place, connections=connections)
    run = asyncio.ensure_future(helper.run())
    if not await _ends(run, is_to_stop):
        helper.stop()
        if not (await asyncio.wait([run], timeout=HARD_S))[0]:
            run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run
    events.info("off-duty", helper=errands.helper, pages=helper.pages, bytes=helper.bytes)
    return HelperOutcome(errands.helper, helper.pages, helper.bytes, helper.is_over, not helper.stopping)


async def work_shift(loan: Loan, is_to_stop: Callable[[], bool]) -> HelperOutcome:
    """As `work`, for hours unattended: a crawl that is not there, or out of reach, is tried again."""
    while True:
        try:
            return await work(loan, is_to_stop)
        except (SpaceError, AwayError) as error:
            events.warning("away", reason=str(error), again_s=AWAY_S)
        if not await _ends(asyncio.ensure_future(asyncio.sleep(AWAY_S)), is_to_stop):
            return HelperOutcome("", 0, 0, is_over=False, is_spent=False)


async def _ends(task: "asyncio.Task[Any]", is_to_stop: Callable[[], bool]) -> bool:
    """Wait for the task; False if the process is to stop before."""
    while not (await asyncio.wait([task], timeout=LOOK_S))[0]:
        if is_to_stop():
            return False
    return True


async def open_errands(loan: Loan) -> ErrandPort:
    """Open the errands of a crawl, at a gateway or at the crawl's whiteboard, under a name made here."""
    means, own = Means.BROWSER if loan.browser else Means.PLAIN, f"{random.SystemRandom().getrandbits(24):06x}"
    if loan.gateway:  # the name of the machine stays private there
        return await open_gateway(loan.gateway, loan.token, means, own)
    name = f"{socket.gethostname()}-{os.getpid()}-{own}"
    space = await open_space(loan.space, crawl=loan.crawl, name=name, settings=SpaceSettings(max_deliveries=NEVER))
    try:
        charter = await space.read(template(Charter))
        if charter is None:
            events.info("no-crawl-yet", crawl=loan.crawl, wait_s=find_crawl.CHARTER_S)
            charter = await find_crawl.read_charter(space, loan.crawl, loan.space)
        settings = of_charter(charter.settings)
    except BaseException:
        await space.close()
        raise
    return WhiteboardErrands(space, terms(settings), loan.place, means)


def make_helper(errands: ErrandPort, loan: Loan, clock: Callable[[], float] = lease_time) -> Helper:
    """A helper that takes these errands, and ends its requests within its leases."""
    told, limits = errands.terms, loan.limits
    fetch = dataclasses.replace(
        told.fetch,
        connections=limits.connections,
        kept_connections=4 * limits.connections,
        allow_private=told.fetch.allow_private and loan.allow_private,
        sources=(),  # a stranger's crawl must not read files or the network of this machine
        proxy=None,
        ca_file=None,
        **{name: min(getattr(told.fetch, name), FETCH * told.lease_s) for name in TIMEOUTS},
    )
    reader = make_reader(told.summary, told.urls, told.fetch.robots_token, told.nofollow, in_processes=False)
    make = functools.partial(make_browser, picture=told.summary.thumbnails) if loan.browser else make_fetcher
    return Helper(errands, reader, limits, lambda sink: make(fetch, sink), clock)


def _second_ends(first: Callable[[], None]) -> Callable[[], None]:
    """A signal handler: the first signal asks, the second one ends the process."""

    def handle() -> None:
        if told:
            os._exit(130)
        told.append(True)
        first()

    told: list[bool] = []
    return handle
