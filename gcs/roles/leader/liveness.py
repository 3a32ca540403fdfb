"""Names that should be on the board and are not: gatherers that died, or were cut off, with ranges in hand.

    missing      no heartbeat for a lease  →  a ghost is asked for: a process that opens its directory and, in its
                 name, hands everything over; asked again every few beats. It may also come back by itself
    given up     after `recover_s` of that: a plan without it, which calls its ranges lost
    blank        it is there again, under its name, but without its disk: its ranges are lost at once

filled and emptied by: each step, from the board. Nothing else is decided while somebody is missing.
"""

from collections.abc import Awaitable, Callable

from gcs.core.plan.next_plan import recovered
from gcs.core.plan.team_settings import TeamSettings
from gcs.errors import GcsError
from gcs.events import Events
from gcs.roles.leader.fenced_board import BLANK, BoardView, FencedBoard

#: asks for a gatherer to be run as a ghost by this process; False if its directory cannot be reached or is in use
Ghost = Callable[[str], Awaitable[bool]]

#: beats between two tries to raise a ghost
RETRY_BEATS = 4

events = Events("leader")


class Liveness:
    """The missing of one term."""

    def __init__(self, board: FencedBoard, settings: TeamSettings, ghost: Ghost) -> None:
        self._board = board
        self._settings = settings
        self._ghost = ghost
        #: since when each one is missing, and when a ghost is asked for next
        self._since: dict[str, float] = {}
        self._retry: dict[str, float] = {}
        #: those of them for whom I have raised a ghost
        self._raised: set[str] = set()

    async def step(self, view: BoardView) -> bool:
        """Do what can be done; says whether somebody is missing."""
        missing = _missing(view)
        self._since = {name: self._since.get(name, view.now) for name in missing}
        self._retry = {name: self._retry.get(name, view.now) for name in missing}
        self._raised.intersection_update(missing)
        for name in missing:
            if view.now >= self._retry[name]:
                await self._raise(name, view.now)
        blank = _blank(view)
        overdue = [name for name in missing if view.now - self._since[name] >= self._settings.recover_s]
        if (overdue or blank) and (view.active or blank):
            await self._give_up([*overdue, *blank], [*view.active, *blank], view)
        return bool(missing or blank)

    async def _raise(self, name: str, now: float) -> None:
        try:
            raised = await self._ghost(name)
        except GcsError as error:
            events.warning("ghost-failed", gatherer=name, reason=str(error))
            raised = False
        if raised and name not in self._raised:
            # it has time of its own to show up; but if ghosts come to nothing again and again, that is no delay
            self._since[name] = now
            self._raised.add(name)
        if raised:
            events.info("ghost", gatherer=name)
        elif self._since[name] == now:
            events.info("missing", gatherer=name)
        self._retry[name] = now + (self._settings.lease_s if raised else RETRY_BEATS * self._settings.beat_s)

    async def _give_up(self, dead: list[str], heirs: list[str], view: BoardView) -> None:
        assert view.plan is not None and view.posted is not None
        plan = recovered(view.plan, heirs, dead, committed=view.posted.committed)
        plan = await self._board.publish(plan, view, f"lost {', '.join(sorted(dead))}")
        events.warning("lost", epoch=plan.epoch, gatherers=",".join(dead), ranges=len(plan.lost))


def _missing(view: BoardView) -> list[str]:
    """Who owes the plan something and is not there. A leaver may go, when it has said that it owes nothing any more."""
    assert view.plan is not None
    leavers = [name for name in _leavers(view) if name not in view.gone]
    return [name for name in (*view.plan.gatherers, *leavers) if name not in view.members]


def _blank(view: BoardView) -> list[str]:
    """Who is in the plan, and is there, but has forgotten what it had."""
    assert view.plan is not None
    return [name for name in view.plan.gatherers if name in view.members and view.members[name].state == BLANK]


def _leavers(view: BoardView) -> tuple[str, ...]:
    assert view.plan is not None and view.posted is not None
    return () if view.posted.committed else view.plan.leavers
