"""The shelf: the crawls that a station has. One, where it was started for one; else a folder's (`app/station`)."""

from typing import Protocol

from gcs.core.helpers.access import Role
from gcs.roles.station.crawls.audit import AuditLog
from gcs.roles.station.crawls.desk import Desk
from gcs.roles.station.crawls.keeper import Keeper
from gcs.roles.station.crawls.source import CrawlSource
from gcs.roles.station.http.auth import Authenticator
from gcs.roles.station.view import schemas


class Shelf(Protocol):
    """The crawls of a station."""

    @property
    def only(self) -> Desk | None:
        """The one crawl that the station was started for; None if it has a folder of them."""

    @property
    def keeper(self) -> Keeper | None:
        """What begins crawls here; None if nothing does."""

    async def open(self) -> None:
        """Before the station listens. SpaceError if the crawl cannot be read: the station begins nevertheless."""

    async def run(self) -> None:
        """While the station listens; runs until it is cancelled."""

    async def close(self) -> None:
        """Read once more how the open crawls stand, and tell it to those who watch."""

    async def find(self, crawl: str) -> Desk | None:
        """The crawl of this id, opened if it is not; None if there is none."""

    async def crawls(self) -> schemas.Crawls:
        """How all of them stand."""

    def open_desks(self) -> list[Desk]:
        """Those that are open now."""

    def may_command(self, crawl: str, caller: str, roles: frozenset[Role]) -> bool:
        """Whether a caller with these roles may give orders to a crawl."""

    @property
    def audit_log(self) -> AuditLog:
        """Who did what."""


class OneCrawl:
    """The shelf of a station that was started for one crawl."""

    keeper = None

    def __init__(self, source: CrawlSource, authenticator: Authenticator) -> None:
        self._desk = Desk(source, authenticator)
        self.audit_log = AuditLog()
        self._desk.poller.listen(lambda: authenticator.update(self._desk.poller.board.keys))

    @property
    def only(self) -> Desk:
        return self._desk

    async def open(self) -> None:
        await self._desk.poller.poll()

    async def run(self) -> None:
        await self._desk.poller.run()

    async def close(self) -> None:
        await self._desk.close()

    async def find(self, crawl: str) -> Desk | None:
        return self._desk if crawl == self._desk.id else None

    async def crawls(self) -> schemas.Crawls:
        return schemas.Crawls([row_of(self._desk)], can_start=False)

    def open_desks(self) -> list[Desk]:
        return [self._desk]

    def may_command(self, _crawl: str, _caller: str, roles: frozenset[Role]) -> bool:
        return Role.CONTROL in roles


def row_of(desk: Desk) -> schemas.CrawlRow:
    """The row of an open crawl in the list."""
    status = desk.poller.status()
    return schemas.CrawlRow(
        id=desk.id,
        name=status.crawl,
        state=status.state,
        session=status.report.session,
        pages=status.now.pages,
        queued=status.now.queued,
        pages_per_s=status.now.pages_per_s,
        explored=status.outlook.progress,
        left=status.outlook.left,
        changed_at=status.at,
        seeds=status.seeds,
    )
