"""Fair shares: what each of several crawls on one machine may use of it.

Connections: of those of the machine, each crawl may open its part, always one at least. CPU: the niceness of its
processes; one step is a quarter more or less, so a crawl with three times the share of another is five steps before it.
A crawl that does not use its part leaves the CPU to the others, but not its connections.
"""

import contextlib
import math
import os
from collections.abc import Mapping
from pathlib import Path

from gcs.errors import GcsError
from gcs.ports.system.control_socket import ControlOrder, ask

#: how much more CPU a process gets for each step of niceness
STEP, MOST_STEPS = 1.25, 19


def parts_of(shares: Mapping[str, float]) -> dict[str, float]:
    """The part of the whole that each has."""
    total = math.fsum(shares.values())
    return {name: share / total for name, share in shares.items()}


def niceness(part: float, largest: float) -> int:
    """Steps behind the crawl with the largest part."""
    return min(round(math.log(largest / part, STEP)), MOST_STEPS)


def set_share(directory: Path, group: int, part: float, connections: int, nice: int = 0) -> None:
    """Tell the crawl in a directory, whose processes are of this group, what it may use. It may be gone."""
    with contextlib.suppress(GcsError):
        ask(directory, ControlOrder("share", connections=max(round(part * connections), 1)))
    be_nice(group, nice)


def be_nice(group: int, nice: int) -> None:
    """Let the processes of a group be so nice. To be less nice again needs a privilege: without it, they stay so."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, group, nice)
