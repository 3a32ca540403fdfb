"""The poller: reads how a crawl stands every second, and keeps what the station shows of it.

All requests are answered from here, so that a hundred open pages ask the crawl no more than one does.

Invariant: polling reads and changes nothing. If the whiteboard cannot be reached, the last snapshot stays, with its
time. The poller must not know HTTP.
"""

import asyncio
import time
from collections.abc import Callable

import gcs.roles.station.view.views as views
from gcs.core.plan.plan import Plan
from gcs.core.report.report import Report
from gcs.core.report.series import Series, SeriesPoint
from gcs.core.report.treemap import Point, Tile, tile
from gcs.events import Events
from gcs.ports.system.tasks import repeat
from gcs.roles.station.crawls.source import CrawlSource
from gcs.roles.station.view.board_snapshot import BoardSnapshot, LastBulletins
from gcs.roles.station.view.schemas import Errors, ExchangedLinks, History, Rebalances, RecentPages, Status

#: seconds between two polls
POLL_S = 1.0
#: seconds without an answer of the whiteboard after which the estimate says so
AWAY_S = 3.0

events = Events("station")


class Poller:
    """Polls the board, and calls its listeners after each poll."""

    def __init__(self, source: CrawlSource, clock: Callable[[], float] = time.time) -> None:
        self._source, self._clock = source, clock
        self._listeners: list[Callable[[], None]] = []
        self._plan: tuple[bytes, Plan] | None = None
        self._points: list[Point] | None = None
        self._series = Series()
        self._last_bulletins = LastBulletins()
        self._now = SeriesPoint(0.0)
        self.board = BoardSnapshot(source.id)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this function after each poll."""
        self._listeners.append(listener)

    def age_s(self) -> float:
        """Seconds since the last poll that succeeded."""
        return self._clock() - self.board.at

    async def run(self) -> None:
        """Poll until cancelled: whatever fails, open pages wait for the next poll."""
        await asyncio.sleep(POLL_S)
        await repeat(self.poll, POLL_S, events, "look-failed")

    async def poll(self) -> None:
        self.board = board = self._last_bulletins.complete(await self._source.read(self._clock()))
        self._points = None
        if board.plan is not None and (self._plan is None or self._plan[0] != board.plan.plan):
            self._plan = board.plan.plan, Plan.decode(board.plan.plan)
        point, counts = views.sample(board, self.report())
        if board.at_work or views.differs(point, self._now):  # after the end, the lines of the charts end too
            self._now = self._series.add(point, counts)
        for listener in self._listeners:
            listener()

    # -- what the API shows (`schemas`) ------------------------------------------------------------------

    def status(self) -> Status:
        plan = self._plan[1] if self._plan and self.board.plan else None
        return views.status(self.board, plan, self.report(), self._now)

    def report(self) -> Report:
        return views.report(self.board, self.age_s() > AWAY_S)

    def history(self) -> History:
        return History(self._series.step_s, self._series.points())

    def links(self) -> ExchangedLinks:
        return views.links(self.board)

    def rebalances(self) -> Rebalances:
        return views.rebalances(self.board)

    def errors(self) -> Errors:
        return views.errors(self.board, self.report())

    def pages(self) -> RecentPages:
        return views.pages(self.board)

    def tree(self, path: str, levels: int, most: int, after: int = 0) -> Tile:
        if self._points is None:
            self._points = views.points(self.board)
        return tile(self._points, path, levels=levels, most=most, after=after)
