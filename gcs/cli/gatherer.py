"""`gcs gatherer`: one gatherer that joins a crawl. SIGTERM: hand over and leave. SIGINT: stop and keep the state."""

import asyncio
import contextlib
import math
import os
import signal
import socket
import time
from pathlib import Path
from typing import NoReturn

import click

from gcs import events as logging
from gcs.app.local_crawl import run_loop
from gcs.app.member_process import MemberProcess, MemberSpec, patient
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Control, CrawlState
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.address import SpaceSettings, shown
from gcs.ports.tasks import end
from gcs.roles.gatherer import Gatherer, GathererState

events = Events("gatherer")

#: seconds to wait for the crawl to be there
CHARTER_S = 60.0
#: seconds between two looks for a crawl to begin, and between two signs of life
ATTEND_S, ALIVE_S = 0.5, 10.0


@click.command()
@click.option("--space", "url", envvar="GCS_SPACE", required=True, metavar="URL", help="The whiteboard of the crawl.")
@click.option("--crawl", default="crawl", show_default=True, help="Name of the crawl.")
@click.option("--name", default=socket.gethostname, show_default="host name", help="Our name: keep it, with the disk.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
    help="Our disk. On a shared file system, the others can recover what is on it.",
)  # fmt: skip
@click.option("--place", default="", help="Where we stand: helpers of the same place work for us.")
@click.option("--server", default="seed-server", show_default=True, help="Our seed-server, if the crawl has some.")
@click.option("--coordination", metavar="NAME", help="Join only a crawl that is coordinated so. [as the crawl is]")
@click.option("--stay", is_flag=True, help="Wait for a crawl to begin, and after its end for the next one.")
@click.option(
    "--log", "log_level", type=click.Choice(logging.LEVELS), default="info", show_default=True, help="What is logged."
)
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
def gatherer(
    url: str,
    crawl: str,
    name: str,
    output: Path,
    place: str,
    server: str,
    coordination: str | None,
    stay: bool,
    log_level: str,
    log_json: bool,
) -> int:
    """Join a crawl (see gcs crawl -n, or --space); SIGTERM hands over and leaves."""
    logging.set_up(log_level, log_json)
    return run_loop(_attend(MemberSpec(url, crawl, name, output, place, server, coordination), stay))


async def _attend(post: MemberSpec, stay: bool) -> int:
    """Work for a crawl, or for one after the other under this name until a signal says that it is enough."""
    signals = Signals()
    alive = asyncio.create_task(_show_life(post.output / "state" / "alive"))
    code = 0
    try:
        while charter := await _begins(post, signals, stay):
            code = await _join(MemberProcess(post, charter), signals)
            if not stay:
                return code
    finally:
        await end([alive])
    return code


async def _begins(post: MemberSpec, signals: "Signals", stay: bool) -> Charter | None:
    """Wait until the crawl is there (who stays: and runs); None if a signal came first."""
    space = await post.space(patient(SpaceSettings()) if stay else SpaceSettings())
    give_up_at = time.monotonic() + (math.inf if stay else CHARTER_S)
    try:
        while not signals.came.is_set():
            charter, control = await space.read(template(Charter)), await space.read(template(Control))
            if charter and (not stay or (control and control.state in (CrawlState.RUNNING, CrawlState.PAUSED))):
                return charter
            if time.monotonic() > give_up_at:
                raise SpaceError(
                    f"there is no crawl '{post.crawl}' at {shown(post.url)}: start it with gcs crawl --space,"
                    " or look at the name"
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(signals.came.wait(), ATTEND_S)
    finally:
        await space.close()
    return None


async def _show_life(file: Path) -> NoReturn:
    """Touch a file while the event loop turns: what a probe can look at."""
    file.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file.touch()
        await asyncio.sleep(ALIVE_S)


async def _join(seat: MemberProcess, signals: "Signals") -> int:
    mine = await seat.take(seat.name)
    signals.go_to(mine)
    leader = asyncio.create_task(seat.lead(mine))
    try:
        state = await mine.run([])
    finally:
        signals.go_to(None)
        await end([leader])
        await seat.end_ghosts()
    events.info("ended", gatherer=seat.name, state=str(state))
    return 0 if state in (GathererState.DONE, GathererState.LIMIT, GathererState.STOPPED) else 1


class Signals:
    """SIGTERM: hand over and leave. SIGINT: stop and keep the state. The second signal ends the process."""

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self._gatherer: Gatherer | None = None
        self._last = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._handle, number)

    def go_to(self, gatherer: Gatherer | None) -> None:
        """Whom the signals mean; one that has come is told to it."""
        self._gatherer = gatherer
        if gatherer is not None and self.came.is_set():
            self._tell(gatherer)

    def _handle(self, number: int) -> None:
        if self.came.is_set():
            os._exit(130)
        self.came.set()
        self._last = number
        if self._gatherer is not None:
            self._tell(self._gatherer)

    def _tell(self, gatherer: Gatherer) -> None:
        (gatherer.leave if self._last == signal.SIGTERM else gatherer.stop)()
