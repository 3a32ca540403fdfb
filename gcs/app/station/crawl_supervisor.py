"""The supervisor runs the crawls of a folder, each in a process of its own, so many at a time, in their order.

station ─► jobs ─► `gcs crawl -o FOLDER/CRAWL` (a process; its log is FOLDER/CRAWL/crawl.log)
supervisor ─► control socket of each crawl: its share of the connections; the kernel: its share of the CPU (nice)

With a whiteboard, the process is `gcs crawl -n 0 --space URL`: it puts the crawl there and waits for its end, while the
machines that run `gcs gatherer --all` crawl it, and share what they have (`app/processes/gatherer_host.py`).

Invariants
- A crawl that is told to stop keeps its state; so do all when the station ends. No process outlives the station.
- A crawl has one process at most: it is the process that has the lock of the directory.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from croniter import CroniterError, croniter

from gcs.app.crawl_dir import is_crawl, running_gatherers
from gcs.app.station.crawl_jobs import STATION, CrawlJobs
from gcs.app.station.new_crawl import SEEDS, SETTINGS, ComposedCrawl, CrawlLimits, compose
from gcs.app.station.shares import niceness, parts_of, set_share
from gcs.core.messages.tuples import CrawlState
from gcs.errors import GcsError, UsageError
from gcs.events import Events
from gcs.ports.space.crawl_control import TooLateError
from gcs.ports.system.process import end_with
from gcs.ports.system.tasks import repeat
from gcs.roles.station.browse.crawl_calls import LOG_FILE
from gcs.roles.station.crawls.audit import AuditEntry, AuditLog
from gcs.roles.station.crawls.supervisor import (
    Caller,
    CheckedCrawl,
    NewCrawl,
    Schedule,
    ScheduleWanted,
    Started,
    StartWanted,
)

#: seconds between two looks at the processes, and at their shares; that a crawl has to end in
LOOK_S, SHARE_S, END_S = 0.3, 2.0, 20.0
#: fields of a schedule: minute, hour, day, month, day of the week
CRON_FIELDS = 5
#: exit codes of a crawl that has ended as it should: done, or stopped by its user or a limit
FINE = (0, 3)

events = Events("supervisor")


@dataclass(frozen=True, slots=True)
class SupervisorSpec:
    """How the crawls of a folder are run."""

    folder: Path
    #: crawls that run at a time
    at_once: int = 2
    #: connections of all of them together
    connections: int = 256
    #: whiteboard of the team that crawls; "" to crawl here
    space_url: str = ""
    limits: CrawlLimits = field(default_factory=CrawlLimits)


class CrawlSupervisor:
    """Runs the crawls of one folder."""

    def __init__(
        self,
        spec: SupervisorSpec,
        directory_of: Callable[[str], Path | None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`directory_of`: the directory of a crawl of the folder by its id. `clock`: that of schedules."""
        self.spec, self._directory_of, self._clock = spec, directory_of, clock
        self.jobs = CrawlJobs(spec.folder)
        self.audit_log = AuditLog(spec.folder / STATION / "audit.jsonl")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._shared_at = 0.0

    # -- calls -----------------------------------------------------------------------------------------

    async def check(self, wanted: NewCrawl, by: Caller) -> CheckedCrawl:
        return (await self._composed(wanted, by)).checked

    async def begin(self, wanted: NewCrawl, by: Caller) -> Started:
        self._check_count(by)
        made = await self._composed(wanted, by)
        await asyncio.to_thread(made.write)
        kept = self.jobs.crawl(made.directory.name)
        kept.owner, kept.share = by.name, wanted.share
        return self._queue(made.directory.name, begins=False)

    async def start(self, crawl: str, wanted: StartWanted, by: Caller) -> Started:
        directory = self._directory_of(crawl)
        if directory is None:
            raise UsageError("there is no such crawl here any more")
        if self.jobs.job(crawl):
            raise TooLateError("this crawl runs already, or is in the queue")
        if await asyncio.to_thread(running_gatherers, directory):
            raise TooLateError("this crawl runs already: somebody else has started it")
        self._check_count(by)
        if wanted.share:
            if not by.commands_all and wanted.share > self.spec.limits.share:
                raise UsageError(f"share: this token may have at most {self.spec.limits.share:g}")
            self.jobs.crawl(crawl).share = wanted.share
        return self._queue(crawl, wanted.next)

    async def schedule(self, crawl: str, wanted: ScheduleWanted) -> Schedule:
        kept, cron = self.jobs.crawl(crawl), wanted.cron.strip()
        next_at = _next_time(cron, self._clock())
        if cron and not next_at:
            raise UsageError('cron: write five fields, such as "0 3 * * *" for three at night')
        kept.cron, kept.next_at = cron, next_at
        self.jobs.save()
        return self.scheduled(crawl)

    def scheduled(self, crawl: str) -> Schedule:
        kept = self.jobs.crawls.get(crawl)
        return Schedule(kept.cron, kept.next_at) if kept else Schedule("", 0.0)

    def audit(self, limit: int) -> list[AuditEntry]:
        return self.audit_log.read(limit)

    def cancel(self, crawl: str) -> bool:
        """Take a crawl that waits out of the queue; returns whether it did wait."""
        if not self.jobs.place(crawl):
            return False
        self.jobs.remove(crawl)
        return True

    def is_running(self, crawl: str) -> bool:
        return crawl in self._processes

    async def _composed(self, wanted: NewCrawl, by: Caller) -> ComposedCrawl:
        limits = None if by.commands_all else self.spec.limits
        return await asyncio.to_thread(compose, self.spec.folder, wanted, limits)

    def _check_count(self, by: Caller) -> None:
        theirs = sum(self.jobs.crawl(job.id).owner == by.name for job in self.jobs.jobs)
        if not by.commands_all and theirs >= self.spec.limits.crawls:
            raise TooLateError(
                f"this token may have {self.spec.limits.crawls} crawls at a time: wait until one has ended"
            )

    def _queue(self, crawl: str, begins: bool) -> Started:
        self.jobs.crawl(crawl).error = ""
        self.jobs.add(crawl, begins)
        self._begin_jobs()
        return Started(crawl, self.jobs.place(crawl))

    # -- processes -------------------------------------------------------------------------------------

    async def run(self, order: Callable[[str, CrawlState], Awaitable[None]]) -> None:
        """Run jobs until cancelled. `order` gives an order to a crawl."""
        try:
            await repeat(self._look, LOOK_S, events, "failed")
        finally:
            await self._end(order)

    async def _look(self) -> None:
        self._reap()
        self._ring()
        self._begin_jobs()
        await self._share()

    def _reap(self) -> None:
        for crawl, process in list(self._processes.items()):
            if (code := process.poll()) is None:
                continue
            del self._processes[crawl]
            kept = self.jobs.crawl(crawl)
            kept.error = "" if code in FINE else self._last_line(crawl) or f"its process ended with code {code}"
            events.info("ended", crawl=crawl, code=code)
            self.jobs.remove(crawl)

    def _ring(self) -> None:
        """Queue the crawls whose time has come."""
        for crawl, kept in self.jobs.crawls.items():
            if kept.next_at and self._clock() >= kept.next_at:
                kept.next_at = _next_time(kept.cron, self._clock())
                if self.jobs.job(crawl) is None and self._directory_of(crawl):
                    self.jobs.add(crawl, begins=True)

    def _begin_jobs(self) -> None:
        while len(self._processes) < self.spec.at_once and (job := self.jobs.next()):
            directory = self._directory_of(job.id)
            if directory is None:
                self.jobs.remove(job.id)
                continue
            try:
                self._processes[job.id] = self._launch(directory, job.next)
            except OSError as error:  # no room for its log, no memory for its process
                self.jobs.crawl(job.id).error = f"it could not be started: {error.strerror}"
                self.jobs.remove(job.id)
                continue
            job.running = True
            job.next = False  # if the station ends before it, the session that was begun goes on
            self._shared_at = 0.0
            self.jobs.save()

    def _launch(self, directory: Path, begins: bool) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "-m", "gcs", "crawl", "-o", str(directory), "--json", "--log", "info"]
        words += ["-c", str(directory / SETTINGS)] if (directory / SETTINGS).exists() else []
        if not is_crawl(directory):
            words += ["--seeds", str(directory / SEEDS)]
        elif begins:
            words.append("--next")
        if self.spec.space_url:
            words += ["-n", "0"]
        events.info("begun", crawl=directory.name, next=begins)
        with (directory / LOG_FILE).open("ab") as log:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                # not on the command line, where every user of the machine could read its password
                env={**os.environ, **({"GCS_SPACE": self.spec.space_url} if self.spec.space_url else {})},
                start_new_session=True,
                preexec_fn=end_with(os.getpid(), signal.SIGINT),
            )

    async def _share(self) -> None:
        """Tell each crawl what it may use of this machine."""
        if self.spec.space_url or time.monotonic() < self._shared_at + SHARE_S:
            return
        self._shared_at = time.monotonic()
        parts = parts_of({crawl: self.jobs.crawl(crawl).share for crawl in self._processes})
        for crawl, part in parts.items():
            process, directory = self._processes.get(crawl), self._directory_of(crawl)
            if process and directory:
                nice = niceness(part, max(parts.values()))
                await asyncio.to_thread(set_share, directory, process.pid, part, self.spec.connections, nice)

    async def _end(self, order: Callable[[str, CrawlState], Awaitable[None]]) -> None:
        """Stop all crawls; they are still jobs, and go on when the station is started again."""
        for crawl, process in self._processes.items():
            if self.spec.space_url:
                with contextlib.suppress(GcsError):
                    await order(crawl, CrawlState.STOPPING)
            elif process.poll() is None:
                process.send_signal(signal.SIGINT)
        with contextlib.suppress(TimeoutError, subprocess.TimeoutExpired):
            async with asyncio.timeout(END_S):
                await asyncio.gather(*(asyncio.to_thread(process.wait, END_S) for process in self._processes.values()))
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        self.jobs.save()

    def _last_line(self, crawl: str) -> str:
        directory = self._directory_of(crawl)
        try:
            with ((directory or Path()) / LOG_FILE).open("rb") as file:
                file.seek(max(file.seek(0, 2) - 4_000, 0))
                lines = file.read().decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1][:500] if lines else ""


def _next_time(cron: str, now: float) -> float:
    """When a session begins next; 0 for never: no five fields of cron, or a day that never comes."""
    if len(cron.split()) != CRON_FIELDS:  # croniter also knows seconds and years
        return 0.0
    try:
        return float(croniter(cron, now).get_next(float))
    except CroniterError:
        return 0.0
