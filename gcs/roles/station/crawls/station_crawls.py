"""The crawls that a station has. One, where it was started for one; else a folder's (`app/station`)."""

from typing import Protocol

from gcs.core.helpers.access import Role
from gcs.roles.station.crawls.audit import AuditLog
from gcs.roles.station.crawls.open_crawl import OpenCrawl
from gcs.roles.station.crawls.source import CrawlSource
from gcs.roles.station.crawls.supervisor import Supervisor
from gcs.roles.station.http.auth import Authenticator
from gcs.roles.station.view import schemas


class StationCrawls(Protocol):
    """The crawls of a station."""

    @property
    def only(self) -> OpenCrawl | None:
        """The one crawl that the station was started for; None if it has a folder of them."""

    @property
    def supervisor(self) -> Supervisor | None:
        """What begins crawls here; None if nothing does."""

    async def open(self) -> None:
        """Before the station listens. SpaceError if the crawl cannot be read: the station begins nevertheless."""

    async def run(self) -> None:
        """While the station listens; runs until it is cancelled."""

    async def close(self) -> None:
        """Read once more how the open crawls stand, and tell it to those who watch."""

    async def find(self, crawl: str) -> OpenCrawl | None:
        """The crawl of this id, opened if it is not; None if there is none."""

    async def listed(self) -> schemas.Crawls:
        """How all of them stand."""

    def open_crawls(self) -> list[OpenCrawl]:
        """Those that are open now."""

    def may_command(self, crawl: str, caller: str, roles: frozenset[Role]) -> bool:
        """Whether a caller with these roles may give orders to a crawl."""

    @property
    def audit_log(self) -> AuditLog:
        """Who did what."""


class OneCrawl:
    """The crawls of a station that was started for one crawl."""

    supervisor = None

    def __init__(self, source: CrawlSource, authenticator: Authenticator) -> None:
        self._only = OpenCrawl(source, authenticator)
        self.audit_log = AuditLog()
        self._only.poller.listen(lambda: authenticator.update(self._only.poller.board.keys))

    @property
    def only(self) -> OpenCrawl:
        return self._only

    async def open(self) -> None:
        await self._only.poller.poll()

    async def run(self) -> None:
        await self._only.poller.run()

    async def close(self) -> None:
        await self._only.close()

    async def find(self, crawl: str) -> OpenCrawl | None:
        return self._only if crawl == self._only.id else None

    async def listed(self) -> schemas.Crawls:
        return schemas.Crawls([row_of(self._only)], can_start=False)

    def open_crawls(self) -> list[OpenCrawl]:
        return [self._only]

    def may_command(self, _crawl: str, _caller: str, roles: frozenset[Role]) -> bool:
        return Role.CONTROL in roles


def row_of(opened: OpenCrawl) -> schemas.CrawlRow:
    """The row of an open crawl in the list."""
    status = opened.poller.status()
    return schemas.CrawlRow(
        id=opened.id,
        name=status.crawl,
        state=status.state,
        session=status.report.session,
        pages=status.report.held if status.report.session > 1 else status.now.pages,
        queued=status.now.queued,
        pages_per_s=status.now.pages_per_s,
        explored=status.outlook.progress,
        left=status.outlook.left,
        changed_at=status.at,
        seeds=status.seeds,
    )
