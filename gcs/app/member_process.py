"""The process of a team member (`gcs gatherer`): runs a gatherer, leads if elected, and runs ghosts of dead ones."""

import asyncio
import dataclasses
import random
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gcs.app import assembly
from gcs.core.messages.tuples import Charter
from gcs.errors import GcsError, InUseError, UsageError
from gcs.events import Events
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.clock import lease_time
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space
from gcs.ports.tasks import end
from gcs.roles.gatherer import Gatherer, GathererState
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.leader import Leader
from gcs.settings import Settings

events = Events("gatherer")

#: seconds to wait until a ghost of this gatherer has closed its directory
LOCK_S = 120.0
#: deliveries before a tuple in the inbox of a gatherer is set aside
NEVER = 1 << 31


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """What the command line says of a member: its whiteboard, crawl, name, directory, place and seed-server."""

    url: str
    crawl: str
    name: str
    output: Path
    place: str
    server: str
    coordination: str | None

    async def space(self, settings: SpaceSettings, name: str = "") -> Space:
        """Open the whiteboard, in the member's name or in that of another gatherer."""
        return await open_space(self.url, crawl=self.crawl, name=name or self.name, settings=settings)


class MemberProcess:
    """Runs the member's gatherer, its candidate for leader, and ghosts of dead gatherers."""

    def __init__(self, spec: MemberSpec, charter: Charter) -> None:
        self._spec, self._charter, self.name = spec, charter, spec.name
        self._settings = msgspec.json.decode(charter.settings, type=Settings)
        way = self._settings.team.coordination
        if spec.coordination not in (None, way):
            raise UsageError(
                f"the crawl '{spec.crawl}' is coordinated by {way}: leave --coordination out, or start another"
            )
        self._ghosts: dict[str, asyncio.Task[GathererState]] = {}

    async def take(self, name: str, ghost: bool = False) -> Gatherer:
        """A gatherer of this name; waits for its directory, which a ghost of it may still be clearing."""
        give_up_at = time.monotonic() + (0.0 if ghost else LOCK_S)
        settings = tenacious(self._settings.space)
        waits = False
        while True:
            space = await self._spec.space(settings, name)
            try:
                spec, charter = self._spec, self._charter
                member = assembly.TeamAccess(space, ghost, spec.place, spec.server, charter.session)
                return assembly.gatherer(spec.output, name, self._settings, charter.seeds, member)
            except InUseError as error:
                await space.close()
                if time.monotonic() > give_up_at:
                    raise
                if not waits:
                    events.info("waiting", gatherer=name, reason=str(error))
                waits = True
            except BaseException:
                await space.close()
                raise
            await asyncio.sleep(0.2)

    async def lead(self, mine: Gatherer) -> None:
        """Stand for election, and lead when elected. An error of the leader does not stop the crawling."""
        while self._settings.team.coordination != "seed-server":
            try:
                await self._stand(mine)
            except Exception as error:
                events.error("leader-failed", error=repr(error), trace=traceback.format_exc())
            await asyncio.sleep(self._settings.team.lease_s)

    async def _stand(self, mine: Gatherer) -> None:
        team = mine.team
        assert team is not None
        space = await self._spec.space(patient(self._settings.space))
        config = LeaderConfig(
            settings=self._settings.team,
            ghost=self.raise_ghost,
            random=random.Random(),
            expected=self._charter.gatherers,
            session=self._charter.session,
            blueprint=self._charter.blueprint,
            known_plan=lambda: team.known_plan,
            known_crawl=lambda: (team.observer.charter or self._charter, team.observer.control),
        )
        try:
            await Leader(space, mine.name, config, lease_time).run()
        finally:
            await space.close()

    async def raise_ghost(self, dead: str) -> bool:
        """Let a ghost hand over what the dead gatherer owned, if its directory is here and no process has it open."""
        running = self._ghosts.get(dead)
        if running is not None and not running.done():
            return True
        if not (self._spec.output / "state" / dead / "frontier").is_dir():
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
    """For a process that takes from its own inbox: however often it was killed, nothing there may be set aside."""
    return dataclasses.replace(patient(settings), max_deliveries=NEVER)


def patient(settings: SpaceSettings) -> SpaceSettings:
    """For a process that has been connected before: the address is right, so an absent server will come back."""
    return dataclasses.replace(settings, open_s=settings.patience_s)


def _note_end(dead: str, task: "asyncio.Task[GathererState]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        events.warning("ghost-failed", gatherer=dead, error=error)
