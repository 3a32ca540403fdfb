"""Long time slices from the scheduler, for a process that has more to do than time to do it.

Where more gatherers run than there are cores, Linux changes between them every few milliseconds, and each finds the
processor's caches full of the others' data: four crawls on one core, which knew nothing of one another, took 15 % more
CPU a page than one. A process may ask for longer slices (Linux 6.12). Who waits behind other gatherers waits longer
for its turn; who asks for nothing is served as soon as before, so the machine stays as quick for its user.
"""

import ctypes
import os
import sys

#: numbers of the system calls that read and write how a thread is scheduled
_CALLS = {"x86_64": (315, 314), "aarch64": (275, 274)}
#: policies whose slices can be long: that of everybody, and that of batch work
_NORMAL, _BATCH = 0, 3
#: seconds of a slice
SLICE_S = 0.02


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
    """Ask for slices of SLICE_S, for this thread and what it will start; False where the system has no ear for it."""
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
