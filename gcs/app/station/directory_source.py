"""A crawl in a directory, as the station reads it: by a team, by one gatherer, or at rest.

Who crawls there may change while the station looks on. A team says how it stands at its whiteboard, one gatherer by
the socket in its directory, and a crawl at rest by what its gatherers have written to their disks.
"""

import asyncio
import dataclasses
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from gcs.app.crawl_dir import current_session, read_standing
from gcs.app.crawl_input import SavedCrawl
from gcs.core.messages.tuples import (
    Account,
    Bulletin,
    Charter,
    CrawlState,
    Member,
    SuperpagePatch,
)
from gcs.core.report.report import Share
from gcs.core.search.results import Asked, SearchResults
from gcs.core.url.sources import is_source
from gcs.errors import GcsError, SpaceError, UsageError
from gcs.ports.frontier.frontier_view import tree_of
from gcs.ports.search.team_search import NoLibrarianError
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.crawl_control import TooLateError
from gcs.ports.space.embedded_server import address_of
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import crawls_at, open_space
from gcs.ports.system.control_socket import ControlAnswer, ControlOrder, ask
from gcs.roles.station.crawls.source import WhiteboardSource
from gcs.roles.station.view.board_snapshot import BoardSnapshot
from gcs.settings import load

#: seconds to wait for a whiteboard, and until one that did not answer is tried again
PATIENCE_S, AGAIN_S = 2.0, 5.0
#: seconds between two looks at the tree of a crawl that runs; points of it
TREE_S, POINTS = 20.0, 1_500
_VERBS = {CrawlState.PAUSED: "pause", CrawlState.RUNNING: "resume", CrawlState.STOPPING: "stop"}


