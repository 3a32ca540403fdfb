"""What a process says of its own use of the machine, and long time slices: asked for where Linux knows them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gcs.ports.system import process
from gcs.ports.system.process import core_s, cpu_s, family_cpu_s, peak_rss_mb, work_of

CHILD = "from gcs.ports.system.process import peak_rss_mb; print(peak_rss_mb())"


def test_peak_is_the_largest_memory_held() -> None:
    ballast = bytearray(b"x") * 200_000_000
    assert peak_rss_mb() > 190
    del ballast
    assert peak_rss_mb() > 190  # a peak stays


def test_peak_of_a_child_is_not_that_of_its_parent() -> None:
    ballast = bytearray(b"x") * 300_000_000
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    assert len(ballast) == 300_000_000
    assert 1 < float(done.stdout) < 150


#: starts a process that works and then waits, as a browser's renderers do
BUSY = """
import subprocess, sys
work = "sum(range(20_000_000)); print(flush=True); input()"
subprocess.run([sys.executable, "-c", work])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="living children are counted by /proc, which is Linux's")
def test_cpu_of_the_family_counts_grandchildren_that_live() -> None:
    before, alone = family_cpu_s(), cpu_s()
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdin
        child.stdout.readline()
        living, own = family_cpu_s() - before, cpu_s() - alone
        assert living - own > 0.1
        child.communicate(b"\n")
    assert family_cpu_s() - before >= living - 0.05, "what has ended stays counted"


@pytest.mark.skipif(sys.platform != "linux", reason="the state of a process is told by /proc, which is Linux's")
def test_work_of_a_process_tells_sleep_from_being_stopped() -> None:
    work = "sum(range(20_000_000)); print(flush=True); input(); input()"
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdin
        child.stdout.readline()
        while not work_of(child.pid)[1]:
            time.sleep(0.01)
        ran_s = work_of(child.pid)[0]
        assert ran_s > 0.05
        child.send_signal(signal.SIGSTOP)
        while work_of(child.pid)[1]:
            time.sleep(0.01)
        child.send_signal(signal.SIGCONT)
        child.communicate(b"\n\n")
    assert work_of(child.pid) == (0.0, True), "nobody counts"


def test_cpu_counts_children_that_ended() -> None:
    before = cpu_s()
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert cpu_s() > before


#: asks as some process does, says how it is scheduled before and after, and what a child of it gets
PROBE = """
import ctypes, os, sys
from gcs.ports.system import process
def look():
    attributes = process._Attributes()
    call = process._CALLS.get(os.uname().machine, (0, 0))[0]
    ctypes.CDLL(None).syscall(call, 0, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    return attributes.policy, attributes.nice, attributes.runtime_ns
os.sched_setscheduler(0, int(sys.argv[1]), os.sched_param(0))
os.nice(3)
wanted, process.SLICE_S = process.SLICE_S, 0.005
process.take_long()  # whatever we have from who started us
process.SLICE_S = wanted
before, taken, after = look(), process.take_long(), look()
if not os.fork():
    print(before, taken, after, look(), sep="|", flush=True)
    os._exit(0)
os.wait()
"""


def scheduled(policy: int) -> tuple[str, bool, str, str]:
    command = [sys.executable, "-c", PROBE, str(policy)]
    before, taken, after, child = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("|")
    return before, taken == "True", after, child.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="slices are Linux's")
@pytest.mark.parametrize("policy", [0, 3], ids=["normal", "batch"])
def test_slices_are_long_and_the_rest_stays_as_it_was(policy: int) -> None:
    before, taken, after, child = scheduled(policy)
    if not taken or before.endswith(" 0)"):
        pytest.skip("this kernel tells nothing of slices (Linux 6.12 does)")
    assert after == f"({policy}, 3, {int(process.SLICE_S * 1e9)})" != before
    assert child == after


@pytest.mark.skipif(sys.platform != "linux", reason="SCHED_IDLE is Linux's")
def test_slices_of_who_gets_only_idle_time_are_left_alone() -> None:
    before, taken, after, _ = scheduled(5)
    assert not taken and after == before


def test_slices_are_not_asked_for_where_the_system_does_not_know_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_CALLS", {})
    assert process.take_long() is False


def test_time_of_a_core_grows_with_work_and_not_with_rest() -> None:
    before, began = core_s(), time.thread_time()
    sum(range(3_000_000))
    assert core_s() - before >= 0.5 * (time.thread_time() - began) > 0


def test_time_of_a_core_is_that_of_the_thread_where_the_kernel_does_not_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "_SCHEDULE", tmp_path / "none")
    before = time.thread_time()
    assert before <= core_s() <= time.thread_time()
