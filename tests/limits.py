"""A limit of CPU time for tests of hostile input: linear time is far below, quadratic time far above."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class TooSlowError(Exception):
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
