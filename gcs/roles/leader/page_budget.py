"""The pages that a team may store (`crawl.max_pages`), handed out in shares: together never more than that.

Each gatherer has a PageAllowance on the board: the pages that it was granted in this session, and those of them that
it has given back. It stores no page beyond what is left. A share is what the gatherer fetches in some seconds, so that
little waits at one that cannot use it; one that has nothing to fetch gives back what it has left.

Invariant: what all gatherers may store together is never above the limit, though the board may forget: each of them
tells what it was granted, this term remembers what it has granted, and a new term grants nothing before it has heard
everybody. A gatherer that is missing keeps its share; it is forgotten only if the board forgets it while it is away.
"""

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, Member, PageAllowance
from gcs.events import Events
from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.fenced_board import BoardView, FencedBoard
from gcs.roles.leader.liveness import missing

#: why the gatherers end: their state then
LIMIT = "limit"
#: a share is what a gatherer fetches in so many seconds, and not more than its part of what is left; the first one,
#: whose rate is not known yet, is that part of its part
SHARE_S, FIRST = 4.0, 8

events = Events("leader")


class PageBudget:
    """The shares of one session, during one term."""

    def __init__(self, board: FencedBoard, config: LeaderConfig) -> None:
        self._board, self._config = board, config
        #: gatherer → what it was granted and what it gave back, at the highest that this term knows
        self._known: dict[str, tuple[int, int]] = {}
        self._hears_until = 0.0

    async def step(self, view: BoardView) -> bool:
        """Note what came back, and hand out shares; True if all is used, and the crawl has ended."""
        if not (most := self._config.max_pages):
            return False
        wanted = template(PageAllowance, session=view.plan.session)
        posted = {each.gatherer: (each.granted, each.returned) for each in await self._board.space.scan(wanted)}
        for name in {*posted, *view.members}:
            self._known[name] = _highest(self._known.get(name), posted.get(name), _told(view, name))
        self._hears_until = self._hears_until or view.now + self._config.settings.hearing_s
        if view.now < self._hears_until or any(name not in self._known for name in view.plan.gatherers):
            return False
        left = most - sum(granted - returned for granted, returned in self._known.values())
        running = [name for name in view.active if name in view.plan.gatherers]
        for name in sorted(running, key=lambda name: self._unused(view, name)):
            if (share := self._share(view, name, left, len(running))) > 0:
                granted, returned = self._known[name]
                self._known[name] = granted + share, returned
                left -= share
        for name, (granted, returned) in self._known.items():
            if posted.get(name, (0, 0)) != (granted, returned):
                await self._board.post(PageAllowance(name, view.plan.session, granted, returned))
        if left > 0 or missing(view) or any(self._unused(view, name) > 0 for name in self._known):
            return False
        await self._board.post(Control(CrawlState.STOPPING, self._board.leader.gatherer, LIMIT))
        events.info("limit", pages=most)
        return True

    def _unused(self, view: BoardView, name: str) -> int:
        """What a gatherer may still store; what one that is not here may, nobody else can use."""
        granted, returned = self._known[name]
        member = view.members.get(name)
        return granted - returned - int(member.figures.get("pages", 0)) if member is not None else 0

    def _share(self, view: BoardView, name: str, left: int, gatherers: int) -> int:
        member = view.members[name]
        if left <= 0 or not member.figures.get("queued") or view.state is CrawlState.PAUSED:
            return 0
        part, pages = left // gatherers, member.figures.get("pages", 0)
        share = max(1, min(part, int(member.figures.get("pages_per_s", 0.0) * SHARE_S)) if pages else part // FIRST)
        return share if 2 * self._unused(view, name) < share else 0


def _told(view: BoardView, name: str) -> tuple[int, int] | None:
    member: Member | None = view.members.get(name)
    if member is None or member.figures.get("share_session") != view.plan.session:
        return None
    return int(member.figures["granted"]), int(member.figures["returned"])


def _highest(*known: tuple[int, int] | None) -> tuple[int, int]:
    pairs = [pair for pair in known if pair is not None]
    return max((pair[0] for pair in pairs), default=0), max((pair[1] for pair in pairs), default=0)
