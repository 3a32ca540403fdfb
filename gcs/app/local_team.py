"""A team on one machine: `gcs crawl -n N` starts a whiteboard and N gatherers, restarts those that die, and reports.

The processes: this one (which crawls nothing), the embedded server unless --space names one, and the gatherers. A
gatherer that dies is started again under its name and goes on from its disk; so is the server.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec

from gcs.app import assembly
from gcs.app.assembly import load_order
from gcs.app.child_process import Child, arguments
from gcs.app.crawl_dir import count_unique, read_shares
from gcs.app.local_crawl import run_loop
from gcs.app.team_start import CrawlStart, open_crawl, refuse_one_alone
from gcs.app.terminal import Outcome, Progress
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Account, Charter, Control, CrawlState, Member, MemberState
from gcs.core.plan.expression import Expression
from gcs.core.plan.triggers import NAMES
from gcs.core.report import report
from gcs.core.report.counters import Counters
from gcs.core.report.report import Report, Share
from gcs.core.tree import tree
from gcs.errors import GcsError, UsageError
from gcs.events import Events
from gcs.ports.records.finished_files import Remote
from gcs.ports.space.address import parse
from gcs.ports.space.crawl_control import put_back
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space
from gcs.settings import Settings

events = Events("team")

#: name of the seed-server, in a team that has one
SEED_SERVER = "seed-server"
#: seconds between two looks at the team
LOOK_S = 0.25
#: seconds for the gatherers to end when the crawl is given up
END_S = 15.0
#: starts of one gatherer within a minute before the crawl is given up
STARTS_PER_MINUTE = 20


@dataclass(frozen=True, slots=True)
class TeamSpec:
    """The team to start on this machine: what it crawls, in which directory, and with how many gatherers."""

    directory: Path
    settings: Settings
    seeds: list[str]
    #: gatherers to start here; 0 where the team is elsewhere
    gatherers: int
    #: URL of the whiteboard; None for an embedded server of its own
    space_url: str | None
    #: log level of the gatherers
    log: str
    #: the command line's entry point, which a forked gatherer runs
    main: Callable[[], None]
    #: HOST:PORT of the station; None for no station
    listen: str | None = None
    session: int = 1
    #: the plan made ahead for the session, encoded; b"" for none
    blueprint: bytes = b""


class LocalTeam:
    """The processes of a team."""

    def __init__(self, spec: TeamSpec) -> None:
        """Raises an error for a bad address, store, order, trigger or expansion before anything starts."""
        settings, url = spec.settings, spec.space_url
        if url:
            parse(url)
        if settings.store.url:
            Remote(settings.store.url).filesystem()
        if spec.gatherers:  # a team elsewhere may have a module that this machine does not have
            by_server = settings.team.coordination == "seed-server"
            load_order(settings.seed_server.order if by_server else settings.crawl.order)
        if settings.team.trigger:
            Expression(settings.team.trigger, NAMES)
        tree.parse(settings.team.expansion)
        self._spec, self._directory, self._settings, self._count = spec, spec.directory, settings, spec.gatherers
        self._server = None if url else EmbeddedServer(spec.directory / "state" / "space", settings.space.fsync)
        self._url = url or ""
        self._children: list[Child] = []
        self._space: Space
        #: as the whiteboard had them last: put back if the whiteboard loses them
        self._charter: Charter
        self._control: Control | None = None
        self._started_at = time.monotonic()
        self._stopping = False
        self.interrupted = False

    def launch(self, begin: Callable[[], None] | None = None) -> None:
        """Start the server, put the crawl on the whiteboard, start the gatherers. Only before there is an event loop.

        `begin` is called when it is clear that no other crawl runs here.
        """
        assembly.load(self._settings)
        try:
            if self._server:
                self._url = self._server.start()
            if self._count:
                refuse_one_alone(self._directory)
            asyncio.run(self._start_crawl())
            if begin:
                begin()
            words = arguments(self._url, self._settings.crawl.name, self._directory, self._spec.log)
            children = [Child("gatherer", f"g{index}", words, self._spec.main) for index in range(self._count)]
            if children and self._settings.team.coordination == "seed-server":
                children.append(Child("seed-server", SEED_SERVER, words, self._spec.main))
            for child in children:
                self._children.append(child)
                child.fork()
        except BaseException:
            self._kill()
            if self._server:
                self._server.stop()
            raise

    async def run(self, show: Callable[[Share], None] | None) -> Outcome:
        """Crawl until the team is done, a limit is reached or the crawl is stopped."""
        try:
            self._space = await self._open_space()
            try:
                loop = asyncio.get_running_loop()
                for number in (signal.SIGINT, signal.SIGTERM):
                    loop.add_signal_handler(number, self._interrupt)
                async with self._station():
                    figures = await self._report(await self._supervise(show))
            finally:
                await self._space.close()
        finally:
            await self._end()
        return Outcome(figures, self.interrupted)

    async def _open_space(self) -> Space:
        return await open_space(self._url, crawl=self._settings.crawl.name, name="crew", settings=self._settings.space)

    async def _start_crawl(self) -> None:
        space = await self._open_space()
        try:
            fresh = self._count > 0 and not read_shares(self._directory)[0]
            spec = self._spec
            start = CrawlStart(spec.settings, spec.seeds, spec.gatherers, spec.session, spec.blueprint, fresh)
            self._charter = await open_crawl(space, start)
        finally:
            await space.close()

    def _station(self) -> AbstractAsyncContextManager[None]:
        if self._spec.listen is None:
            return nullcontext()
        from gcs.app.station_process import serving  # an HTTP server is slow to load

        return serving(self._url, self._settings.crawl.name, self._spec.listen)

    async def _supervise(self, show: Callable[[Share], None] | None) -> str:
        """Watch the team, and the server in another task: while the server is away, watching the team has to wait."""
        jobs = [self._watch(show), self._follow_charter(), *([self._keep_server(self._server)] if self._server else ())]
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

    async def _watch(self, show: Callable[[Share], None] | None) -> str:
        while True:
            await asyncio.sleep(LOOK_S)
            control = await self._space.read(template(Control))
            members = await self._space.scan(template(Member))
            if control is None and await put_back(self._space, self._charter, self._control):
                events.warning("charter-restored")
            self._control = control or self._control
            if control is not None and control.state in (CrawlState.DONE, CrawlState.STOPPING):
                if self._have_ended(members):
                    return "done" if control.state is CrawlState.DONE else control.reason or "stopped"
            elif self.interrupted and not self._count:
                return "running"
            else:
                self._restart_children()
            await self._stop_at_limits(members)
            if show:
                show(_share(members))

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
            if share.session == self._spec.session:
                pages[account.gatherer] = max(pages.get(account.gatherer, 0), share.counters.pages)
        return sum(pages.values())

    def _interrupt(self) -> None:
        if self.interrupted:
            self._kill()
            return
        self.interrupted = True
        if not self._count:
            print("\nthe crawl goes on without us; to stop it: gcs stop", file=sys.stderr)
            return
        print("\nending: waiting for pages in flight (Ctrl-C again to end at once)", file=sys.stderr)
        self._task = asyncio.ensure_future(self._space.out(Control(CrawlState.STOPPING, "crew", "stopped")))

    def _kill(self) -> None:
        for child in self._children:
            child.signal(signal.SIGKILL)

    async def _end(self) -> None:
        for child in self._children:
            child.signal(signal.SIGINT)  # keep the state: no gatherer is left to hand over to
        try:
            async with asyncio.timeout(END_S):
                await asyncio.gather(*(child.ended() for child in self._children))
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
        return report.build(self._settings.crawl.name, state, team, unique)


def _share(members: list[Member]) -> Share:
    """The team's figures as one share, for the progress line."""
    known, queued = (sum(int(member.figures.get(name, 0)) for member in members) for name in ("known", "queued"))
    pages = sum(int(member.figures.get("pages", 0)) for member in members)
    fraction = (known - queued) / known if known else 0.0
    return Share("team", Counters(pages=pages), known, queued, pages, fraction)


def run_local_team(team: LocalTeam, progress: bool, begin: Callable[[], None] | None = None) -> Outcome:
    """Run a team from a terminal; `begin` is called when no other crawl runs in the directory."""
    team.launch(begin)
    with Progress() if progress and sys.stderr.isatty() else nullcontext() as bar:
        return run_loop(team.run(bar.update if bar else None))
