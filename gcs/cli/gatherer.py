"""`gcs gatherer`: one gatherer that joins a crawl. SIGTERM: hand over and leave. SIGINT: stop and keep the state."""

import asyncio
import dataclasses
import os
import random
import signal
import socket
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from gcs import events as logging
from gcs.cli import assembly
from gcs.cli.loop import run_loop
from gcs.core.template import template
from gcs.core.tuples import Charter
from gcs.errors import GcsError, SpaceError, UsageError
from gcs.events import Events
from gcs.ports.space import SpaceSettings, open_space
from gcs.ports.tasks import end
from gcs.roles.gatherer import Gatherer, State
from gcs.roles.leader import Leader
from gcs.settings import Settings

events = Events("gatherer")

#: seconds to wait for the crawl to be there, and for a ghost of ours to let go of our directory
CHARTER_S, LOCK_S = 60.0, 120.0
#: deliveries before a tuple in the inbox of a gatherer is set aside
NEVER = 1 << 31


@click.command()
@click.option("--space", "url", envvar="GCS_SPACE", required=True, metavar="URL", help="The whiteboard of the crawl.")
@click.option("--crawl", default="crawl", show_default=True, help="Name of the crawl.")
@click.option("--name", default=socket.gethostname, show_default="host name", help="Our name: keep it, with the disk.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
    help="Our disk. On a shared file system, the others can recover what is on it.",
)  # fmt: skip
@click.option("--place", default="", help="Where we stand: helpers of the same place work for us.")
@click.option(
    "--log", "log_level", type=click.Choice(logging.LEVELS), default="info", show_default=True, help="What is logged."
)
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
def gatherer(url: str, crawl: str, name: str, output: Path, place: str, log_level: str, log_json: bool) -> int:
    """Join a crawl (see gcs crawl -n, or --space); SIGTERM hands over and leaves."""
    logging.set_up(log_level, log_json)
    return run_loop(_join(url, crawl, name, output, place))


async def _join(url: str, crawl: str, name: str, output: Path, place: str) -> int:
    space = await open_space(url, crawl=crawl, name=name, settings=SpaceSettings())
    charter = await space.read(template(Charter), timeout_s=CHARTER_S)
    await space.close()
    if charter is None:
        raise SpaceError(f"there is no crawl '{crawl}' at {url}: start it with gcs crawl --space, or look at the name")
    seat = Seat(url, crawl, output, msgspec.json.decode(charter.settings, type=Settings), charter, place)
    mine = await seat.take(name)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, _second_ends(mine.leave))
    loop.add_signal_handler(signal.SIGINT, _second_ends(mine.stop))
    leader = asyncio.create_task(seat.lead(mine))
    try:
        state = await mine.run([])
    finally:
        await end([leader])
        await seat.end_ghosts()
    events.info("ended", gatherer=name, state=str(state))
    return 0 if state in (State.DONE, State.LIMIT, State.STOPPED) else 1


class Seat:
    """A place at the whiteboard from which gatherers (and ghosts of dead ones) are run."""

    def __init__(self, url: str, crawl: str, output: Path, settings: Settings, charter: Charter, place: str) -> None:
        self._url, self._crawl, self._output, self._place = url, crawl, output, place
        self._settings, self._charter = settings, charter
        self._ghosts: dict[str, asyncio.Task[State]] = {}

    async def take(self, name: str, ghost: bool = False) -> Gatherer:
        """A gatherer of this name; waits for its directory, which a ghost of it may still be clearing."""
        give_up_at = time.monotonic() + (0.0 if ghost else LOCK_S)
        settings = tenacious(self._settings.space)
        while True:
            space = await open_space(self._url, crawl=self._crawl, name=name, settings=settings)
            try:
                seeds = self._charter.seeds
                return assembly.gatherer(self._output, name, self._settings, seeds, space, ghost, self._place)
            except UsageError:
                await space.close()
                if time.monotonic() > give_up_at:
                    raise
            except BaseException:
                await space.close()
                raise
            await asyncio.sleep(0.2)

    async def lead(self, mine: Gatherer) -> None:
        """Stand for leader, and lead when elected. What goes wrong in it is no reason to stop crawling."""
        team = mine.team
        assert team is not None
        while True:
            space = await open_space(self._url, crawl=self._crawl, name=mine.name, settings=self._settings.space)
            leader = Leader(
                space,
                mine.name,
                self._settings.team,
                clock=time.monotonic,
                ghost=self.raise_ghost,
                random=random.Random(),
                expected=self._charter.gatherers,
                known=lambda: team.known_plan,
            )
            try:
                await leader.run()
            except Exception as error:
                events.error("leader-failed", error=repr(error), trace=traceback.format_exc())
            finally:
                await space.close()
            await asyncio.sleep(self._settings.team.lease_s)

    async def raise_ghost(self, dead: str) -> bool:
        """Let a ghost hand over what the dead gatherer left, if its directory is here and nobody holds it."""
        running = self._ghosts.get(dead)
        if running is not None and not running.done():
            return True
        if not (self._output / "state" / dead / "frontier").is_dir():
            return False
        try:
            ghost = await self.take(dead, ghost=True)
        except GcsError:
            return False
        self._ghosts[dead] = asyncio.create_task(ghost.run([]))
        self._ghosts[dead].add_done_callback(lambda task: _note_end(dead, task))
        return True

    async def end_ghosts(self) -> None:
        """Stop the ghosts; what they have not handed over stays on their disks for the next one."""
        await end(self._ghosts.values())


def tenacious(settings: SpaceSettings) -> SpaceSettings:
    """For who takes from its own inbox: nobody else can, and nothing there may be lost because it was killed often."""
    return dataclasses.replace(settings, max_deliveries=NEVER)


def _note_end(dead: str, task: "asyncio.Task[State]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        events.warning("ghost-failed", gatherer=dead, error=error)


def _second_ends(first: Callable[[], None]) -> Callable[[], None]:
    """A signal handler: the first signal asks, the second one ends the process."""
    calls = 0

    def handle() -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            os._exit(130)
        first()

    return handle
