"""Broken protocols: each breaks one rule on purpose, to see that the simulation notices.

`scripts/simulate --mutant NAME --seeds 1..1000` tries one; `test_simulation` tries those that are found soon.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from gcs.app.processes import member_process
from gcs.core.messages.election import Tenure
from gcs.core.messages.outbox import Outbox
from gcs.core.messages.termination import TeamSnapshot
from gcs.core.plan.plan import Plan
from gcs.core.polite import politeness
from gcs.core.polite.window import Window
from gcs.ports.frontier.frontier import Frontier
from gcs.roles.gatherer import gatherer as gatherer_module
from gcs.roles.gatherer.fetch import dispatcher
from gcs.roles.gatherer.record.checkpoints import Checkpoints
from gcs.roles.gatherer.team import whiteboard
from gcs.roles.gatherer.team.block_exchange import BlockExchange
from gcs.roles.gatherer.team.hand_over import HandOvers
from gcs.roles.gatherer.team.ownership import Ownership
from gcs.roles.gatherer.team.plan_follower import PlanFollower
from gcs.roles.leader import term
from gcs.roles.leader.fenced_board import FencedBoard
from tests.simulation.memory_tables import MemoryDisk

Mutant = Callable[[], AbstractContextManager[object]]


def _replaced(place: Any, name: str, fake: object) -> Mutant:
    return lambda: patch.object(place, name, fake)


def _ack_before_commit() -> AbstractContextManager[object]:
    """What arrives is acked at once, before the commit that holds its effect."""
    real = BlockExchange.arrivals

    def arrivals(self: Any, epoch: int) -> Any:
        for item in real(self, epoch):
            self._to_ack.append(self._taken_in[-1])
            self._ship_now.set()
            yield item

    stack = ExitStack()
    stack.enter_context(patch.object(BlockExchange, "arrivals", arrivals))
    # and so no commit is wanted for it
    stack.enter_context(patch.object(BlockExchange, "has_uncommitted", property(lambda self: bool(self._uncommitted))))
    return stack


def _outbox_forgets_what_was_sent() -> AbstractContextManager[object]:
    """A block leaves the outbox when the whiteboard has it, not when its receiver has committed it."""
    real = Outbox.settle
    return patch.object(Outbox, "settle", lambda self, sent, _committed: real(self, sent, sent))


def _flying_urls_move_too() -> AbstractContextManager[object]:
    """A range is handed over without waiting for the pages that are in flight."""
    real = HandOvers.progress

    def progress(self: Any, epoch: int, room: int, _open_urls: Any, *rest: Any) -> Any:
        return real(self, epoch, room, {}, *rest)

    return patch.object(HandOvers, "progress", progress)


def _no_end_mark() -> AbstractContextManager[object]:
    """A new owner takes the first part of a range for the last one."""
    real = HandOvers.receive

    def receive(self: Any, part: Any, plan: Any) -> Any:
        return real(self, msgspec.structs.replace(part, last=True), plan)

    return patch.object(HandOvers, "receive", receive)


def _frontier_before_log() -> AbstractContextManager[object]:
    """The frontier is committed before the records are durable."""
    real = Checkpoints.make

    def make(self: Any, now: float) -> None:
        self._frontier.commit()
        real(self, now)

    return patch.object(Checkpoints, "make", make)


def _no_replay() -> AbstractContextManager[object]:
    """A restart does not read the records beyond the last checkpoint."""
    return patch.object(Checkpoints, "replay", lambda self, now, _session: setattr(self, "_made_at", now))


def _no_pause_after_restart() -> AbstractContextManager[object]:
    """Hosts are asked at once after a restart, though requests of the last run may just have ended."""
    return patch.object(gatherer_module, "Window", lambda rules, _begun: Window(rules, 0.0))


def _unfenced_leader() -> AbstractContextManager[object]:
    """A leader that was deposed goes on posting."""

    async def post(self: Any, item: Any) -> None:
        await self.space.out(item)

    return patch.object(FencedBoard, "post", post)


def _forgotten_plan() -> AbstractContextManager[object]:
    """A gatherer does not keep its plan on disk."""

    def follow(self: Any, posted: Any) -> Any:
        self._packed, self.is_blank = posted.plan, False
        self.plan = Plan.decode(posted.plan)
        return self.plan

    return patch.object(PlanFollower, "follow", follow)


def _lost_links() -> AbstractContextManager[object]:
    """Now and then the frontier forgets what it was given."""
    real, calls = Frontier.insert, [0]

    def insert(self: Any, entries: Any, *rest: Any) -> Any:
        calls[0] += 1
        return real(self, list(entries)[: -1 if calls[0] % 50 == 0 else None], *rest)

    return patch.object(Frontier, "insert", insert)


def _commit_keeps_closed_ranges_open() -> AbstractContextManager[object]:
    """What waits here of a range that was lost is fetched before others have said what they have stored of it."""
    return patch.object(HandOvers, "withdraw", lambda _self, _open: iter(()))


def _first_plan_at_once() -> AbstractContextManager[object]:
    """A leader makes a first plan before everybody could say that there was one."""
    return patch.object(term, "HEARING_BEATS", 0.0)


def _wall_clock() -> AbstractContextManager[object]:
    """Leases are counted by the wall clock, which people set."""
    stack = ExitStack()
    for place in (whiteboard, member_process):
        stack.enter_context(patch.object(place, "lease_time", lambda: time.time()))
    return stack


def _no_lock() -> AbstractContextManager[object]:
    """A ghost opens the directory of a gatherer that is at work: nothing holds it."""

    def lock(self: MemoryDisk, directory: Path) -> object:
        self._held.pop(directory, None)
        return real(self, directory)

    real = MemoryDisk.lock
    return patch.object(MemoryDisk, "lock", lock)


MUTANTS: dict[str, Mutant] = {
    "ack-before-commit": _ack_before_commit,
    "outbox-forgets-what-was-sent": _outbox_forgets_what_was_sent,
    "flying-urls-move-too": _flying_urls_move_too,
    "no-end-mark": _no_end_mark,
    "frontier-before-log": _frontier_before_log,
    "no-replay": _no_replay,
    "no-pause-after-restart": _no_pause_after_restart,
    "unfenced-leader": _unfenced_leader,
    "forgotten-plan": _forgotten_plan,
    "lost-links": _lost_links,
    "closed-ranges-fetched": _commit_keeps_closed_ranges_open,
    "first-plan-at-once": _first_plan_at_once,
    "lease-by-wall-clock": _wall_clock,
    "no-lock": _no_lock,
    "endless-lease": _replaced(Tenure, "holds", lambda _self, _now: True),
    "end-by-one-look": _replaced(TeamSnapshot, "is_confirmed_by", lambda _self, _later: True),
    "commit-at-once": _replaced(term, "_is_settled", lambda _view: True),
    "settled-at-once": _replaced(Ownership, "is_settled", property(lambda _self: True)),
    "open-while-owners-change": _replaced(politeness, "is_closed", lambda _pace, _rules: False),
    "no-batons": _replaced(politeness, "needs_baton", lambda _pace, _rules: False),
    "window-keeps-what-moved": _replaced(dispatcher.Dispatcher, "put_back", lambda _self: None),
}
