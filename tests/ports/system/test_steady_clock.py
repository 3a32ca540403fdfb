"""The clock by which a gatherer waits: what is done to the wall clock changes nothing."""

import time

import pytest

from gcs.ports.system import steady_clock
from gcs.ports.system.steady_clock import SteadyClock


class Machine:
    """A wall clock that is set, and time that passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.passed = 1e9, 77.0
        monkeypatch.setattr(time, "time", lambda: self.wall)
        monkeypatch.setattr(steady_clock, "lease_time", lambda: self.passed)

    def wait(self, seconds: float) -> None:
        self.wall, self.passed = self.wall + seconds, self.passed + seconds


@pytest.mark.parametrize("step_s", [-86_400.0, -1.0, 3_600.0])
def test_clock_counts_the_time_that_passes_whatever_the_wall_clock_is_set_to(
    monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    machine = Machine(monkeypatch)
    clock = SteadyClock()
    assert clock() == pytest.approx(machine.wall)
    machine.wait(10.0)
    machine.wall += step_s
    machine.wait(5.0)
    assert clock() == pytest.approx(1e9 + 15.0)


def test_wait_that_was_written_to_disk_is_not_longer_after_a_restart_on_a_clock_that_was_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine(monkeypatch)
    first = SteadyClock()
    due_at, committed_at = first() + 40.0, first() + 2.0
    machine.wall -= 86_400.0
    second = SteadyClock(not_before=committed_at)
    assert due_at - second() == pytest.approx(38.0)
    machine.wall += 2 * 86_400.0
    assert SteadyClock(not_before=committed_at)() > due_at, "and a later one is over"
