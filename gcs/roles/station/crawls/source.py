"""Where a crawl is, for the station: how its state is read, and how orders reach it.

A crawl by a team is at its whiteboard (`WhiteboardSource`). Others are in directories or stores: see `app/station`.
"""

from pathlib import Path
from typing import Protocol

from gcs.core.messages.tuples import CrawlState
from gcs.core.search.results import Asked, SearchResults
from gcs.ports.search.team_search import ask_team
from gcs.ports.space import crawl_control
from gcs.ports.space.port import Space
from gcs.roles.station.view.board_snapshot import BoardSnapshot, read_board


class CrawlSource(Protocol):
    """One crawl. Orders raise UsageError or TooLateError if the crawl cannot obey."""

    @property
    def id(self) -> str:
        """Its id at this station: part of paths of the API."""

    @property
    def place(self) -> Path | str | None:
        """Where its records are: a directory or the URL of a store; None if they are not here."""

    async def read(self, now: float) -> BoardSnapshot:
        """How it stands; SpaceError if that cannot be told."""

    async def order(self, state: CrawlState, by: str, /) -> None:
        """Pause it, let it go on, or end it."""

    async def rebalance(self, by: str, /) -> None:
        """Ask its leader to share the work anew."""

    async def add_seeds(self, urls: list[str], /) -> list[str]:
        """Crawl from these, too; returns them as they are understood."""

    async def find(self, asked: Asked, query: str, /) -> SearchResults:
        """Ask the indexes of its gatherers; NoLibrarianError if there are none."""

    async def close(self) -> None:
        """Nothing is asked of it any more."""


class WhiteboardSource:
    """A crawl at its whiteboard."""

    def __init__(self, space: Space, crawl: str, place: Path | str | None = None) -> None:
        self._space, self.id = space, crawl
        self.place: Path | str | None = place

    async def read(self, now: float) -> BoardSnapshot:
        return await read_board(self._space, self.id, now)

    async def order(self, state: CrawlState, by: str) -> None:
        await crawl_control.order(self._space, state, by)

    async def rebalance(self, by: str) -> None:
        await crawl_control.call_rebalance(self._space, by)

    async def add_seeds(self, urls: list[str]) -> list[str]:
        return await crawl_control.add_seeds(self._space, urls)

    async def find(self, asked: Asked, query: str) -> SearchResults:
        return await ask_team(self._space, asked, query)

    async def close(self) -> None:
        """The space belongs to whoever opened it."""
