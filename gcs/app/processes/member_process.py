"""The process of a team member (`gcs gatherer`): runs a gatherer, leads if elected, and runs ghosts of dead ones."""

import asyncio
import contextlib
import dataclasses
import math
import os
import random
import signal
import time
import traceback
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from gcs.app import assembly, consent, find_crawl
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Control, CrawlState
from gcs.core.plan.host_limits import HostLimits
from gcs.errors import GcsError, InUseError, StuckError, UsageError
from gcs.events import Events
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.clock import lease_time
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space
from gcs.ports.system.own_file import open_own
from gcs.ports.system.tasks import end
from gcs.roles.gatherer import Gatherer, GathererState
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.leader import Leader
from gcs.settings import of_charter

events = Events("gatherer")

#: seconds to wait until a ghost of this gatherer has released its directory
LOCK_S = 120.0
#: seconds between two looks for a crawl to begin, and between two signs of life
ATTEND_S, ALIVE_S = 0.5, 10.0
#: seconds between two looks at the share of this crawl
SHARE_S = 1.0
#: seconds without the whiteboard after which a gatherer that is to leave stops instead: it cannot hand over
SILENT_S = 7.0
#: seconds for the uploads of a gatherer that was told to end: a store that is away must not hold it until it is killed;
#: and without the whiteboard, when most likely the store is away, too
UPLOAD_S, UPLOAD_ALONE_S = 80.0, 2.0
Found = TypeVar("Found")
#: deliveries before a tuple in the inbox of a gatherer is set aside
NEVER = 1 << 31


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """The command line of a member: its whiteboard, crawl, name, directory, place, seed-server, and consent."""

    url: str
    crawl: str
    name: str
    output: Path
    place: str
    server: str
    coordination: str | None
    #: what the owner of the machine lets a charter ask for (`consent`)
    allow: tuple[str, ...] = ()
    #: holds the number of connections that a host gives this gatherer
    share_file: Path | None = None

    async def space(self, settings: SpaceSettings, name: str = "") -> Space:
        """Open the whiteboard, in the member's name or in that of another gatherer."""
        return await open_space(self.url, crawl=self.crawl, name=name or self.name, settings=settings)


class MemberProcess:
    """Runs the member's gatherer, its candidate for leader, and ghosts of dead gatherers."""

    def __init__(self, spec: MemberSpec, charter: Charter) -> None:
        self._spec, self._charter, self.name = spec, charter, spec.name
        self.share_file = spec.share_file
        self._settings = of_charter(charter.settings)
        consent.check(self._settings, spec.allow)
        way = self._settings.team.coordination
        if spec.coordination not in (None, way):
            raise UsageError(
                f"the crawl '{spec.crawl}' is coordinated by {way}: leave --coordination out, or start another"
            )
        self._ghosts: dict[str, asyncio.Task[GathererState]] = {}

    @property
    def session(self) -> int:
        return self._charter.session

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
            max_pages=self._settings.crawl.max_pages,
            known_plan=lambda: team.known_plan,
            known_crawl=lambda: (team.whiteboard.charter or self._charter, team.whiteboard.control),
            limits=HostLimits(
                connections=self._settings.politeness.host_connections, all_connections=self._settings.fetch.connections
            ),
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
        await asyncio.sleep(0)  # one that has not begun would not close its files
        await end(self._ghosts.values())


async def run_member(spec: MemberSpec, stay: bool) -> int:
    """Work for one crawl; with `stay`, for one crawl after the other until a signal comes. Returns the exit code."""
    signals = Signals()
    alive = asyncio.create_task(_show_life(spec.output / "state" / "alive"))
    code, refused = 0, None
    try:
        while charter := await _charter_of(spec, signals, stay, refused):
            try:
                process = MemberProcess(spec, charter)
            except UsageError as error:
                if not stay:
                    raise
                events.error("charter-refused", crawl=spec.crawl, reason=str(error))
                refused = charter  # whoever has put it there can put a better one
                continue
            code = await _join(process, signals)
            if not stay:
                return code
    finally:
        await end([alive])
    return code


