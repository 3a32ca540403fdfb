"""A crawl that is only in a store (`s3://bucket/crawl`), as the station reads it: it rests, and takes no orders."""

import asyncio

import msgspec

from gcs.core.messages.tuples import Account, CrawlState
from gcs.core.report.counters import Counters
from gcs.core.report.report import Share
from gcs.ports.catalogue import kind_of
from gcs.ports.records import reading
from gcs.ports.space.crawl_control import TooLateError
from gcs.roles.station.view.board_snapshot import BoardSnapshot

_FIELDS = ("gatherer", "session", "status", "failure", "source", "requisite", "bytes")


class StoreSource:
    """One crawl at the URL of a store."""

    def __init__(self, url: str) -> None:
        self.place = url
        self.id = url.rstrip("/").rpartition("/")[2] or "store"
        self._board: BoardSnapshot | None = None

    async def read(self, now: float) -> BoardSnapshot:
        if self._board is None:
            accounts = await asyncio.to_thread(self._count)
            self._board = BoardSnapshot(self.id, now, accounts=accounts, state="stored")
        return self._board

    async def order(self, _state: CrawlState, _by: str) -> None:
        raise TooLateError("this crawl is in a store: it takes no orders here")

    async def rebalance(self, _by: str) -> None:
        raise TooLateError("this crawl is in a store: it takes no orders here")

    async def add_seeds(self, _urls: list[str]) -> list[str]:
        raise TooLateError("this crawl is in a store: it takes no orders here")

    async def close(self) -> None:
        """Nothing is open."""

    def _count(self) -> tuple[Account, ...]:
        """What each gatherer has stored in the last session."""
        counts: dict[tuple[int, str], Counters] = {}
        for gatherer, session, status, failure, source, requisite, size in reading.rows(self.place, _FIELDS):
            counters = counts.setdefault((session, gatherer), Counters())
            kind = kind_of(status, failure, source, requisite)
            counters.pages += kind == "page"
            counters.failed += kind == "failure"
            counters.size_bytes += size
        last = max((session for session, _ in counts), default=1)
        shares = [
            Share(gatherer, counters, counters.pages + counters.failed, 0, counters.pages, 1.0, session=session)
            for (session, gatherer), counters in counts.items()
            if session == last
        ]
        return tuple(Account(share.id, msgspec.msgpack.encode(share)) for share in shares)