class DirectorySource:
    """One crawl directory."""

    def __init__(self, id: str, directory: Path, space_url: str = "") -> None:
        """`space_url`: the whiteboard of the team that may crawl it, where that is not in the directory."""
        self.id, self.place, self._space_url = id, directory, space_url
        self._team: WhiteboardSource | None = None
        self._space: Space | None = None
        self._tried_at = -AGAIN_S
        self._bulletin: Bulletin | None = None
        self._tree: tuple[float, bool, list[SuperpagePatch]] = (-TREE_S, True, [])

    async def read(self, now: float) -> BoardSnapshot:
        if team := await self._at_whiteboard():
            with suppress(SpaceError):
                board = await team.read(now)
                if board.at_work:
                    return board
            await self._leave()
        return await asyncio.to_thread(self._read_here, now)

    async def order(self, state: CrawlState, by: str) -> None:
        if team := await self._at_whiteboard():
            await team.order(state, by)
        else:
            await self._tell(ControlOrder(_VERBS[state]))

    async def rebalance(self, by: str) -> None:
        if team := await self._at_whiteboard():
            await team.rebalance(by)
        else:
            await self._tell(ControlOrder("rebalance"))

    async def add_seeds(self, urls: list[str]) -> list[str]:
        for url in urls:  # who calls the station may have the web crawled, not the files of this machine
            if url.startswith(("/", ".", "~")) or is_source(url) or url[:3].lower() == "db:":
                raise UsageError(f"{url[:100]!r} is not on the web: start such a crawl at the machine")
        if team := await self._at_whiteboard():
            return await team.add_seeds(urls)
        return (await self._tell(ControlOrder("seed", urls))).seeds

    async def find(self, asked: Asked, query: str) -> SearchResults:
        if team := await self._at_whiteboard():
            return await team.find(asked, query)
        raise NoLibrarianError("no team is at work here")

    async def close(self) -> None:
        await self._leave()

    # -- a team ----------------------------------------------------------------------------------------

    async def _at_whiteboard(self) -> WhiteboardSource | None:
        """The team that crawls here, if it has its whiteboard here."""
        url = address_of(self.place / "state" / "space") or self._space_url or None
        if url is None:
            await self._leave()
            return None
        if self._team is None and time.monotonic() >= self._tried_at + AGAIN_S:
            self._tried_at = time.monotonic()
            with suppress(SpaceError, TimeoutError):  # nobody is there: the team was killed
                async with asyncio.timeout(PATIENCE_S):
                    names = await crawls_at(url)
                    name = self.id if self._space_url else names[0] if len(names) == 1 else ""
                    if name in names:
                        settings = SpaceSettings(patience_s=PATIENCE_S, open_s=PATIENCE_S)
                        self._space = await open_space(url, crawl=name, name="station", settings=settings)
                        self._team = WhiteboardSource(self._space, name, self.place)
        return self._team

    async def _leave(self) -> None:
        space, self._space, self._team = self._space, None, None
        if space:
            await space.close()

    # -- one gatherer, or nobody -----------------------------------------------------------------------

    async def _tell(self, order: ControlOrder) -> ControlAnswer:
        answer = await asyncio.to_thread(ask, self.place, order)
        if answer is None:
            raise TooLateError("this crawl does not run")
        return answer

    def _read_here(self, now: float) -> BoardSnapshot:
        saved = SavedCrawl.read(self.place)
        settings = load(None, {}, {}, saved.settings)
        charter = Charter(msgspec.json.encode(settings), list(saved.seeds), 1, max(current_session(self.place), 1))
        board = BoardSnapshot(settings.crawl.name, now, charter)
        answer = None
        with suppress(GcsError):
            answer = ask(self.place, ControlOrder("bulletin"))
        if answer and answer.share:
            self._bulletin = answer.bulletin or self._bulletin
            return self._of_one(board, answer, answer.share)
        self._bulletin = None
        shares, state = read_standing(self.place)
        is_running = state == "running"
        accounts = tuple(Account(share.id, msgspec.msgpack.encode(share)) for share in shares)
        bulletins = tuple(self._bulletin_of(share, None, is_running) for share in shares)
        return dataclasses.replace(board, accounts=accounts, bulletins=bulletins, state=state)

    def _of_one(self, board: BoardSnapshot, answer: ControlAnswer, share: Share) -> BoardSnapshot:
        work = share.workload
        figures = {
            "pages": share.counters.pages,
            "bytes": share.counters.size_bytes,
            "known": share.known_urls,
            "queued": share.queued,
            "explored": share.explored_fraction,
            "busy": share.busy,
            "in_flight": work.in_flight,
            "pages_per_s": work.pages_per_s,
            "superpages": 1,
        }
        member = Member(share.id, "alone", figures=figures, work=work)
        bulletin = self._bulletin_of(share, self._bulletin, True)
        return dataclasses.replace(board, members=(member,), bulletins=(bulletin,), state=answer.state)

    def _bulletin_of(self, share: Share, shown: Bulletin | None, is_running: bool) -> Bulletin:
        patches = self._patches(share.id, is_running)
        packed = msgspec.msgpack.encode(share)
        if shown is None:
            return Bulletin(share.id, 0, packed, share.workload.explored, patches=patches)
        return msgspec.structs.replace(shown, share=packed, patches=patches)

    def _patches(self, gatherer: str, is_running: bool) -> list[SuperpagePatch]:
        """The URL tree, from the disk, looked at now and then."""
        looked_at, was_running, patches = self._tree
        if time.monotonic() >= looked_at + TREE_S and (is_running or was_running):
            patches = tree_of(self.place / "state" / gatherer / "frontier", POINTS)
            self._tree = time.monotonic(), is_running, patches
        return patches


class TeamSource(WhiteboardSource):
    """A crawl at a whiteboard. Where that ran in the directory of the crawl and has gone: what is left there."""

    def __init__(self, space: Space, crawl: str, place: str, directory: Path | None) -> None:
        """`place`: the URL of the whiteboard."""
        super().__init__(space, crawl, directory)
        is_here = directory is not None and address_of(directory / "state" / "space") == place
        self._left = DirectorySource(crawl, directory) if directory is not None and is_here else None

    async def read(self, now: float) -> BoardSnapshot:
        if self._left and address_of(self._left.place / "state" / "space") is None:
            return await self._left.read(now)
        return await super().read(now)
