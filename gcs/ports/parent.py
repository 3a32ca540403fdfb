"""A process that ends with the one that started it, however that one ends."""

import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def end_with(parent: int, number: signal.Signals) -> Callable[[], None] | None:
    """What a new process does first: ask the kernel for this signal when its parent dies. None where it cannot."""
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return prepare
