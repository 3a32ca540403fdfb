"""Limits of CPU time and memory for tests of hostile input: what is linear is far below, what is not far above."""

import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


class TooSlowError(BaseException):  # code under test may catch every Exception
    """The text took more than the limit."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlowError when this process has used that much CPU; the matcher of `re` looks for signals."""

    def stop(_number: int, _frame: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class TooLargeError(Exception):
    """The text took more memory than the limit."""


@contextmanager
def memory_limit(size_bytes: int) -> Iterator[None]:
    """Raise TooLargeError afterwards when Python's objects took more than that at any moment."""
    tracemalloc.start()
    try:
        yield
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    if peak_bytes > size_bytes:
        raise TooLargeError(f"{peak_bytes:,} bytes")
