"""Work on all cores gives what it gives on one, in processes of their own."""

import os

from gcs.sim.spread import spread


def test_spread_answers_as_map_does_with_what_was_made_before():
    made_before = {number: number * number for number in range(9)}
    assert list(spread(lambda number: made_before[number], range(9))) == [n * n for n in range(9)]


def test_spread_uses_processes_of_their_own_if_there_are_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    assert os.getpid() not in set(spread(lambda _: os.getpid(), range(4)))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    assert set(spread(lambda _: os.getpid(), range(4))) == {os.getpid()}
