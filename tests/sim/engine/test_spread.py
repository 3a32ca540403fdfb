"""Work on all cores gives what it gives on one, in processes of their own."""

import os
import subprocess
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from gcs.sim.engine.spread import spread


def test_spread_answers_as_map_does_with_what_was_made_before():
    made_before = {number: number * number for number in range(9)}
    assert list(spread(lambda number: made_before[number], range(9))) == [n * n for n in range(9)]


def test_spread_uses_processes_of_their_own_if_there_are_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    assert os.getpid() not in set(spread(lambda _: os.getpid(), range(4)))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    assert set(spread(lambda _: os.getpid(), range(4))) == {os.getpid()}


def test_workers_end_by_themselves(monkeypatch):
    """No signal ends them: one that waits for work survived SIGTERM, and the one that held the queue's lock did not."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    ended = []
    monkeypatch.setattr(BaseProcess, "terminate", lambda worker: ended.append(worker))
    assert list(spread(abs, range(4))) == [0, 1, 2, 3]
    assert not ended


def test_workers_do_not_outlive_who_started_them(tmp_path):
    code = """
import os, time
from pathlib import Path
from gcs.sim.engine.spread import spread
os.sched_getaffinity = lambda _pid: {0, 1}
def work(number):
    Path(f"pid{number}").write_text(str(os.getpid()))
    time.sleep(600)
list(spread(work, range(2)))
"""
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    files = [tmp_path / f"pid{number}" for number in range(2)]
    _wait(lambda: all(map(_text, files)))
    pids = [int(_text(file)) for file in files]
    parent.kill()
    parent.wait()
    assert _wait(lambda: not any(_text(Path(f"/proc/{pid}/cmdline")) for pid in pids))


def _text(file):
    try:
        return file.read_text()
    except OSError:
        return ""


def _wait(holds):
    for _ in range(600):
        if answer := holds():
            return answer
        time.sleep(0.05)
    raise AssertionError("it did not come about within 30 s")
