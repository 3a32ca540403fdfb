"""A host: this machine's part in every crawl of a whiteboard (`gcs gatherer --all`). So several crawls share one team.

whiteboard ─► host: which crawls are there, which of them run, and what share each has (`crawl.share`, in its charter)
host ─► one process `gcs gatherer` for each crawl that runs, under this host's name, in DIR/CRAWL
host ─► each process: the connections that it may open (a file that it reads again), and its niceness

A crawl is put on the whiteboard by `gcs crawl -n 0 --space URL`, or by a station of a folder (`gcs station --space`).

Invariants
- A crawl that runs has one process here; one that has ended has none. A process that dies is started again, under the
  same name, and goes on from its disk: for its crawl, it is a gatherer like any other.
- The connections of all processes together are those of the host, by the shares of the crawls that run now.
- The crawls know nothing of one another: each has its own keys on the whiteboard, its own plan, leader and directory.
- No process outlives the host. SIGTERM and SIGINT are passed on: hand over and leave, or stop and keep the state.
"""

import asyncio
import contextlib
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from gcs.app.crawl_dir import write_whole
from gcs.app.processes.child import STARTS_PER_MINUTE, Child
from gcs.app.processes.member_process import MemberSpec
from gcs.app.station.shares import be_nice, niceness, parts_of
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Control, CrawlState
from gcs.errors import GcsError, UsageError
from gcs.events import Events
from gcs.ports.records.layout import NAME
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import crawls_at, open_space
from gcs.settings import of_charter

#: seconds between two looks at the whiteboard; to wait for it; and that processes have to end in
LOOK_S, PATIENCE_S, END_S = 0.5, 5.0, 60.0
_ON = (CrawlState.RUNNING, CrawlState.PAUSED)

events = Events("host")


@dataclass(slots=True)
class HostedCrawl:
    """A crawl of the whiteboard, as this host works for it."""

    space: Space
    child: Child
    share_file: Path
    charter: Charter | None = None
    is_on: bool = False
    share: float = 1.0
    #: a charter that this machine does not obey
    refused: Charter | None = None
    connections: int = field(default=0)


class GathererHost:
    """Runs a gatherer for each crawl of one whiteboard."""

    def __init__(self, spec: MemberSpec, connections: int, words: list[str]) -> None:
        """`connections`: of all crawls together; `words`: further options of each gatherer."""
        self._spec, self._connections, self._words = spec, connections, words
        self._crawls: dict[str, HostedCrawl] = {}
        self._signal: signal.Signals | None = None
        self._came = asyncio.Event()

    async def run(self) -> int:
        """Until a signal comes."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._note, number)
        try:
            while not self._came.is_set():
                try:
                    await self._look()
                    self._run_children()
                    self._set_shares()
                except GcsError as error:
                    events.warning("look-failed", reason=error)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._came.wait(), LOOK_S)
        finally:
            await self._end()
        return 0

    def _note(self, number: signal.Signals) -> None:
        self._signal = number
        self._came.set()

    async def _look(self) -> None:
        """Which crawls are at the whiteboard, and how they stand."""
        for name in await crawls_at(self._spec.url):
            if NAME.fullmatch(name) and name not in self._crawls:
                self._crawls[name] = await self._opened(name)
        for name, crawl in self._crawls.items():
            charter, control = await crawl.space.read(template(Charter)), await crawl.space.read(template(Control))
            is_on = charter is not None and control is not None and control.state in _ON
            if is_on and charter != crawl.charter:
                try:
                    crawl.share = of_charter(charter.settings).crawl.share if charter else 1.0
                except GcsError as error:
                    events.warning("charter-refused", crawl=name, reason=error)
                    crawl.refused = charter
                crawl.charter = charter
            crawl.is_on = is_on and charter != crawl.refused

    async def _opened(self, name: str) -> HostedCrawl:
        settings = SpaceSettings(patience_s=PATIENCE_S, open_s=PATIENCE_S)
        space = await open_space(self._spec.url, crawl=name, name=f"host-{self._spec.name}", settings=settings)
        directory = self._spec.output / name
        share_file = directory / "state" / self._spec.name / "connections"
        words = ["--crawl", name, "-o", str(directory), "--share-file", str(share_file)]
        return HostedCrawl(
            space, Child("gatherer", self._spec.name, [*words, *self._words], {"GCS_SPACE": self._spec.url}), share_file
        )

    def _run_children(self) -> None:
        for name, crawl in self._crawls.items():
            child = crawl.child
            if child.is_running or not crawl.is_on:
                continue
            recent = [at for at in child.starts if at > time.monotonic() - 60]
            if child.starts and child.code == UsageError.exit_code:
                events.error("crawl-refused", crawl=name, advice="its message above says why")
                crawl.refused = crawl.charter
            elif len(recent) < STARTS_PER_MINUTE:
                if child.starts and child.code:
                    events.warning("gatherer-restarted", crawl=name, code=child.code)
                child.start()
                crawl.connections = 0

    def _set_shares(self) -> None:
        at_work = {name: crawl for name, crawl in self._crawls.items() if crawl.child.is_running and crawl.is_on}
        parts = parts_of({name: crawl.share for name, crawl in at_work.items()})
        for name, part in parts.items():
            crawl = at_work[name]
            connections = max(round(part * self._connections), 1)
            if connections == crawl.connections:
                continue
            crawl.connections = connections
            write_whole(crawl.share_file, f"{connections}\n".encode(), "give another -o DIR")
            be_nice(crawl.child.pid, niceness(part, max(parts.values())))
            events.info("share", crawl=name, connections=connections)

    async def _end(self) -> None:
        """Pass the signal on, and wait for the processes."""
        children = [crawl.child for crawl in self._crawls.values() if crawl.child.is_running]
        for child in children:
            child.signal(self._signal or signal.SIGINT)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await asyncio.gather(*(child.ended() for child in children))
        for child in children:
            child.signal(signal.SIGKILL)
        for crawl in self._crawls.values():
            await crawl.space.close()
