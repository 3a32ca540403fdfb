"""The settings of a frontier."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """How much of the frontier stays in memory, and how often it becomes durable."""

    #: what waits: each host in its own order, and hosts take turns; or all in one order, kept by one of these queues
    queue: Literal["hosts", "quickheap", "tournament", "heap"] = "hosts"
    #: memory for such a queue: of many millions of URLs that wait, most lie in a file (a heap is all in memory)
    queue_bytes: int = 64 << 20
    #: URLs in memory, over all hosts (the paper's window of the queue)
    window_urls: int = 10_000
    #: URLs of one host in the window
    host_window_urls: int = 100
    #: URLs judged lately, which answer most links without the disk
    recent_urls: int = 30_000
    #: seconds between commits; a crash repeats at most what the record log does not hold
    checkpoint_s: float = 2.0
    #: fsync at each commit: a power cut, too, loses nothing that was committed
    fsync: bool = True