async def _charter_of(spec: MemberSpec, signals: "Signals", stay: bool, refused: Charter | None) -> Charter | None:
    """Wait until the crawl is there (with `stay`: runs, and not as `refused`); None if a signal came first."""
    space = await _before(signals, spec.space(patient(SpaceSettings()) if stay else SpaceSettings()))
    if space is None:
        return None
    give_up_at = time.monotonic() + (math.inf if stay else find_crawl.CHARTER_S)
    try:
        while found := await _before(signals, _read(space)):
            charter, control = found
            is_on = control is not None and control.state in (CrawlState.RUNNING, CrawlState.PAUSED)
            if charter and (not stay or (is_on and charter != refused)):
                return charter
            is_foreign = charter is None and Charter in space.refusals.reasons
            if time.monotonic() > give_up_at or (is_foreign and not stay):
                raise find_crawl.no_crawl(space, spec.crawl, spec.url)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(signals.came.wait(), ATTEND_S)
    finally:
        await space.close()
    return None


async def _read(space: Space) -> tuple[Charter | None, Control | None]:
    return await space.read(template(Charter)), await space.read(template(Control))


async def _before(signals: "Signals", coming: Coroutine[Any, Any, Found]) -> Found | None:
    """What comes; None if a signal came first: the whiteboard may be away, and patience with it is long."""
    task, came = asyncio.create_task(coming), asyncio.create_task(signals.came.wait())
    try:
        await asyncio.wait([task, came], return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        await end([task, came])


async def _show_life(file: Path) -> NoReturn:
    """Touch a file while the event loop runs: a liveness probe looks at its age."""
    file.parent.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            os.close(open_own(file, os.O_WRONLY | os.O_CREAT))
            os.utime(file, follow_symlinks=False)
        except OSError as error:
            events.warning("no-sign-of-life", file=file, reason=error.strerror)
        await asyncio.sleep(ALIVE_S)


async def _join(process: MemberProcess, signals: "Signals") -> int:
    """Run the gatherer of this process to its end; it stands for leader meanwhile."""
    mine = await _before(signals, process.take(process.name))
    if mine is None:
        return 0
    signals.go_to(mine)
    tasks = [asyncio.create_task(process.lead(mine)), asyncio.create_task(_end_without_whiteboard(mine, signals))]
    if process.share_file:
        tasks.append(asyncio.create_task(_follow_share(mine, process.share_file)))
    try:
        state = await mine.run([], process.session)
    finally:
        signals.go_to(None)
        await end(tasks)
        await process.end_ghosts()
    events.info("ended", gatherer=process.name, state=str(state))
    if state is GathererState.STUCK:
        control = mine.team.whiteboard.control if mine.team else None
        events.warning("stuck", gatherer=process.name, reason=control.detail if control else "")
        return StuckError.exit_code
    return 0 if state in (GathererState.DONE, GathererState.LIMIT, GathererState.STOPPED) else 1


async def _follow_share(mine: Gatherer, file: Path) -> NoReturn:
    """Open as many connections as the host says, which other crawls share."""
    while True:
        with contextlib.suppress(OSError, ValueError):
            mine.limit_connections(max(int(file.read_text()[:20]), 1))
        await asyncio.sleep(SHARE_S)


async def _end_without_whiteboard(mine: Gatherer, signals: "Signals") -> None:
    """After a signal, stop the gatherer if the whiteboard is away: nobody can take over what its disk keeps."""
    await signals.came.wait()
    assert mine.team is not None
    while (rest_s := SILENT_S - mine.team.whiteboard.silent_s) > 0:  # noqa: ASYNC110 a heartbeat is no event
        await asyncio.sleep(rest_s)
    events.warning("stopped-without-whiteboard", advice="its URLs and pages are on its disk: start it again to go on")
    mine.hurry(UPLOAD_ALONE_S)
    mine.stop()


class Signals:
    """SIGTERM: hand over and leave. SIGINT: stop and keep the state. The second signal ends the process."""

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self._gatherer: Gatherer | None = None
        self._last = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._handle, number)

    def go_to(self, gatherer: Gatherer | None) -> None:
        """Pass signals on to this gatherer from now on; one that has come already, at once."""
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
        gatherer.hurry(UPLOAD_S)
        (gatherer.leave if self._last == signal.SIGTERM else gatherer.stop)()


def tenacious(settings: SpaceSettings) -> SpaceSettings:
    """For a process that takes from its own inbox: however often it was killed, nothing there may be set aside."""
    return dataclasses.replace(patient(settings), max_deliveries=NEVER)


def patient(settings: SpaceSettings) -> SpaceSettings:
    """For a process that has been connected before: the address is right, so an absent server will come back."""
    return dataclasses.replace(settings, open_s=settings.patience_s)


def _note_end(dead: str, task: "asyncio.Task[GathererState]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        events.warning("ghost-failed", gatherer=dead, error=error)
