"""Gatherers that should be on the board and are not: they died, or were cut off, while they owned ranges.

    missing      no heartbeat for a lease  →  a ghost is asked for: a process that opens the gatherer's directory and
                 hands everything over in its name; asked again every few beats. The gatherer may also come back
    given up     missing for `recover_s`  →  a plan without the gatherer, which calls its ranges lost
    blank        the gatherer is back under its name, but without its disk  →  its ranges are lost at once

Each step fills and empties the lists from the board. Nothing else is decided while a gatherer is missing.
"""

from gcs.core.messages.tuples import MemberState
from gcs.core.plan.next_plan import recovered
from gcs.core.plan.team_settings import TeamSettings
from gcs.errors import GcsError
from gcs.events import Events
from gcs.roles.leader.config import Ghost
from gcs.roles.leader.fenced_board import BoardView, FencedBoard

#: beats between two tries to raise a ghost
RETRY_BEATS = 4

events = Events("leader")


class Liveness:
    """Watches over the heartbeats of the plan's gatherers, during one term."""

    def __init__(self, board: FencedBoard, settings: TeamSettings, ghost: Ghost) -> None:
        self._board = board
        self._settings = settings
        self._ghost = ghost
        #: since when each gatherer is missing, and when a ghost is asked for next
        self._since: dict[str, float] = {}
        self._retry: dict[str, float] = {}
        #: missing gatherers for which this process runs a ghost
        self._raised: set[str] = set()

    async def step(self, view: BoardView) -> bool:
        """Ask for ghosts and give up where it is time; True if a gatherer is missing or blank."""
        away = missing(view)
        self._since = {name: self._since.get(name, view.now) for name in away}
        self._retry = {name: self._retry.get(name, view.now) for name in away}
        self._raised.intersection_update(away)
        for name in away:
            if view.now >= self._retry[name]:
                await self._raise(name, view.now)
        blank = _blank(view)
        overdue = [name for name in away if view.now - self._since[name] >= self._settings.recover_s]
        if (overdue or blank) and (view.active or blank):
            await self._give_up([*overdue, *blank], [*view.active, *blank], view)
        return bool(away or blank)

    async def _raise(self, name: str, now: float) -> None:
        try:
            raised = await self._ghost(name)
        except GcsError as error:
            events.warning("ghost-failed", gatherer=name, reason=str(error))
            raised = False
        if raised and name not in self._raised:
            # the first ghost gets `recover_s` of its own; later ones that come to nothing put off nothing
            self._since[name] = now
            self._raised.add(name)
        if raised:
            events.info("ghost", gatherer=name)
        elif self._since[name] == now:
            events.info("missing", gatherer=name)
        self._retry[name] = now + (self._settings.lease_s if raised else RETRY_BEATS * self._settings.beat_s)

    async def _give_up(self, dead: list[str], heirs: list[str], view: BoardView) -> None:
        plan = recovered(view.plan, heirs, dead, committed=view.is_committed)
        plan = await self._board.publish(plan, view, f"lost {', '.join(sorted(dead))}")
        events.warning("lost", epoch=plan.epoch, gatherers=",".join(dead), ranges=len(plan.lost))


def missing(view: BoardView) -> list[str]:
    """Gatherers and leavers of the plan without a heartbeat. A leaver that has said good-bye is not missing."""
    leavers = () if view.is_committed else [name for name in view.plan.leavers if name not in view.gone]
    return [name for name in (*view.plan.gatherers, *leavers) if name not in view.members]


def _blank(view: BoardView) -> list[str]:
    """Gatherers and leavers of the plan that are there, but without the disk that they had."""
    leavers = () if view.is_committed else view.plan.leavers
    here = [name for name in (*view.plan.gatherers, *leavers) if name in view.members]
    return [name for name in here if view.members[name].state == MemberState.BLANK]
