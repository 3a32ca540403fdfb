"""What a process says of its own use of the machine."""

import subprocess
import sys

import pytest

from gcs.ports.process import cpu_s, family_cpu_s, peak_rss_mb

CHILD = "from gcs.ports.process import peak_rss_mb; print(peak_rss_mb())"


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


def test_cpu_counts_children_that_ended() -> None:
    before = cpu_s()
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert cpu_s() > before
