"""The crawls of a folder: each crawl in it and in its folders, opened when somebody looks at it.

The id of a crawl is its path in the folder, with ":" between the parts: an id never becomes a path, it is looked up
among those that are there.
"""

import asyncio
import contextlib
import time
from pathlib import Path

import msgspec

from gcs.app.crawl_list import ListedCrawl, crawls_below, list_crawl
from gcs.app.station.crawl_supervisor import CrawlSupervisor, SupervisorSpec
from gcs.app.station.directory_source import DirectorySource
from gcs.app.station.new_crawl import SETTINGS
from gcs.core.helpers.access import Role
from gcs.core.messages.tuples import CrawlState
from gcs.errors import GcsError, SpaceError
from gcs.roles.station.crawls.audit import AuditLog
from gcs.roles.station.crawls.open_crawl import OpenCrawl
from gcs.roles.station.crawls.station_crawls import row_of
from gcs.roles.station.http.auth import Authenticator
from gcs.roles.station.view import schemas
from gcs.roles.station.view.board_snapshot import BoardSnapshot

#: seconds for which a list of the crawls is good, and without a reader after which a crawl is closed
LIST_S, IDLE_S = 1.5, 60.0
#: seconds between two looks at what is open
TEND_S = 1.0
#: crawls that are open at a time
MOST_OPEN = 64


class FolderCrawls:
    """The crawls of one folder."""

    only = None

    def __init__(self, spec: SupervisorSpec, authenticator: Authenticator) -> None:
        self._spec, self._authenticator = spec, authenticator
        self.supervisor = CrawlSupervisor(spec, self.directory_of)
        self._opened: dict[str, OpenCrawl] = {}
        self._used_at: dict[str, float] = {}
        self._opening = asyncio.Lock()
        self._listed: tuple[float, dict[str, Path]] = (-LIST_S, {})
        #: crawls that rest, with the time of their last change
        self._resting: dict[str, ListedCrawl] = {}

    @property
    def audit_log(self) -> AuditLog:
        return self.supervisor.audit_log

    async def open(self) -> None:
        """Crawls are opened when somebody looks at them."""

    async def run(self) -> None:
        keeping = asyncio.create_task(self.supervisor.run(self._order))
        try:
            while True:
                await asyncio.sleep(TEND_S)
                await self._tend()
        finally:
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping

    async def close(self) -> None:
        for id in list(self._opened):
            await self._close(id)

    async def find(self, crawl: str) -> OpenCrawl | None:
        if crawl not in self._directories():
            return None
        async with self._opening:
            self._used_at[crawl] = time.monotonic()
            opened = self._opened.get(crawl)
            if opened is None:
                opened = OpenCrawl(
                    FolderSource(crawl, self._directories()[crawl], self.supervisor), self._authenticator
                )
                with contextlib.suppress(SpaceError):
                    await opened.poller.poll()
                opened.follow()
                self._opened[crawl] = opened
            return opened

    async def listed(self) -> schemas.Crawls:
        rows = [await self._row(id, directory) for id, directory in self._directories().items()]
        return schemas.Crawls(sorted(rows, key=_by_urgency), can_start=True)

    def open_crawls(self) -> list[OpenCrawl]:
        return list(self._opened.values())

    def may_command(self, crawl: str, caller: str, roles: frozenset[Role]) -> bool:
        kept = self.supervisor.jobs.crawls.get(crawl)
        owns = kept is not None and bool(caller) and kept.owner == caller
        return Role.CONTROL in roles or (Role.CRAWL in roles and owns)

    def directory_of(self, crawl: str) -> Path | None:
        return self._directories().get(crawl)

    def _directories(self) -> dict[str, Path]:
        """The crawls, and the directories of those that are about to begin."""
        at, found = self._listed
        if time.monotonic() >= at + LIST_S:
            new = [file.parent for file in self._spec.folder.glob(f"*/{SETTINGS}")]
            directories = dict.fromkeys([*crawls_below(self._spec.folder), *new])
            found = {":".join(each.relative_to(self._spec.folder).parts): each for each in directories}
            self._listed = time.monotonic(), found
        if missing := [job.id for job in self.supervisor.jobs.jobs if job.id not in found]:
            found |= {id: path for id in missing if (path := self._spec.folder / id).is_dir() and "/" not in id}
        return found

    async def _row(self, id: str, directory: Path) -> schemas.CrawlRow:
        opened = self._opened.get(id)
        if opened and opened.poller.board.at:
            row = row_of(opened)
        else:
            row = _row_of(id, await asyncio.to_thread(self._read, id, directory))
        kept, place = self.supervisor.jobs.crawls.get(id), self.supervisor.jobs.place(id)
        if kept:
            told = {"owner": kept.owner, "share": kept.share, "next_at": kept.next_at, "error": kept.error or row.error}
            row = msgspec.structs.replace(row, **told)
        return msgspec.structs.replace(row, place=place, state="queued" if place else row.state)

    def _read(self, id: str, directory: Path) -> ListedCrawl:
        """How a crawl stands that nobody looks at; one that rests is read again only when it has changed."""
        last = self._resting.get(id)
        if last and last.state != "running" and not self.supervisor.is_running(id) and not last.is_stale(directory):
            return last
        self._resting[id] = found = list_crawl(directory)
        return found

    async def _tend(self) -> None:
        """Open the crawls that run here, so that their charts begin with them; close those that nobody looks at."""
        for job in self.supervisor.jobs.jobs:
            if job.running:
                await self.find(job.id)
        idle = sorted(self._used_at, key=self._used_at.__getitem__)
        for number, id in enumerate(idle):
            opened, since = self._opened.get(id), time.monotonic() - self._used_at[id]
            if opened and not opened.stream.readers and (since > IDLE_S or number < len(idle) - MOST_OPEN):
                await self._close(id)

    async def _close(self, id: str) -> None:
        self._used_at.pop(id, None)
        if opened := self._opened.pop(id, None):
            with contextlib.suppress(GcsError):
                await opened.close()

    async def _order(self, crawl: str, state: CrawlState) -> None:
        if opened := await self.find(crawl):
            await opened.source.order(state, "station")


class FolderSource(DirectorySource):
    """A crawl of the folder: it may wait in the queue, or be about to begin."""

    def __init__(self, id: str, directory: Path, supervisor: CrawlSupervisor) -> None:
        super().__init__(id, directory, supervisor.spec.space_url)
        self._supervisor = supervisor

    async def read(self, now: float) -> BoardSnapshot:
        board = await super().read(now)
        if board.at_work:
            return board
        if self._supervisor.jobs.place(self.id):
            return board.standing("queued")
        return board.standing("waiting") if self._supervisor.is_running(self.id) else board

    async def order(self, state: CrawlState, by: str) -> None:
        if state is not CrawlState.STOPPING or not self._supervisor.cancel(self.id):
            await super().order(state, by)


def _row_of(id: str, listed: ListedCrawl) -> schemas.CrawlRow:
    return schemas.CrawlRow(
        id=id,
        name=listed.crawl or id,
        state=listed.state or "new",
        session=listed.session,
        pages=listed.pages,
        queued=listed.queued,
        explored=listed.explored,
        changed_at=listed.changed_at,
        seeds=len(listed.seeds),
        seed=listed.seeds[0] if listed.seeds else "",
        error=listed.error,
    )


def _by_urgency(row: schemas.CrawlRow) -> tuple[int, int, float, str]:
    """What runs, then what waits, then the newest."""
    rank = {"running": 0, "paused": 0, "stopping": 0, "waiting": 0, "queued": 1}.get(row.state, 2)
    return rank, row.place, -row.changed_at, row.id
