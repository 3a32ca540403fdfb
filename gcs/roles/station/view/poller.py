"""The lookout: reads the whiteboard every second, and keeps what there is to see.

Whoever asks the station is answered from here, so that a hundred open pages ask the whiteboard no more than one does.

Invariant: a look reads; it changes nothing. If the whiteboard cannot be reached the last look stays, and says when it
was. It must not know HTTP.
"""

import asyncio
import time
from collections.abc import Callable

import gcs.roles.station.view.views as views
from gcs.core.plan.plan import Plan
from gcs.core.report.report import Report
from gcs.core.report.series import Series, SeriesPoint
from gcs.core.report.treemap import Point, Tile, tile
from gcs.errors import SpaceError
from gcs.events import Events
from gcs.ports.space.port import Space
from gcs.roles.station.view.board_snapshot import BoardSnapshot, LastBulletins, read_board
from gcs.roles.station.view.schemas import Errors, ExchangedLinks, History, Rebalances, RecentPages, Status

#: seconds between two looks
LOOK_S = 1.0
#: seconds over which the rate is taken that the end of the crawl is foretold by
RATE_S = 60.0

events = Events("station")


class Poller:
    """Looks, and tells who listens."""

    def __init__(self, space: Space, crawl: str, clock: Callable[[], float] = time.time) -> None:
        self._space, self._crawl, self._clock = space, crawl, clock
        self._listeners: list[Callable[[], None]] = []
        self._plan: tuple[bytes, Plan] | None = None
        self._points: list[Point] | None = None
        self._series = Series()
        self._keepsakes = LastBulletins()
        self._now = SeriesPoint(0.0)
        self.board = BoardSnapshot(crawl)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this after each look."""
        self._listeners.append(listener)

    def age_s(self) -> float:
        """Seconds since the last look that succeeded."""
        return self._clock() - self.board.at

    async def run(self) -> None:
        """Look until cancelled; say once what keeps us from it."""
        reason = ""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
                reason = ""
            except SpaceError as error:
                if str(error) != reason:
                    reason = str(error)
                    events.warning("unreachable", reason=reason)
            except Exception as error:  # whatever it is, the next look may be better: people wait for it
                events.error("look-failed", error=repr(error))

    async def look(self) -> None:
        """Look once."""
        self.board = board = self._keepsakes.complete(await read_board(self._space, self._crawl, self._clock()))
        self._points = None
        if board.plan is not None and (self._plan is None or self._plan[0] != board.plan.plan):
            self._plan = board.plan.plan, Plan.decode(board.plan.plan)
        point, counts = views.sample(board, self.report)
        if board.at_work or views.differs(point, self._now):  # what stands still after the end makes no line
            self._now = self._series.add(point, counts)
        for listener in self._listeners:
            listener()

    # -- what there is to see ------------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """How the crawl stands."""
        plan = self._plan[1] if self._plan and self.board.plan else None
        return views.status(self.board, plan, self.report, self._now, self._urls_per_s())

    @property
    def report(self) -> Report:
        """The report as it would be now."""
        return views.report(self.board)

    @property
    def history(self) -> History:
        """The figures over time."""
        return History(self._series.step_s, self._series.points())

    @property
    def links(self) -> ExchangedLinks:
        """Who sends links to whom."""
        return views.links(self.board)

    @property
    def rebalances(self) -> Rebalances:
        """The plans of the crawl."""
        return views.rebalances(self.board)

    @property
    def errors(self) -> Errors:
        """Failures by kind and host."""
        return views.errors(self.board, self.report)

    @property
    def pages(self) -> RecentPages:
        """Pages stored lately."""
        return views.pages(self.board)

    def tree(self, path: str, levels: int, most: int) -> Tile:
        """A part of the URL tree."""
        if self._points is None:
            self._points = views.points(self.board)
        return tile(self._points, path, levels=levels, most=most)

    def _urls_per_s(self) -> float:
        """URLs dealt with per second, lately."""
        points = [point for point in self._series.points() if point.at >= self.board.at - RATE_S]
        if len(points) < 2 or points[-1].at - points[0].at < LOOK_S:
            return 0.0
        first, last = points[0], points[-1]
        return max((last.known - last.queued) - (first.known - first.queued), 0) / (last.at - first.at)
