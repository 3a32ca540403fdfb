"""`gcs gatherer`: one gatherer that joins a crawl. SIGTERM: hand over and leave. SIGINT: stop and keep the state."""

import asyncio
import contextlib
import dataclasses
import importlib
import math
import os
import random
import signal
import socket
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click
import msgspec

from gcs import events as logging
from gcs.cli import assembly
from gcs.cli.loop import run_loop
from gcs.core.evidence import Evidence
from gcs.core.plan import Plan
from gcs.core.succession import Beginning, Draft, Planner, Team
from gcs.core.team import TeamSettings
from gcs.core.template import template
from gcs.core.tuples import Charter, Control, CrawlState
from gcs.errors import GcsError, SpaceError, UsageError
from gcs.events import Events
from gcs.ports.space import Space, SpaceSettings, open_space
from gcs.ports.tasks import end
from gcs.roles.gatherer import Gatherer, State
from gcs.roles.leader import Leader
from gcs.settings import Settings

events = Events("gatherer")

#: seconds to wait for the crawl to be there, and for a ghost of ours to let go of our directory
CHARTER_S, LOCK_S = 60.0, 120.0
#: seconds between two looks for a crawl to begin, and between two signs of life
ATTEND_S, ALIVE_S = 0.5, 10.0
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
    return run_loop(_attend(Post(url, crawl, name, output, place, server, coordination), stay))


@dataclass(frozen=True, slots=True)
class Post:
    """What a gatherer is told: where the whiteboard is, the crawl, its name, its disk, its place, its seed-server."""

    url: str
    crawl: str
    name: str
    output: Path
    place: str
    server: str
    coordination: str | None

    async def space(self, settings: SpaceSettings, name: str = "") -> Space:
        """Go to the whiteboard, in our own name or another's."""
        return await open_space(self.url, crawl=self.crawl, name=name or self.name, settings=settings)


async def _attend(post: Post, stay: bool) -> int:
    """Work for a crawl, or for one after the other under this name until a signal says that it is enough."""
    signals = Signals()
    alive = asyncio.create_task(_show_life(post.output / "state" / "alive"))
    code = 0
    try:
        while charter := await _begins(post, signals, stay):
            code = await _join(Seat(post, charter), signals)
            if not stay:
                return code
    finally:
        await end([alive])
    return code


async def _begins(post: Post, signals: "Signals", stay: bool) -> Charter | None:
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
                    f"there is no crawl '{post.crawl}' at {post.url}: start it with gcs crawl --space,"
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


async def _join(seat: "Seat", signals: "Signals") -> int:
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
    return 0 if state in (State.DONE, State.LIMIT, State.STOPPED) else 1


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


class Seat:
    """A place at the whiteboard from which gatherers (and ghosts of dead ones) are run."""

    def __init__(self, post: Post, charter: Charter) -> None:
        self._post, self._charter, self.name = post, charter, post.name
        self._settings = msgspec.json.decode(charter.settings, type=Settings)
        way = self._settings.team.coordination
        if post.coordination not in (None, way):
            raise UsageError(
                f"the crawl '{post.crawl}' is coordinated by {way}: leave --coordination out, or start another"
            )
        self._ghosts: dict[str, asyncio.Task[State]] = {}

    async def take(self, name: str, ghost: bool = False) -> Gatherer:
        """A gatherer of this name; waits for its directory, which a ghost of it may still be clearing."""
        give_up_at = time.monotonic() + (0.0 if ghost else LOCK_S)
        settings = tenacious(self._settings.space)
        while True:
            space = await self._post.space(settings, name)
            try:
                seeds, post = self._charter.seeds, self._post
                return assembly.gatherer(
                    post.output, name, self._settings, seeds, space, ghost, post.place, post.server,
                    self._charter.session,
                )  # fmt: skip
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
        while self._settings.team.coordination != "seed-server":
            try:
                await self._stand(mine)
            except Exception as error:
                events.error("leader-failed", error=repr(error), trace=traceback.format_exc())
            await asyncio.sleep(self._settings.team.lease_s)

    async def _stand(self, mine: Gatherer) -> None:
        team = mine.team
        assert team is not None
        space = await self._post.space(patient(self._settings.space))
        leader = Leader(
            space,
            mine.name,
            self._settings.team,
            clock=time.monotonic,
            ghost=self.raise_ghost,
            planner=_planner,
            random=random.Random(),
            expected=self._charter.gatherers,
            session=self._charter.session,
            beginning=self._beginning,
            known=lambda: team.known_plan,
        )
        try:
            await leader.run()
        finally:
            await space.close()

    @property
    def _beginning(self) -> Beginning | None:
        charter = self._charter
        if not charter.blueprint:
            return None

        def begin(running: tuple[str, ...], old: Plan | None) -> Plan:
            coordination = importlib.import_module("gcs.cli.coordination")  # numpy, and only the leader needs it
            first: Plan = coordination.beginning(charter.blueprint, self._settings.team, charter.session)(running, old)
            return first

        return begin

    async def raise_ghost(self, dead: str) -> bool:
        """Let a ghost hand over what the dead gatherer left, if its directory is here and nobody holds it."""
        running = self._ghosts.get(dead)
        if running is not None and not running.done():
            return True
        if not (self._post.output / "state" / dead / "frontier").is_dir():
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
    return dataclasses.replace(patient(settings), max_deliveries=NEVER)


def patient(settings: SpaceSettings) -> SpaceSettings:
    """For who was there before: the address is right, so an absent server will come back."""
    return dataclasses.replace(settings, open_s=settings.patience_s)


def _planner(old: Plan, team: Team, evidence: Evidence, settings: TeamSettings, *, fresh: bool = False) -> Draft:
    """Loaded by a leader's first plan: numpy comes with it, and most members never lead."""
    make_plan: Planner = importlib.import_module("gcs.core.rebalance").make_plan
    return make_plan(old, team, evidence, settings, fresh=fresh)


def _note_end(dead: str, task: "asyncio.Task[State]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        events.warning("ghost-failed", gatherer=dead, error=error)
