"""A team on one machine: `gcs crawl -n N` starts a whiteboard and N gatherers, restarts those that die, and reports.

The processes: this one (which crawls nothing), the embedded server unless --space names one, and the children: the
gatherers and the seed-server, if the team has one. A child that dies is started again under its name and goes on from
its disk; so is the server.

Invariants
- A start that is refused has changed nothing, on the whiteboard or in the directory.
- No child outlives this process, even if this process is killed (Linux): it would lock the directory of the next run.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from gcs.app import assembly, consent
from gcs.app.assembly import load_order, load_plugins, run_loop
from gcs.app.crawl_dir import apply_prediction, by_list, count_unique, read_shares, refuse_one_alone
from gcs.app.crawl_input import CrawlRun
from gcs.app.processes.browser_helpers import helper_words, with_browsers
from gcs.app.processes.child import STARTS_PER_MINUTE, Child
from gcs.app.progress import ChildLines, Progress
from gcs.app.terminal import EXIT_CODES, Outcome
from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Account,
    Charter,
    Control,
    CrawlState,
    Member,
    MemberState,
    PlanNote,
    PlanPosted,
    Seeds,
)
from gcs.core.plan.expression import Expression
from gcs.core.plan.triggers import NAMES
from gcs.core.report import report
from gcs.core.report.estimate import AWAY
from gcs.core.report.report import Report, Share
from gcs.core.report.roster import workloads
from gcs.core.report.workload import Workload
from gcs.core.tree import tree
from gcs.errors import GcsError, SpaceError, StuckError, UsageError
from gcs.events import Events
from gcs.ports.records.finished_files import Remote
from gcs.ports.space.address import parse
from gcs.ports.space.crawl_control import put_back, send
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.port import SEEDS_INBOX, Space
from gcs.ports.space.redis_space import open_space
from gcs.settings import Settings

events = Events("team")

#: name of the seed-server, in a team that has one
SEED_SERVER = "seed-server"
#: seconds between two looks at the team, and when its crawl is over
LOOK_S, END_LOOK_S = 0.25, 0.05
#: seconds without an answer of the whiteboard after which the progress line says so
AWAY_S = 3.0
#: seconds for the gatherers to end when the crawl is given up
END_S = 15.0
#: seconds after a signal in which the whiteboard may still say how a crawl that goes on elsewhere stands
FAREWELL_S = 8.0
#: dead letters of an inbox that are counted
MOST_LETTERS = 10_000


#: shows the workloads of the gatherers, and the state of the crawl
Show = Callable[[Sequence[Workload], str], None]


@dataclass(frozen=True, slots=True)
class TeamSpec:
    """The team to start on this machine: what it crawls, and with how many gatherers."""

    run: CrawlRun
    #: gatherers to start here; 0 where the team is elsewhere
    gatherers: int
    #: URL of the whiteboard; None for an embedded server of its own
    space_url: str | None
    #: flags of the gatherers' logs
    log: tuple[str, ...] = ()
    #: HOST:PORT of the station; None for no station
    listen: str | None = None
    #: the plan made ahead for the session, encoded; b"" for none
    blueprint: bytes = b""
    #: helpers with a browser to start here
    browsers: int = 0
    #: name of the run, for a team elsewhere: see `named_runs`
    name: str = ""


def run_local_team(spec: TeamSpec, progress: bool) -> Outcome:
    """Run a team from a terminal."""
    bar = Progress() if progress else None
    lines = ChildLines(bar) if bar and bar.is_live else None
    try:
        team = LocalTeam(spec, lines)
        team.launch()
        with bar or nullcontext():
            return run_loop(team.run(bar.update if bar else None))
    finally:
        if lines:
            lines.close()


class LocalTeam:
    """The processes of a team."""

    def __init__(self, spec: TeamSpec, lines: ChildLines | None = None) -> None:
        """`lines`: where the children's messages go; None for stderr as it is.

        Raises an error for a bad address, store, order, trigger or expansion before anything starts."""
        directory, url = spec.run.directory, spec.space_url
        settings = apply_prediction(directory, spec.run.settings, spec.gatherers)
        if spec.browsers:
            settings = with_browsers(settings)
        if url:
            parse(url)
        if settings.store.url:
            Remote(settings.store.url).filesystem()
        if spec.gatherers:  # a team elsewhere may have a module that this machine does not have
            by_server = settings.team.coordination == "seed-server"
            load_order(settings.seed_server.order if by_server else settings.crawl.order)
            load_plugins(settings.crawl.plugins)
        if settings.team.trigger:
            Expression(settings.team.trigger, NAMES)
        tree.parse(settings.team.expansion)
        self._spec, self._directory, self._settings, self._count = spec, directory, settings, spec.gatherers
        self._server = None if url else EmbeddedServer(directory / "state" / "space", settings.space.fsync)
        self._url, self._lines = url or "", lines
        self._children: list[Child] = []
        self._helpers: list[Child] = []
        self._space: Space
        #: as the whiteboard had them last: put back if the whiteboard loses them
        self._charter: Charter
        self._control: Control | None = None
        self._detail = ""
        self._started_at = self._heard_at = time.monotonic()
        self._works: Sequence[Workload] = ()
        self._stopping = False
        self._is_over = asyncio.Event()
        #: a signal has come, and the team is elsewhere
        self._left = asyncio.Event()
        self.interrupted = False

    def launch(self) -> None:
        """Start the server, put the crawl on the whiteboard, start the children. Only before there is an event loop."""
        assembly.load(self._settings)
        try:
            if self._server:
                self._url = self._server.start()
            if self._count:
                refuse_one_alone(self._directory)
            asyncio.run(self._start_crawl())
            self._spec.run.begin()  # not before: now no other crawl runs here
            words = ["--crawl", self._settings.crawl.name, "-o", str(self._directory), *self._spec.log]
            told = {"GCS_SPACE": self._url, consent.VARIABLE: consent.all_of(self._settings)}
            stderr = self._lines.write_end if self._lines else None
            children = [Child("gatherer", f"g{index}", words, told, stderr) for index in range(self._count)]
            if children and self._settings.team.coordination == "seed-server":
                children.append(Child("seed-server", SEED_SERVER, words, told, stderr))
            for child in children:
                self._children.append(child)
                child.fork()
            for _ in range(self._spec.browsers):
                helper = Child("helper", "", [*helper_words(self._settings), *self._spec.log], told, stderr)
                self._helpers.append(helper)
                helper.start()
        except BaseException:
            self._kill()
            if self._server:
                self._server.stop()
            raise

    async def run(self, show: Show | None) -> Outcome:
        """Crawl until the team is done, a limit is reached or the crawl is stopped."""
        try:
            self._space = await self._open_space()
            try:
                loop = asyncio.get_running_loop()
                for number in (signal.SIGINT, signal.SIGTERM):
                    loop.add_signal_handler(number, self._interrupt)
                if self._lines:
                    loop.add_reader(self._lines.read_end, self._lines.forward)
                async with self._station():
                    figures = await self._report(await self._supervise(show))
            finally:
                await self._space.close()
        finally:
            await self._end()
        return Outcome(figures, self.interrupted, self._detail)

    async def _open_space(self) -> Space:
        return await open_space(self._url, crawl=self._settings.crawl.name, name="crew", settings=self._settings.space)

    async def _start_crawl(self) -> None:
        space = await self._open_space()
        try:
            fresh = self._count > 0 and not read_shares(self._directory)[0]
            run, blueprint = self._spec.run, self._spec.blueprint
            name = self._spec.name
            start = CrawlStart(self._settings, run.seeds, self._count, run.session, blueprint, fresh, name)
            self._charter = await open_crawl(space, start)
        finally:
            await space.close()

    def _station(self) -> AbstractAsyncContextManager[None]:
        if self._spec.listen is None:
            return nullcontext()
        from gcs.app.processes.station_process import StationSpec, serving  # an HTTP server is slow to load

        return serving(self._url, self._settings.crawl.name, StationSpec.of(self._spec.listen), self._directory)

    async def _supervise(self, show: Show | None) -> str:
        """Watch the team, and the server in another task: while the server is away, watching the team has to wait."""
        jobs = [self._watch(), self._follow_charter(), self._follow_control()]
        jobs += [self._keep_server(self._server)] if self._server else []
        jobs += [self._show(show)] if show else []
        jobs += [] if self._count else [self._leave()]
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow_charter(self) -> NoReturn:
        while True:
            async for charter in self._space.watch(template(Charter)):
                self._charter = charter

    async def _watch(self) -> str:
        while True:
            await self._rest()
            stuck = [child.name for child in self._children if child.code == EXIT_CODES["stuck"]]
            control = await self._space.read(template(Control))
            members = await self._space.scan(template(Member))
            if control is None and await put_back(self._space, self._charter, self._control):
                events.warning("charter-restored")
            self._control = control or self._control
            if control is not None and control.state in (CrawlState.DONE, CrawlState.STOPPING):
                if self._have_ended(members):
                    self._detail = control.detail
                    return "done" if control.state is CrawlState.DONE else control.reason or "stopped"
            elif self.interrupted and not self._count:
                return "running"
            elif stuck:  # started again, it would wait in vain again
                raise StuckError(f"{stuck[0]} cannot go on: see its message above; nothing is lost")
            else:
                self._restart_children()
            await self._stop_at_limits(members)
            accounts = await self._space.scan(template(Account))
            self._works, self._heard_at = workloads(members, accounts, self._spec.run.session), time.monotonic()

    async def _leave(self) -> NoReturn:
        """After a signal, wait no longer than this for the whiteboard of a team that is elsewhere."""
        await self._left.wait()
        await asyncio.sleep(FAREWELL_S)
        raise SpaceError("the whiteboard does not answer; the crawl is elsewhere, and how it stands is not known")

    async def _rest(self) -> None:
        """Wait until the next look at the team is due: soon after the crawl is over, when its gatherers end."""
        if self._is_over.is_set():
            await asyncio.sleep(END_LOOK_S)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self._is_over.wait()

    async def _follow_control(self) -> NoReturn:
        while True:
            async for control in self._space.watch(template(Control)):
                is_over = control.state in (CrawlState.DONE, CrawlState.STOPPING)
                (self._is_over.set if is_over else self._is_over.clear)()

    async def _show(self, show: Show) -> NoReturn:
        """Show the progress, also while the whiteboard is away."""
        while True:
            await asyncio.sleep(LOOK_S)
            is_away = time.monotonic() > self._heard_at + AWAY_S
            show(self._works, AWAY if is_away else str(self._control.state) if self._control else "waiting")

    def _have_ended(self, members: list[Member]) -> bool:
        """Whether the gatherers here and on other machines have ended; a dead one elsewhere is gone with its lease."""
        if any(child.code is None for child in self._children):
            return False
        ours = {child.name for child in self._children}
        return all(member.state == MemberState.GONE or member.gatherer in ours for member in members)

    async def _keep_server(self, server: EmbeddedServer) -> NoReturn:
        while True:
            await asyncio.sleep(LOOK_S)
            server.revive()

    def _restart_children(self) -> None:
        """Restart gatherers that died. One that left on purpose stays away, unless it was the last."""
        for child in self._children:
            is_last = child is self._children[0] and all(each.code == 0 for each in self._children)
            if child.code is None or (child.code == 0 and not is_last):
                continue
            recent = [at for at in child.starts if at > time.monotonic() - 60]
            if child.code == UsageError.exit_code:
                raise UsageError(f"{child.name} cannot work with these settings: see its message above")
            if len(recent) >= STARTS_PER_MINUTE:
                text = f"{child.name} ended {len(recent)} times within a minute (code {child.code}): see its messages"
                raise GcsError(text)
            events.warning("gatherer-restarted", gatherer=child.name, code=child.code)
            child.start()
        for helper in self._helpers:
            if helper.code is not None and len(helper.starts) < STARTS_PER_MINUTE:
                events.warning("helper-restarted", code=helper.code)
                helper.start()

    async def _stop_at_limits(self, members: list[Member]) -> None:
        crawl = self._settings.crawl
        pages = await self._pages(members) if crawl.max_pages else 0
        over_time = crawl.max_seconds and time.monotonic() - self._started_at > crawl.max_seconds
        if ((crawl.max_pages and pages >= crawl.max_pages) or over_time) and not self._stopping:
            self._stopping = True
            await self._space.out(Control(CrawlState.STOPPING, "crew", "limit"))

    async def _pages(self, members: list[Member]) -> int:
        """Pages of this session, by heartbeats, and by the accounts of gatherers that have ended."""
        pages = {member.gatherer: int(member.figures.get("pages", 0)) for member in members}
        for account in await self._space.scan(template(Account)):
            share = msgspec.msgpack.decode(account.share, type=Share)
            if share.session == self._spec.run.session:
                pages[account.gatherer] = max(pages.get(account.gatherer, 0), share.counters.pages)
        return sum(pages.values())

    def _interrupt(self) -> None:
        if self.interrupted:
            self._kill()
            return
        self.interrupted = True
        if not self._count:
            self._left.set()
            print("the crawl goes on without us; to stop it: gcs stop", file=sys.stderr)
            return
        print("ending: waiting for pages in flight (Ctrl-C again to end at once)", file=sys.stderr)
        self._task = asyncio.ensure_future(self._space.out(Control(CrawlState.STOPPING, "crew", "stopped")))

    def _kill(self) -> None:
        for child in [*self._children, *self._helpers]:
            child.signal(signal.SIGKILL)

    async def _end(self) -> None:
        for child in [*self._children, *self._helpers]:
            child.signal(signal.SIGINT)  # keep the state: no gatherer is left to hand over to
        try:
            async with asyncio.timeout(END_S):
                await asyncio.gather(*(child.ended() for child in [*self._children, *self._helpers]))
        except TimeoutError:
            self._kill()
        if self._server:
            self._server.stop()

    async def _report(self, state: str) -> Report:
        """The report of the whole team: from the disks here, and from the accounts of gatherers on other machines."""
        shares = {share.id: share for share in read_shares(self._directory)[0]}
        for account in await self._space.scan(template(Account)):
            shares.setdefault(account.gatherer, msgspec.msgpack.decode(account.share, type=Share))
        team = [shares[name] for name in sorted(shares)]
        unique = await asyncio.to_thread(count_unique, self._directory, team)
        figures = report.build(self._settings.crawl.name, state, team, unique)
        if expected := self._settings.crawl.expected:
            figures = await asyncio.to_thread(by_list, figures, self._directory, expected, self._settings.urls)
        places = [size.place for size in await self._space.inbox_sizes() if size.kind == "dead"]
        letters = [letter for place in places for letter in await self._space.dead_letters(place, MOST_LETTERS)]
        dead = sum(letter.deliveries > 0 for letter in letters)  # the others were forged: nothing of ours is in them
        return msgspec.structs.replace(figures, dead_letters=dead)


# -- the crawl on the whiteboard


@dataclass(frozen=True, slots=True)
class CrawlStart:
    """The crawl to put on the whiteboard."""

    settings: Settings
    seeds: list[str]
    #: gatherers that are expected
    gatherers: int
    session: int = 1
    #: the plan made ahead for the session, encoded; b"" for none
    blueprint: bytes = b""
    #: the gatherers have no disks yet: a crawl of this name that is done is not continued. Otherwise its plan and its
    #: accounts would count for this crawl, and its gatherers would be waited for.
    fresh: bool = False
    #: of the run
    name: str = ""


async def open_crawl(space: Space, start: CrawlStart) -> Charter:
    """Put a crawl on the whiteboard, or go on with the one that is there; one that runs is joined as it is.

    Seeds that were added during an earlier run (`gcs seed`) are seeds of this run, too; not those of another crawl
    that had the same name at the same whiteboard.
    """
    settings, seeds = start.settings, start.seeds
    before = await space.read(template(Charter))
    if before is None and (reason := space.refusals.reasons.get(Charter)):
        raise UsageError(
            f"there is a crawl '{settings.crawl.name}' at this whiteboard, whose charter {reason}; or give this crawl "
            "another --name"
        )
    if before and start.fresh and await _has_ended(space):
        before = None
        for kind in (PlanPosted, PlanNote, Account):
            await space.remove(template(kind))
    if before and await _running(space):
        if not (why := _difference(start, before)):
            return before
        await _refuse_running(space, settings, why)
    if before and set(seeds) <= set(before.seeds):
        seeds = before.seeds
    packed, gatherers = msgspec.json.encode(settings), max(1, start.gatherers)
    begun_at = before.begun_at if before else await space.time()
    charter = Charter(packed, seeds, gatherers, start.session, start.blueprint, start.name, begun_at)
    await space.out(charter)
    await space.out(Control(CrawlState.RUNNING, "crew"))
    await send(space, Seeds(seeds), SEEDS_INBOX)
    return charter


async def _has_ended(space: Space) -> bool:
    control = await space.read(template(Control))
    is_done = control is not None and control.state is CrawlState.DONE
    return is_done and all(member.state == MemberState.GONE for member in await space.scan(template(Member)))


async def _running(space: Space) -> dict[str, int]:
    """The gatherers that work for the crawl on the whiteboard, with the number of their last beat."""
    control = await space.read(template(Control))
    if control is None or control.state not in (CrawlState.RUNNING, CrawlState.PAUSED):
        return {}
    members = await space.scan(template(Member))
    return {member.gatherer: member.beat for member in members if member.state != MemberState.GONE}


def _difference(start: CrawlStart, there: Charter) -> str:
    """How a crawl differs from the one on the whiteboard, in words; "" if it is the same."""
    if not set(start.seeds) <= set(there.seeds):
        return "other seeds"
    if start.session != there.session:
        return f"session {there.session} instead of {start.session}"
    mine, theirs = (msgspec.json.decode(packed) for packed in (msgspec.json.encode(start.settings), there.settings))
    keys = sorted({(section, key) for tree in (mine, theirs) for section in tree for key in tree[section]})
    changed = [
        f"{section}.{key}"
        for section, key in keys
        if mine.get(section, {}).get(key) != theirs.get(section, {}).get(key)
    ]
    return f"other settings ({', '.join(changed)})" if changed else ""


async def _refuse_running(space: Space, settings: Settings, why: str) -> None:
    """The crawl that runs must have ended: otherwise its gatherers would crawl for this one, with its settings.

    Gatherers that were killed a moment ago are still there until their leases end, but their hearts do not beat.
    """
    give_up_at = time.monotonic() + settings.team.lease_s + 1.0
    before = await _running(space)
    while there := await _running(space):
        if time.monotonic() > give_up_at or any(beat > before.get(name, beat) for name, beat in there.items()):
            names = ", ".join(sorted(there))
            raise UsageError(
                f"a crawl called '{settings.crawl.name}' is running at this whiteboard ({names}) with {why}:"
                " stop it first (gcs stop), give this one another --name, or add to that one with gcs seed and"
                " gcs gatherer"
            )
        await asyncio.sleep(LOOK_S)
