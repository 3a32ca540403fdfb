"""The barrier of a bulk-synchronous team (Marin et al., section 2; papers.md M1): supersteps that all take together.

    compute       fetch: until R pages are done, or β URLs wait for one owner, or the time is over, or no work is left
    communicate   send what belongs to others, in blocks, until all of it is in their inboxes
    wait          until the receivers have committed it, and every gatherer of the plan says so: SuperstepDone

A gatherer without work says that it is *idle*: nobody waits for it. When URLs come for it, it waits until the others
have ended a superstep, and takes part in the next one. So does one that has joined, or has been started again.

Requests that are under way when the time is over stay so, and count in the next superstep (the paper's robots are
asynchronous, too).

Invariant: a gatherer starts no request of its superstep before all gatherers that are not idle have ended theirs of the
number before; so what was found in a superstep is known to its owners in the next one.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from gcs.core.messages.tuples import SuperstepDone
from gcs.core.report.counters import PhaseTimes

#: seconds after which a gatherer says again how far it is: a whiteboard may forget its last second
REPEAT_S = 1.0


class Phase(Enum):
    """What a gatherer does."""

    COMPUTE = "compute"
    COMMUNICATE = "communicate"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class SuperstepState:
    """What the barrier asks of its gatherer."""

    #: the gatherers of the plan
    gatherers: Collection[str]
    #: there is nothing to fetch, and nothing under way
    is_quiet: bool
    #: β URLs wait for one owner
    is_full: bool
    #: what was found for others is in their inboxes; and they have committed it
    is_sent: bool
    is_committed: bool


class Barrier:
    """One gatherer's supersteps. It decides; the member tells it what happens, and posts what it returns."""

    def __init__(self, me: str, pages: int, seconds: float, times: PhaseTimes) -> None:
        """`pages` (R) and `seconds`: of a superstep, at most. `times` is where the cost of the phases is counted."""
        self._me, self._pages, self._seconds, self._times = me, pages, seconds, times
        self._others: dict[str, SuperstepDone] = {}
        #: of the superstep; 0: has not begun
        self.number = 0
        self.phase = Phase.WAIT
        self._done = 0  # pages of this superstep
        self._begun_at = 0.0
        self._at: float | None = None
        self._told = SuperstepDone(me, 0, idle=True)
        self._told_at = -math.inf

    def heard(self, note: SuperstepDone) -> None:
        """Another gatherer says how far it is."""
        if note.gatherer != self._me:
            self._others[note.gatherer] = note

    def fetched(self) -> None:
        """A page is done."""
        self._done += 1

    def room(self, under_way: int) -> int:
        """How many requests may be started."""
        return self._pages - self._done - under_way if self.phase is Phase.COMPUTE else 0

    def turn(self, now: float, state: SuperstepState) -> SuperstepDone | None:
        """Go on with what is due; returns what to tell the others, if there is news or they may have missed it."""
        self._count(now)
        before = self._told
        if self.phase is Phase.COMPUTE:
            is_over = self._done >= self._pages or now >= self._begun_at + self._seconds
            if is_over or state.is_quiet or state.is_full:
                self.phase = Phase.COMMUNICATE
        if self.phase is Phase.COMMUNICATE and state.is_sent:
            self.phase = Phase.WAIT
        if self.phase is Phase.WAIT and state.is_committed:
            self._wait(now, state)
        if self._told == before and now < self._told_at + REPEAT_S:
            return None
        self._told_at = now
        return self._told

    def _wait(self, now: float, state: SuperstepState) -> None:
        """Say that the superstep has ended here; begin the next one if it has ended for all."""
        told = self._told
        if told.number < self.number or told.idle < state.is_quiet:
            self._told = SuperstepDone(self._me, self.number, state.is_quiet)
        notes = [self._others.get(name) for name in state.gatherers if name != self._me]
        others = [note for note in notes if note]
        ended = self.number
        if self._told.idle:
            ended = max([self.number, *(note.number for note in others)])
        if state.is_quiet or len(others) < len(notes) or not all(n.idle or n.number >= ended for n in others):
            return
        self.number = ended + 1
        self._told = SuperstepDone(self._me, self.number - 1)
        self.phase, self._done, self._begun_at = Phase.COMPUTE, 0, now
        self._times.supersteps += 1

    def _count(self, now: float) -> None:
        span_s, self._at = now - (now if self._at is None else self._at), now
        match self.phase:
            case Phase.COMPUTE:
                self._times.computation_s += span_s
            case Phase.COMMUNICATE:
                self._times.communication_s += span_s
            case Phase.WAIT:
                self._times.waiting_s += span_s
