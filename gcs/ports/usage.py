"""Usage: what this process has taken of the machine.

The peak is that of this program alone. `ru_maxrss` is not: it keeps what the process held before `exec`, which is the
memory of whoever started it.
"""

import os
import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def cpu_s() -> float:
    """CPU seconds of this process and of the children it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def peak_rss_mb() -> float:
    """The largest memory this program has held, in MiB; where there is no /proc, as the system counts it."""
    if _STATUS.exists():
        return float(_STATUS.read_text().split("VmHWM:", 1)[1].split(None, 1)[0]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 / (1024 if sys.platform == "darwin" else 1)  # macOS counts bytes, others kilobytes
