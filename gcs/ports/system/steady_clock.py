"""The clock by which a gatherer waits: seconds since 1970 that never go back, and never jump.

The wall clock is looked at once, at the start. From then on time is counted as for leases: a step of the wall clock
changes no wait. What a gatherer has written to its disk ("not before …") was counted by this clock, too; the next run
begins no earlier than the last one ended, so a wait that is read from disk is never longer than what was left of it.

This time is for waits. The dates of records come from the wall clock, and other processes are told relative times.
"""

import time

from gcs.ports.space.clock import lease_time


class SteadyClock:
    """A clock that nobody can set: a call gives the time."""

    def __init__(self, not_before: float = 0.0) -> None:
        """`not_before`: what the clock of the last run said at its last commit."""
        self._ahead_s = max(time.time(), not_before) - lease_time()

    def __call__(self) -> float:
        return lease_time() + self._ahead_s
