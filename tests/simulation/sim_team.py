"""The team of a simulation: machines with their disks, gatherers' processes that are killed and started, and the crew.

What runs here is the code of a crawl: `run_member` (gatherer, candidate for leader, ghosts) in the process of each
gatherer, and `LocalTeam` (what `gcs crawl -n` does beside its gatherers) in the crew's. Only the processes, the line to
the whiteboard, the fetch engine and the clocks are simulated. Files are real: a process that is killed leaves what it
has written, and a machine that loses power only what it has synced.
"""

import asyncio
import contextvars
import dataclasses
import errno
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gcs.app import assembly
from gcs.app.crawl_input import CrawlRun
from gcs.app.processes import member_process
from gcs.app.processes.local_team import LocalTeam, TeamSpec
from gcs.app.processes.member_process import MemberSpec, run_member
from gcs.core.messages.codec import decode_as
from gcs.core.messages.tuples import Control, CrawlState, PlanPosted
from gcs.core.plan.keyspace import EVERYTHING
from gcs.core.plan.plan import Plan
from gcs.errors import GcsError
from gcs.ports.frontier import frontier as frontier_module
from gcs.ports.frontier.frontier import Frontier
from gcs.ports.records import record_store
from gcs.ports.records.record_store import Store
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.memory_space import MemoryBoard
from gcs.ports.space.port import Space
from gcs.roles.gatherer import Gatherer
from gcs.roles.gatherer.dependencies import GathererState
from gcs.roles.gatherer.record import meter
from gcs.settings import Settings
from tests.simulation.memory_tables import MemoryDisk
from tests.simulation.network import BoardClock, Network, SimSpace
from tests.simulation.sim_web import SimFetcher, SimWeb
from tests.simulation.virtual_time import MachineClock, SimLoop, SimProcess, current

CRAWL = "sim"
#: seconds until whoever starts gatherers on other machines notices that one has ended
NOTICE_S = 1.0
#: seconds that a process takes to start
START_S = (0.3, 0.8)
#: exit code of what was killed
KILLED = -9


class KilledError(BaseException):
    """Unwinds a turn in whose middle its process was killed."""


@dataclass(eq=False)
class Machine:
    """A machine: its clock, its disk, and the processes on it."""

    name: str
    directory: Path
    clock: MachineClock
    #: no room on its disk until then
    full_until: float = 0.0
    #: its disk is gone
    is_lost: bool = False
    #: file → bytes that are synced
    synced: dict[str, int] = field(default_factory=dict)


class SimMember:
    """The process of one gatherer, as its starter sees it: `local_team.Child` with a simulated process."""

    def __init__(self, team: "SimTeam", name: str, machine: Machine) -> None:
        self.name, self.machine, self._team = name, machine, team
        self.starts: list[float] = []
        self.code: int | None = 0
        self.process: SimProcess | None = None
        #: a moment of a turn at which it is killed: "synced" (records, not yet the frontier) or "committed"
        self.dies_when = ""
        self._gatherers: list[Gatherer] = []

    @property
    def runs(self) -> bool:
        return self.code is None

    def start(self) -> None:
        """Start it, as a new process."""
        team, self.code, self.dies_when = self._team, None, ""
        self.starts.append(team.loop.time())
        self.process = SimProcess(team.loop, f"{self.name}.{len(self.starts)}", self.machine.clock)
        team.owners[self.process] = self
        self.process.run(self._main())

    def signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if not self.runs or self.process is None:
            return
        if number == signal.SIGKILL:
            self.kill()
        elif not self.process.signal(number):
            self.kill()  # it has no handler yet

    async def ended(self) -> None:
        while self.runs:
            await asyncio.sleep(0.02)

    def kill(self) -> None:
        """As kill -9: what it has written stays, its locks and connections are gone."""
        process = self.process
        if not self.runs or process is None:
            return
        process.kill()
        self.code = KILLED
        self._team.web.hang_up(process)
        for gatherer in self._gatherers:
            gatherer._store._lock.close()
        self._gatherers.clear()
        self._team.disk.release(process)

    def holds(self, gatherer: Gatherer) -> None:
        self._gatherers.append(gatherer)

    def work(self) -> tuple[int, int]:
        """What its gatherer has asked for, and what waits there."""
        if not self._gatherers or self._gatherers[-1].state is not GathererState.RUNNING:
            return 0, 0
        gatherer = self._gatherers[-1]
        in_flight = gatherer._fetcher.in_flight
        return in_flight, gatherer._frontier.queued() - in_flight

    async def _main(self) -> None:
        team, machine = self._team, self.machine
        allow = ("private",)
        spec = SimSpec(
            "redis://simulated",
            CRAWL,
            self.name,
            machine.directory,
            "",
            "",
            None,
            allow,
            team=team,
            machine=machine.name,
        )
        try:
            await asyncio.sleep(team.network.chance.uniform(*START_S))
            code = await run_member(spec, stay=False)
        except GcsError as error:
            code = error.exit_code
            team.note(f"{self.name} ended: {error}")
        except Exception as error:
            code = 1
            team.violations.append(f"{team.loop.now:.3f} {self.name}: {type(error).__name__}: {error}")
            team.errors.append(error)
        self._gatherers.clear()
        team.disk.release(self.process)
        self.code = code


