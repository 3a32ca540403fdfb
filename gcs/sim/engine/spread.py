"""The same work for many items, on all cores at once.

The processes are forked, so they share all that was made before without a copy; only items and answers are sent.
METIS needs the main thread of a process, and has it there.

Invariant: the answers are those of `map(work, items)`, in that order.
"""

import contextlib
import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from gcs.core.malloc import keep_everything

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_PR_SET_PDEATHSIG = 1
_work: Callable[[Any], Any] | None = None


def spread(work: Callable[[Item], Answer], items: Sequence[Item]) -> Iterator[Answer]:
    """The result of the work for each item, in the order of the items."""
    cores = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, len(items))
    if cores < 2:
        yield from map(work, items)
        return
    with multiprocessing.get_context("fork").Pool(cores, _begin, (work,)) as pool:
        yield from pool.imap(_do, items)
        pool.close()  # they end by themselves: their parent may ignore SIGTERM, and they would too
        pool.join()


def _begin(work: Callable[[Any], Any]) -> None:
    global _work
    _work = work
    keep_everything()
    for number in (signal.SIGINT, signal.SIGTERM):  # Ctrl-C ends it even inside METIS, and quietly
        signal.signal(number, signal.SIG_DFL)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # Linux: nor does it outlive its parent


def _do(item: object) -> object:
    assert _work is not None
    return _work(item)
