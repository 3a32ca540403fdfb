"""A crawl that is only in a store (`s3://bucket/crawl`), as the station reads it: it rests, and takes no orders."""

import asyncio
from http.client import NOT_MODIFIED

import msgspec

from gcs.core.messages.tuples import Account, CrawlState
from gcs.core.page.change import Change
from gcs.core.report.counters import Counters
from gcs.core.report.estimate import STORED
from gcs.core.report.report import Share
from gcs.core.search.results import Asked, SearchResults
from gcs.errors import UsageError
from gcs.ports.catalogue import kind_of
from gcs.ports.records import reading
from gcs.ports.search.team_search import NoLibrarianError
from gcs.ports.space.crawl_control import TooLateError
from gcs.roles.station.view.board_snapshot import BoardSnapshot

_FIELDS = ("gatherer", "session", "status", "failure", "source", "requisite", "bytes", "change")


class StoreSource:
    """One crawl at the URL of a store."""

    def __init__(self, url: str) -> None:
        """UsageError if there is no crawl."""
        if not reading.log_keys(url):
            raise UsageError(f"{url}: there is no crawl here; give the URL that was its --store")
        self.place = url
        self.id = url.rstrip("/").rpartition("/")[2] or "store"
        self._board: BoardSnapshot | None = None

    async def read(self, now: float) -> BoardSnapshot:
        if self._board is None:
            shares = await asyncio.to_thread(stored_shares, self.place)
            accounts = tuple(Account(share.id, msgspec.msgpack.encode(share)) for share in shares)
            self._board = BoardSnapshot(self.id, now, accounts=accounts, state=STORED)
        return self._board

    async def order(self, _state: CrawlState, _by: str) -> None:
        raise TooLateError("this crawl is in a store: it takes no orders here")

    async def rebalance(self, _by: str) -> None:
        raise TooLateError("this crawl is in a store: it takes no orders here")

    async def add_seeds(self, _urls: list[str]) -> list[str]:
        raise TooLateError("this crawl is in a store: it takes no orders here")

    async def find(self, _asked: Asked, _query: str) -> SearchResults:
        raise NoLibrarianError("this crawl is in a store: gcs search looks at its pages")

    async def close(self) -> None:
        """Nothing is open."""


def stored_shares(url: str) -> list[Share]:
    """What each gatherer has stored in the last session. Which URLs it knew, and which wait, is not in a store."""
    counts: dict[tuple[int, str], Counters] = {}
    for gatherer, session, status, failure, source, requisite, size, change in reading.rows(url, _FIELDS):
        counters = counts.setdefault((session, gatherer), Counters())
        kind = "confirmed" if status == NOT_MODIFIED else kind_of(status, failure, source, requisite)
        counters.pages += kind == "page"
        counters.requisites += kind == "requisite"
        counters.redirects += kind == "redirect"
        counters.revisits += kind == "confirmed" and not requisite
        counters.failed += kind == "failure"
        counters.failures |= {failure: counters.failures.get(failure, 0) + 1} if failure else {}
        counters.size_bytes += size if kind == "page" else 0
        if change and not requisite:
            counters.note(Change(change))
    last = max((session for session, _ in counts), default=1)
    return [
        Share(gatherer, counters, 0, 0, counters.pages, 0.0, session=session)
        for (session, gatherer), counters in counts.items()
        if session == last
    ]
