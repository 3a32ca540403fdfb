"""Usage: what this process has taken of the machine, alone or with the processes that it has started.

The peak is that of this program alone. `ru_maxrss` is not: it keeps what the process held before `exec`, which is the
memory of whoever started it.
"""

import contextlib
import os
import resource
import sys
from pathlib import Path

_PROC = Path("/proc")
_STATUS = _PROC / "self/status"


def cpu_s() -> float:
    """CPU seconds of this process and of the children it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def family_cpu_s() -> float:
    """CPU seconds of this process and of all that come from it, as Chromium does; on Linux, of living ones, too."""
    return cpu_s() + sum(_family_cpu_s(child) for child in _children(os.getpid()))


def _family_cpu_s(pid: int) -> float:
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0  # it has just ended; whoever waits for it counts it
    ticks = sum(map(int, fields[11:15]))  # user, system, and the same of children that it waited for
    return ticks / os.sysconf("SC_CLK_TCK") + sum(_family_cpu_s(child) for child in _children(pid))


def _children(pid: int) -> list[int]:
    """Of all threads."""
    children: list[int] = []
    for listed in (_PROC / str(pid) / "task").glob("*/children"):
        with contextlib.suppress(OSError):
            children += map(int, listed.read_text().split())
    return children


def peak_rss_mb() -> float:
    """The largest memory this program has held, in MiB; where there is no /proc, as the system counts it."""
    if _STATUS.exists():
        return float(_STATUS.read_text().split("VmHWM:", 1)[1].split(None, 1)[0]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 / (1024 if sys.platform == "darwin" else 1)  # macOS counts bytes, others kilobytes
