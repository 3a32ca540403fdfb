"""A team on one machine: `gcs crawl -n N` starts a whiteboard and N gatherers, watches over them, and reports.

The processes: this one (which crawls nothing), the embedded server unless --space names one, and the gatherers. A
gatherer that dies is started again under its name and goes on from its disk; so is the server.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import msgspec

from gcs.cli.progress import Progress
from gcs.cli.run import Outcome
from gcs.cli.status import read_shares
from gcs.core import report
from gcs.core.report import Report, Share
from gcs.core.tally import Tally
from gcs.core.template import template
from gcs.core.tuples import Account, Charter, Control, CrawlState, Member, Seeds
from gcs.errors import GcsError
from gcs.events import Events
from gcs.ports.records.remote import Remote
from gcs.ports.space import EmbeddedServer, Space, open_space
from gcs.ports.space.address import parse
from gcs.settings import Settings

events = Events("team")

#: seconds between two looks at the team
LOOK_S = 0.25
#: seconds for the gatherers to end when the crawl is given up
END_S = 15.0
#: starts of one gatherer within a minute before the crawl is given up
STARTS_PER_MINUTE = 20


@dataclass(slots=True)
class Child:
    """A gatherer process, and when it was started."""

    name: str
    process: asyncio.subprocess.Process
    starts: list[float] = field(default_factory=list)


class Crew:
    """The processes of a team."""

    def __init__(
        self, directory: Path, settings: Settings, seeds: list[str], count: int, url: str | None, log: str
    ) -> None:
        if url:
            parse(url)  # what is no address, or no store, is told before anything starts
        if settings.store.url:
            Remote(settings.store.url).filesystem()
        self._directory, self._settings, self._seeds, self._count = directory, settings, seeds, count
        self._log = log
        self._server = None if url else EmbeddedServer(directory / "state" / "space", settings.space.fsync)
        self._url = url or ""
        self._children: dict[str, Child] = {}
        self._space: Space
        self._started_at = time.monotonic()
        self._stopping = False
        self.interrupted = False

    async def run(self, show: Callable[[Share], None] | None) -> Outcome:
        """Crawl until the team is done, a limit is reached or somebody stops it."""
        if self._server:
            self._url = self._server.start()
        crawl = self._settings.crawl.name
        self._space = await open_space(self._url, crawl=crawl, name="crew", settings=self._settings.space)
        try:
            await open_crawl(self._space, self._settings, self._seeds, self._count)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self._interrupt)
            for index in range(self._count):
                await self._start(f"g{index}")
            figures = await self._report(await self._tend(show))
        finally:
            await self._end()
        return Outcome(figures, self.interrupted)

    async def _start(self, name: str) -> None:
        command = [sys.executable, "-m", "gcs", "gatherer", "--space", self._url, "--crawl", self._settings.crawl.name]
        command += ["--name", name, "-o", str(self._directory), "--log", self._log]
        process = await asyncio.create_subprocess_exec(
            *command, start_new_session=True, stdin=asyncio.subprocess.DEVNULL
        )
        child = self._children.setdefault(name, Child(name, process))
        child.process = process
        child.starts = [*child.starts[-STARTS_PER_MINUTE:], time.monotonic()]

    async def _tend(self, show: Callable[[Share], None] | None) -> str:
        """Watch over the team, and, apart from that, over the server: without it, watching the team has to wait."""
        tasks: list[asyncio.Task[str]] = [asyncio.create_task(self._watch(show))]
        if self._server:
            tasks.append(asyncio.create_task(self._see_to_server(self._server)))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, show: Callable[[Share], None] | None) -> str:
        while True:
            await asyncio.sleep(LOOK_S)
            control = await self._space.read(template(Control))
            members = await self._space.scan(template(Member))
            if control is not None and control.state in (CrawlState.DONE, CrawlState.STOPPING):
                if self._have_ended(members):
                    return "done" if control.state is CrawlState.DONE else control.reason or "stopped"
            elif self.interrupted and not self._count:
                return "running"
            else:
                await self._see_to_children()
            await self._see_to_limits(members)
            if show:
                show(_share(members))

    def _have_ended(self, members: list[Member]) -> bool:
        """Whether our gatherers have ended, and those on other machines too; who is dead is gone with its lease."""
        ours = all(child.process.returncode is not None for child in self._children.values())
        return ours and all(member.state == "gone" for member in members)

    async def _see_to_server(self, server: EmbeddedServer) -> NoReturn:
        while True:
            await asyncio.sleep(LOOK_S)
            server.revive()

    async def _see_to_children(self) -> None:
        """Bring back who died. One that left on purpose stays away, unless it was the last: the crawl is not done."""
        children = list(self._children.values())
        for child in children:
            code = child.process.returncode
            is_last = child is children[0] and all(each.process.returncode == 0 for each in children)
            if code is None or (code == 0 and not is_last):
                continue
            recent = [at for at in child.starts if at > time.monotonic() - 60]
            if len(recent) >= STARTS_PER_MINUTE:
                raise GcsError(
                    f"{child.name} ended {len(recent)} times within a minute (code {code}): see its messages"
                )
            events.warning("gatherer-restarted", gatherer=child.name, code=code)
            await self._start(child.name)

    async def _see_to_limits(self, members: list[Member]) -> None:
        crawl = self._settings.crawl
        pages = sum(member.figures.get("pages", 0) for member in members)
        over_time = crawl.max_seconds and time.monotonic() - self._started_at > crawl.max_seconds
        if ((crawl.max_pages and pages >= crawl.max_pages) or over_time) and not self._stopping:
            self._stopping = True
            await self._space.out(Control(CrawlState.STOPPING, "crew", "limit"))

    def _interrupt(self) -> None:
        if self.interrupted:
            for child in self._children.values():
                if child.process.returncode is None:
                    child.process.kill()
            return
        self.interrupted = True
        if not self._count:
            print("\nthe crawl goes on without us; to stop it: gcs stop", file=sys.stderr)
            return
        print("\nending: waiting for pages in flight (Ctrl-C again to end at once)", file=sys.stderr)
        self._task = asyncio.ensure_future(self._space.out(Control(CrawlState.STOPPING, "crew", "stopped")))

    async def _end(self) -> None:
        left = [child.process for child in self._children.values() if child.process.returncode is None]
        for process in left:
            process.send_signal(signal.SIGINT)  # keep the state: there is nobody to hand over to
        try:
            async with asyncio.timeout(END_S):
                await asyncio.gather(*(process.wait() for process in left))
        except TimeoutError:
            for process in left:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        await self._space.close()
        if self._server:
            self._server.stop()

    async def _report(self, state: str) -> Report:
        """The whole team's: ours from their disks, the others' as they gave account of themselves."""
        shares = {share.id: share for share in read_shares(self._directory)[0]}
        for account in await self._space.scan(template(Account)):
            shares.setdefault(account.gatherer, msgspec.msgpack.decode(account.share, type=Share))
        return report.build(self._settings.crawl.name, state, [shares[name] for name in sorted(shares)])


async def open_crawl(space: Space, settings: Settings, seeds: list[str], gatherers: int) -> None:
    """Put a crawl on the whiteboard, or go on with the one that is there; so many gatherers are expected."""
    await space.out(Charter(msgspec.json.encode(settings), seeds, max(1, gatherers)))
    await space.out(Control(CrawlState.RUNNING, "crew"))
    await space.out(Seeds(seeds), to="seeds")


def _share(members: list[Member]) -> Share:
    """The team's figures as one share, for the progress line."""
    known, queued = (sum(int(member.figures.get(name, 0)) for member in members) for name in ("known", "queued"))
    pages = sum(int(member.figures.get("pages", 0)) for member in members)
    fraction = (known - queued) / known if known else 0.0
    return Share("team", Tally(pages=pages), known, queued, pages, fraction)


async def run_crew(crew: Crew, progress: bool) -> Outcome:
    """Run a team from a terminal."""
    if progress and sys.stderr.isatty():
        with Progress() as bar:
            return await crew.run(bar.update)
    return await crew.run(None)
