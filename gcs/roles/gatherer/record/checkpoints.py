"""Checkpoints make a gatherer's work durable; after a restart, the gatherer continues from the last one.

Invariant: a checkpoint syncs the log before it commits the frontier, so the frontier never knows more than the log;
records that only the log holds are replayed at the next startup.
"""

from collections.abc import Callable

import msgspec

from gcs.core.report.report import Share
from gcs.core.url.queued_url import QueuedUrl
from gcs.events import Events
from gcs.ports.frontier import Frontier
from gcs.ports.records.record_log import BEGINNING, Position
from gcs.roles.gatherer.dependencies import Dependencies
from gcs.roles.gatherer.membership import Membership
from gcs.roles.gatherer.record.intake import Intake
from gcs.roles.gatherer.record.meter import Meter

events = Events("gatherer")

#: seconds between checkpoints while blocks wait to leave or to be acked: with work in the window; and without work, or
#: while ranges change their owner
BUSY_S, IDLE_S = 2.0, 0.2
#: the frontier's note of the gatherer's clock
CLOCK_NOTE = "clock"


def last_checkpoint_at(frontier: Frontier) -> float:
    """What the gatherer's clock said at its last checkpoint; 0 if there is none."""
    packed = frontier.note(CLOCK_NOTE)
    return msgspec.msgpack.decode(packed, type=float) if packed else 0.0


def last_position(frontier: Frontier) -> Position | None:
    """The position in the record log as of the last checkpoint; None before the first."""
    packed = frontier.note("position")
    return msgspec.msgpack.decode(packed, type=Position) if packed else None


class Checkpoints:
    """The checkpoints of one gatherer."""

    def __init__(
        self,
        dependencies: Dependencies,
        team: Membership | None,
        intake: Intake,
        meter: Meter,
        share: Callable[[], Share],
        every_s: float,
    ) -> None:
        """`share`: this gatherer's part of the report."""
        self._frontier, self._store, self._recrawl = dependencies.frontier, dependencies.store, dependencies.recrawl
        self._team, self._intake, self._meter, self._share, self._every_s = team, intake, meter, share, every_s
        self._made_at = 0.0

    def due_at(self, busy: bool) -> float:
        """When the next checkpoint is due: sooner while other gatherers wait for tuples that a commit releases."""
        seconds = self._every_s
        if self._team and self._team.has_uncommitted:
            seconds = min(seconds, BUSY_S if busy and not self._team.is_changing else IDLE_S)
        return self._made_at + seconds

    def hasten(self) -> None:
        """Let the next turn make one, before it starts a request."""
        self._made_at = 0.0

    def make(self, now: float) -> None:
        """Make the log durable, then the frontier, which follows from the log."""
        self._made_at = now
        self._intake.links()
        position = self._store.sync()
        self._frontier.set_note("position", msgspec.msgpack.encode(position))
        self._frontier.set_note(CLOCK_NOTE, msgspec.msgpack.encode(now))
        self._meter.note(self._share())
        if self._team:
            self._team.before_commit()
        self._frontier.commit()
        if self._team:
            self._team.after_commit()

    def replay(self, now: float, session: int) -> None:
        """Apply the records that the log holds beyond the last checkpoint; all of them, if there is no checkpoint.

        Then this session, if it is not the first, begins anew: which of its pages were fetched is not known.
        """
        self._made_at = now - IDLE_S  # the others wait for a new member's first commit
        position, replayed = last_position(self._frontier), 0
        for record in self._store.tail(position or BEGINNING):
            self._intake.replay(record)
            replayed += 1
            if position is None and self._frontier.wants_commit:
                self._frontier.commit()  # without a position: if it is interrupted, it begins anew
        if position is None and session > 1:
            self._recrawl.go_back(session - 1)
        if replayed:
            events.info("replayed", records=replayed)

    def begin_session(self, session: int, now: float, epoch: int = 0) -> list[QueuedUrl]:
        """Forget which URLs are finished, and set the counters to zero; the next checkpoint makes both durable.

        Returns the URLs that robots.txt refused in the last session: they may be allowed by now.
        """
        self._meter.begin_again()
        refused = self._recrawl.begin(session, self._store.sync().file, epoch)
        events.info("session", session=session, queued=self._frontier.queued())
        self._made_at = now
        return [QueuedUrl(url) for url in refused]