@dataclass(frozen=True, slots=True)
class SimSpec(MemberSpec):
    """A member's command line, whose whiteboard is simulated."""

    team: "SimTeam | None" = None
    machine: str = ""

    async def space(self, settings: SpaceSettings, name: str = "") -> Space:
        assert self.team
        return await self.team.open_space(name or self.name, self.machine, settings)


class SimCrew(LocalTeam):
    """What `gcs crawl -n` does beside its gatherers."""

    def __init__(self, team: "SimTeam", spec: TeamSpec, members: list[SimMember]) -> None:
        super().__init__(spec)
        self._sim, self._children = team, members  # type: ignore[assignment]

    async def _open_space(self) -> Space:
        return await self._sim.open_space("crew", "m0", self._settings.space)

    async def crawl(self) -> str:
        """Begin the crawl, and watch over it to its end; the state in which it ended."""
        await self._start_crawl()
        self._space = await self._open_space()
        for member in self._children:
            member.start()
        self._sim.begun.set()
        state = await self._supervise(None)
        await self._end()
        return state


class SimTeam:
    """All machines and processes of one simulation."""

    def __init__(
        self, loop: SimLoop, chance: random.Random, web: SimWeb, settings: Settings, seeds: list[str], folder: Path
    ) -> None:
        self.loop, self.web, self.settings, self.seeds = loop, web, settings, seeds
        board = MemoryBoard(BoardClock(loop), member_process.tenacious(settings.space))
        self.network = Network(loop, chance, board)
        self.machines: dict[str, Machine] = {}
        self.members: dict[str, SimMember] = {}
        self.owners: dict[SimProcess, SimMember] = {}
        self.crew: SimProcess | None = None
        self.begun = asyncio.Event()
        self.violations: list[str] = []
        self.errors: list[BaseException] = []
        self.notes: list[str] = []
        self.is_over = False
        #: faults that wait for their moment
        self.lurking: list[Any] = []
        #: the context of the world around the processes
        self.world = contextvars.Context()
        #: the whiteboard forgot the plan while all who knew it were away: a first plan was made again
        self.is_begun_anew = False
        self._folder, self._chance = folder, chance
        self.disk = MemoryDisk(self._has_room, current)
        self._plans: dict[int, bytes] = {}

    # -- making

    def machine(self, name: str, clock: MachineClock | None = None) -> Machine:
        if name not in self.machines:
            directory = self._folder / name
            directory.mkdir()
            self.machines[name] = Machine(name, directory, clock or MachineClock())
        return self.machines[name]

    def member(self, name: str, machine: str) -> SimMember:
        member = self.members[name] = SimMember(self, name, self.machine(machine))
        return member

    async def open_space(self, name: str, machine: str, settings: SpaceSettings) -> Space:
        return SimSpace(self.network, name, machine, settings, self._posted)  # type: ignore[return-value]

    def crawl(self, local: list[str], others: list[tuple[str, str]]) -> "asyncio.Task[str]":
        """Start the crew with gatherers on its own machine, and gatherers elsewhere; the task ends with the crawl."""
        home = self.machine("m0")
        run = CrawlRun(home.directory, self.settings, self.seeds)
        members = [self.member(name, "m0") for name in local]
        self.crew = SimProcess(self.loop, "crew", home.clock)
        spec = TeamSpec(run=run, gatherers=len(local), space_url="redis://simulated")
        crew = self.crew.call(SimCrew, self, spec, members)
        for name, machine in others:
            self.member(name, machine)
        self._keeper = self.loop.create_task(self._keep([name for name, _ in others]))
        return self.crew.run(crew.crawl())

    def join(self, name: str, machine: str) -> None:
        """A new gatherer elsewhere."""
        member = self.member(name, machine)
        self._keeper_adds(member)

    def _keeper_adds(self, member: SimMember) -> None:
        member.start()
        self._kept.append(member)

    async def _keep(self, names: list[str]) -> None:
        """Start the gatherers on other machines; again, if they did not end well and their machine is there."""
        self._kept = [self.members[name] for name in names]
        await self.begun.wait()
        for member in self._kept:
            member.start()
        while not self.is_over:
            await asyncio.sleep(NOTICE_S)
            for member in self._kept:
                if member.code not in (None, 0) and not member.machine.is_lost and not self.has_ended():
                    member.start()

    def has_ended(self) -> bool:
        """Whether the whiteboard says that the crawl is over."""
        entries = self.network.board.inbox("", Control).entries.values()
        controls = [decode_as(Control, entry.payload) for entry in entries]
        return any(getattr(control, "state", None) in (CrawlState.DONE, CrawlState.STOPPING) for control in controls)

    # -- watching

    def note(self, text: str) -> None:
        self.notes.append(f"{self.loop.now:.3f} {text}")

    def _posted(self, item: Any) -> None:
        if isinstance(item, PlanPosted):
            known = self._plans.setdefault(item.epoch, item.plan)
            self.is_begun_anew |= item.epoch > min(self._plans) and Plan.decode(item.plan).lost == EVERYTHING
            if known != item.plan:
                self.violations.append(f"{self.loop.now:.3f} two plans of epoch {item.epoch}")

    def _has_room(self) -> bool:
        owner = self.owner(current())
        return owner is None or self.loop.now >= owner.machine.full_until

    @property
    def has_lost(self) -> bool:
        """Whether a disk is gone, with pages and with the right to store some."""
        return any(machine.is_lost for machine in self.machines.values())

    def owner(self, process: SimProcess | None) -> SimMember | None:
        return self.owners.get(process) if process else None

    # -- disks

    def lose_power(self, machine: Machine) -> None:
        """All its processes die; files that only grow lose what was not synced, or a part of it."""
        for member in self.members.values():
            if member.machine is machine:
                member.kill()
        for path in sorted(machine.directory.rglob("*.log")):
            kept, size = machine.synced.get(str(path), 0), path.stat().st_size
            if size > kept:
                with path.open("r+b") as file:
                    file.truncate(self._chance.randint(kept, size))

    def lose(self, machine: Machine) -> None:
        """The machine is gone, with its disk."""
        machine.is_lost = True
        for member in self.members.values():
            if member.machine is machine:
                member.kill()
        shutil.rmtree(machine.directory)
        self.disk.lose(machine.directory)

    def damage(self, member: SimMember) -> bool:
        """The frontier of a gatherer that is not running changes on the disk; False if it has none."""
        return not member.runs and self.disk.damage(member.machine.directory / "state" / member.name / "frontier")

    @contextmanager
    def installed(self) -> Iterator[None]:
        """The parts of GCS that meet the machine, simulated."""
        real_gatherer, real_write, real_exit = assembly.gatherer, os.write, os._exit
        real_commit, store_sync = Frontier.commit, Store.sync

        def gatherer(*args: Any, **options: Any) -> Gatherer:
            made = real_gatherer(*args, **options)
            if owner := self.owner(current()):
                owner.holds(made)
            return made

        def engine() -> Callable[..., SimFetcher]:
            process = current()
            assert process
            return lambda _settings, sink: SimFetcher(
                self.web, self.loop, sink, lambda: process.clock.wall(self.loop.now)
            )

        def write(file: int, data: Any) -> int:
            if not self._has_room():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real_write(file, data)

        def sync(file: int) -> None:
            if owner := self.owner(current()):
                owner.machine.synced[str(Path(f"/proc/self/fd/{file}").readlink())] = os.fstat(file).st_size

        def leave(code: int) -> None:
            owner = self.owner(current())
            if owner is None:
                real_exit(code)
            else:
                owner.kill()
                owner.code = code
                raise KilledError

        def dies(moment: str) -> None:
            owner = self.owner(current())
            if owner and owner.dies_when == moment:
                owner.kill()
                raise KilledError

        def synced(store: Store) -> Any:
            position = store_sync(store)
            dies("synced")
            return position

        def commit(frontier: Frontier, *args: Any) -> Any:
            done = real_commit(frontier, *args)
            dies("committed")
            return done

        with ExitStack() as stack:
            for target, name, fake in (
                (assembly, "gatherer", gatherer),
                (assembly, "ENGINES", {"curl": engine}),
                (assembly, "LIMIT_S", None),
                (os, "write", write),
                (os, "_exit", leave),
                (record_store, "sync_data", sync),
                (record_store, "sync_directory", lambda _path: None),
                (Store, "sync", synced),
                (Frontier, "commit", commit),
                (meter, "core_s", lambda: 0.0),
                (meter, "cpu_s", lambda: 0.0),
                (meter, "peak_rss_mb", lambda: 0.0),
                (member_process, "random", _Chance(self._chance)),
                (metadata, "entry_points", lambda **_which: ()),  # 30 ms
                *((frontier_module, name, function) for name, function in self.disk.functions().items()),
            ):
                stack.enter_context(patch.object(target, name, fake))
            yield


class _Chance:
    """The module `random`, for who makes a generator without a seed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def Random(self) -> random.Random:  # noqa: N802 (the name in the module)
        return random.Random(self._chance.random())


def quick(settings: Settings, **changes: dict[str, Any]) -> Settings:
    """The settings with some of them changed, section by section."""
    parts = {name: dataclasses.replace(getattr(settings, name), **values) for name, values in changes.items()}
    return dataclasses.replace(settings, **parts)
