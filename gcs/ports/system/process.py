"""This process and the machine: usage, heap, long time slices from the scheduler, and ends of child processes.

Usage is that of this process, alone or with the processes that it has started. The peak of memory is that of this
program alone. `ru_maxrss` is not: it keeps what the process held before `exec`, which is the memory of whoever started
it. Long time slices are for a process that has more to do than time to do it.
"""

import contextlib
import ctypes
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

_PROC = Path("/proc")
_STATUS = _PROC / "self/status"
_SCHEDULE = _PROC / "thread-self/schedstat"
#: where the second and the first version of cgroups have the limit of the container; what the first calls none
_MEMORY_LIMITS = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")
_NO_LIMIT_BYTES = 1 << 60
_PR_SET_PDEATHSIG = 1
#: options of glibc's malloc
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
#: larger blocks are given back to the system when they are freed; most pages are smaller, and their blocks used again
_LARGE_BYTES = 512 << 10
#: numbers of the system calls that read and write how a thread is scheduled
_CALLS = {"x86_64": (315, 314), "aarch64": (275, 274)}
#: policies whose slices can be long: that of everybody, and that of batch work
_NORMAL, _BATCH = 0, 3
#: seconds of a slice
SLICE_S = 0.02


def cpu_s() -> float:
    """CPU seconds of this process and of the children it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def use_one_heap() -> None:
    """Keep malloc from holding what nobody uses: all threads have one heap, and large blocks lie outside of it.

    A crawl peaks 40 MB lower. To be called before threads are started; does nothing where malloc is not glibc's.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def core_s() -> float:
    """Seconds in which this thread ran, or was ready to run and waited for a core; elsewhere than on Linux, it ran."""
    try:
        ran_ns, waited_ns, _ = _SCHEDULE.read_text().split()
    except (OSError, ValueError):
        return time.thread_time()
    return (int(ran_ns) + int(waited_ns)) / 1e9


def work_of(pid: int) -> tuple[float, bool]:
    """CPU seconds of a process, and whether it sleeps: waits for neither a core nor a disk, and is not stopped.

    Where nobody counts, every process sleeps.
    """
    try:
        state, *fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[10]) + int(fields[11])) / os.sysconf("SC_CLK_TCK"), state == "S"
    except (OSError, ValueError, IndexError):
        return 0.0, True


def family_cpu_s() -> float:
    """CPU seconds of this process and of all that come from it, as Chromium does; on Linux, of living ones, too."""
    return cpu_s() + sum(_family_cpu_s(child) for child in _children(os.getpid()))


def _family_cpu_s(pid: int) -> float:
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0  # it has just ended, and is counted by the parent that waits for it
    ticks = sum(map(int, fields[11:15]))  # user, system, and the same of children that it waited for
    return ticks / os.sysconf("SC_CLK_TCK") + sum(_family_cpu_s(child) for child in _children(pid))


def _children(pid: int) -> list[int]:
    """The children of all threads of a process."""
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


def rss_bytes(pid: int) -> int:
    """The memory that a process holds now; 0 where nobody counts."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def memory_limit_bytes() -> int | None:
    """The memory that this container may take; None where there is no limit."""
    for file in _MEMORY_LIMITS:
        with contextlib.suppress(OSError, ValueError):
            limit = int(file.read_text())
            return limit if limit < _NO_LIMIT_BYTES else None
    return None


def go_first() -> None:
    """Where memory runs out, the kernel is to end this process before others of the container."""
    with contextlib.suppress(OSError):
        (_PROC / "self/oom_score_adj").write_text("1000")


def new_run() -> str:
    """An id for one run of a process: tuples of an earlier run under the same name are told apart by it."""
    return f"{random.SystemRandom().getrandbits(48):012x}"


class _Attributes(ctypes.Structure):
    """`struct sched_attr`."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64),
        ("period_ns", ctypes.c_uint64),
    )


def take_long() -> bool:
    """Ask for slices of SLICE_S, for this thread and what it will start; False where the system refuses."""
    calls = _CALLS.get(os.uname().machine) if sys.platform == "linux" else None
    if calls is None:
        return False
    read, write = calls
    attributes, syscall = _Attributes(), ctypes.CDLL(None).syscall
    if syscall(read, 0, ctypes.byref(attributes), ctypes.sizeof(attributes), 0):
        return False
    if attributes.policy not in (_NORMAL, _BATCH):
        return False
    attributes.runtime_ns = int(SLICE_S * 1e9)
    return int(syscall(write, 0, ctypes.byref(attributes), 0)) == 0


def end_with(parent: int, number: signal.Signals) -> Callable[[], None] | None:
    """What a new process does first, to end with its parent, however that one ends. None where the system cannot.

    It asks the kernel for this signal when its parent dies.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return prepare
