"""The board of a crawl, as read at one moment: one value."""

from dataclasses import dataclass

from gcs.core.template import template
from gcs.core.tuples import (
    Access,
    Account,
    Bulletin,
    Charter,
    Control,
    HelperBeat,
    Leader,
    Member,
    PlanNote,
    PlanPosted,
)
from gcs.ports.space.port import BOARD, Space


@dataclass(frozen=True, slots=True)
class Board:
    """What hangs on the board."""

    crawl: str = ""
    #: seconds since the epoch
    at: float = 0.0
    charter: Charter | None = None
    control: Control | None = None
    leader: Leader | None = None
    plan: PlanPosted | None = None
    members: tuple[Member, ...] = ()
    bulletins: tuple[Bulletin, ...] = ()
    #: of gatherers that have ended, and may have begun again
    accounts: tuple[Account, ...] = ()
    helpers: tuple[HelperBeat, ...] = ()
    notes: tuple[PlanNote, ...] = ()
    keys: tuple[Access, ...] = ()
    #: inbox → tuples that wait there
    waiting: tuple[tuple[str, int], ...] = ()

    @property
    def at_work(self) -> tuple[Member, ...]:
        """The members that have not left."""
        return tuple(member for member in self.members if member.state != "gone")

    def figure(self, gatherer: str, name: str) -> float:
        """What a gatherer's heartbeat says."""
        return next((member.figures.get(name, 0.0) for member in self.members if member.gatherer == gatherer), 0.0)


async def read_board(space: Space, crawl: str, now: float) -> Board:
    """Read it; SpaceError where it cannot be reached."""
    waiting: dict[str, int] = {}
    for pile in await space.piles():
        if pile.place != BOARD:
            waiting[pile.place] = waiting.get(pile.place, 0) + pile.tuples
    return Board(
        crawl=crawl,
        at=now,
        charter=await space.read(template(Charter)),
        control=await space.read(template(Control)),
        leader=await space.read(template(Leader)),
        plan=await space.read(template(PlanPosted)),
        members=tuple(await space.scan(template(Member))),
        bulletins=tuple(await space.scan(template(Bulletin))),
        accounts=tuple(await space.scan(template(Account))),
        helpers=tuple(await space.scan(template(HelperBeat))),
        notes=tuple(await space.scan(template(PlanNote))),
        keys=tuple(await space.scan(template(Access))),
        waiting=tuple(waiting.items()),
    )
