"""A loan: the machine of somebody who helps, put to work at the desk of a crawl."""

import asyncio
import contextlib
import dataclasses
import os
import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from gcs.cli.parts import make_fetcher, make_reader
from gcs.core.allowance import Limits
from gcs.core.template import template
from gcs.core.tuples import Charter, Means
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.desk import Desk
from gcs.ports.desk.board import BoardDesk
from gcs.ports.space import SpaceSettings, open_space
from gcs.ports.space.keys import checked
from gcs.roles.helper import FETCH, Helper
from gcs.settings import Settings, terms

events = Events("helper")

#: seconds between two looks whether to stop, and to wait for the crawl to be there
LOOK_S, CHARTER_S = 0.25, 60.0
#: seconds after which a helper that was stopped and does not end (the whiteboard is gone) is given up
HARD_S = 6.0
#: deliveries before an errand is set aside: it expires, and its gatherer sees to it
NEVER = 1 << 31
TIMEOUTS = ("connect_timeout_s", "first_byte_timeout_s", "total_timeout_s", "slow_s")


@dataclass(frozen=True, slots=True)
class Loan:
    """What the owner of a machine lends, and where to."""

    space: str
    crawl: str = "crawl"
    place: str = ""
    limits: Limits = field(default_factory=Limits)
    #: the owner, too, allows private addresses; the crawl has to as well
    allow_private: bool = False

    def __post_init__(self) -> None:
        checked(self.place or "-", "place")


async def work(loan: Loan, is_to_stop: Callable[[], bool]) -> bool:
    """Help until told to stop; says whether nothing is left to do: the crawl is over, or the allowance is spent."""
    desk = await open_desk(loan)
    helper = make_helper(desk, loan)
    events.info("on-duty", helper=desk.helper, crawl=loan.crawl, place=loan.place, connections=loan.limits.connections)
    run = asyncio.ensure_future(helper.run())
    while not (await asyncio.wait([run], timeout=LOOK_S))[0]:
        if is_to_stop():
            helper.stop()
            if not (await asyncio.wait([run], timeout=HARD_S))[0]:
                run.cancel()
            break
    with contextlib.suppress(asyncio.CancelledError):
        await run
    events.info("off-duty", helper=desk.helper, pages=helper.pages, bytes=helper.bytes)
    return helper.is_over or not helper.stopping


async def open_desk(loan: Loan) -> Desk:
    """A desk at the whiteboard of the crawl, under a name of our own."""
    name = f"{socket.gethostname()}-{os.getpid()}-{random.SystemRandom().getrandbits(24):06x}"
    space = await open_space(loan.space, crawl=loan.crawl, name=name, settings=SpaceSettings(max_deliveries=NEVER))
    try:
        charter = await space.read(template(Charter), timeout_s=CHARTER_S)
        if charter is None:
            raise SpaceError(f"there is no crawl '{loan.crawl}' at {loan.space}: look at the name, or start it first")
        settings = msgspec.json.decode(charter.settings, type=Settings)
    except BaseException:
        await space.close()
        raise
    return BoardDesk(space, terms(settings), loan.place, Means.PLAIN)


def make_helper(desk: Desk, loan: Loan, clock: Callable[[], float] = time.monotonic) -> Helper:
    """A helper at this desk, which ends its requests within its leases."""
    told, limits = desk.terms, loan.limits
    fetch = dataclasses.replace(
        told.fetch,
        connections=limits.connections,
        kept_connections=4 * limits.connections,
        allow_private=told.fetch.allow_private and loan.allow_private,
        **{name: min(getattr(told.fetch, name), FETCH * told.lease_s) for name in TIMEOUTS},
    )
    reader = make_reader(told.summary, told.urls, told.fetch.robots_token, told.nofollow, in_processes=False)
    return Helper(desk, reader, limits, lambda sink: make_fetcher(fetch, sink), clock)
