"""The board of a crawl as one value, read at one moment.

The last bulletins of gatherers that have gone are kept, so that their work does not vanish from the page.
"""

import dataclasses
from dataclasses import dataclass

import msgspec

from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Access,
    Account,
    Bulletin,
    Charter,
    Control,
    CrawlState,
    HelperBeat,
    LeaderLease,
    Member,
    MemberState,
    PlanNote,
    PlanPosted,
)
from gcs.ports.space.port import BOARD, Space

_OVER = frozenset({CrawlState.DONE, CrawlState.STOPPING})


@dataclass(frozen=True, slots=True)
class BoardSnapshot:
    """The tuples on the board that the station shows."""

    crawl: str = ""
    #: seconds since the epoch
    at: float = 0.0
    charter: Charter | None = None
    control: Control | None = None
    leader: LeaderLease | None = None
    plan: PlanPosted | None = None
    members: tuple[Member, ...] = ()
    bulletins: tuple[Bulletin, ...] = ()
    #: accounts of gatherers that have ended, and may have started again
    accounts: tuple[Account, ...] = ()
    helpers: tuple[HelperBeat, ...] = ()
    notes: tuple[PlanNote, ...] = ()
    keys: tuple[Access, ...] = ()
    #: (inbox, number of tuples in it)
    waiting: tuple[tuple[str, int], ...] = ()
    #: how the crawl stands, where that is not read from `control`: of a crawl that is in its directory
    state: str = ""

    def standing(self, state: str) -> "BoardSnapshot":
        """The same, in this state."""
        return dataclasses.replace(self, state=state)

    @property
    def at_work(self) -> tuple[Member, ...]:
        """The members that have not left."""
        return tuple(member for member in self.members if member.state != MemberState.GONE)


async def read_board(space: Space, crawl: str, now: float) -> BoardSnapshot:
    """Read the board; SpaceError if it cannot be reached."""
    waiting: dict[str, int] = {}
    for inbox in await space.inbox_sizes():
        if inbox.place != BOARD:
            waiting[inbox.place] = waiting.get(inbox.place, 0) + inbox.tuples
    return BoardSnapshot(
        crawl=crawl,
        at=now,
        charter=await space.read(template(Charter)),
        control=await space.read(template(Control)),
        leader=await space.read(template(LeaderLease)),
        plan=await space.read(template(PlanPosted)),
        members=tuple(await space.scan(template(Member))),
        bulletins=tuple(await space.scan(template(Bulletin))),
        accounts=tuple(await space.scan(template(Account))),
        helpers=tuple(await space.scan(template(HelperBeat))),
        notes=tuple(await space.scan(template(PlanNote))),
        keys=tuple(await space.scan(template(Access))),
        waiting=tuple(waiting.items()),
    )


class LastBulletins:
    """The last bulletin of each gatherer. Filled by each poll; emptied when a crawl begins again."""

    def __init__(self) -> None:
        self._bulletins: dict[str, Bulletin] = {}
        self._was_over = False

    def complete(self, board: BoardSnapshot) -> BoardSnapshot:
        """The board, with the last bulletins of gatherers whose bulletins are gone from it."""
        is_over = board.control is None or board.control.state in _OVER
        if self._was_over and not is_over:
            self._bulletins.clear()
        self._was_over = is_over
        self._bulletins |= {bulletin.gatherer: bulletin for bulletin in board.bulletins}
        shown = {bulletin.gatherer for bulletin in board.bulletins}
        kept = [
            msgspec.structs.replace(bulletin, patches=[]) if board.at_work else bulletin
            for name, bulletin in self._bulletins.items()
            if name not in shown
        ]
        return dataclasses.replace(board, bulletins=(*board.bulletins, *kept))
