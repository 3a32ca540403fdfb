"""The frontier: every URL that this gatherer knows, on disk, in the order of the URL tree.

Life of a URL (`urls`: sort key → mark):

    unknown ──insert──► QUEUED ──take──► (in a window, or in flight) ──finish──► DONE | FAILED | REFUSED
                           ▲                        │
                           └──── retry (later) ◄────┘

"In flight" is a place, not a mark: an entry that was taken lies in `taken` until it is finished, and
whatever lies there when the frontier is opened goes back to `queue`. So a crash loses nothing, and all
that it costs is to fetch those pages again.

A URL waits in the queue of its host (`host_queues`). Where the crawl has one order over all hosts, it waits in the pool
(`ordered_pool`) first: the best of the pool go to the window or, if their host has its share of the window already, to
the queue of their host. `waiting_urls` is the two together.

Tables (LMDB), all changed inside one open transaction that `commit` closes. An entry is a `QueuedUrl`:

    urls    sort key                            → mark, and for QUEUED rank and sequence
    pool    sequence                            → rank, entry   filled by insert; emptied by extract
    queue   host NUL "/" rank sequence          → entry     the host queues; filled by insert, extract and
                                                            retries that are due; emptied by take
    taken   (same key)                          → entry     filled by take, extract; emptied by finish, retry
    later   due time, sequence                  → key in `queue`, entry   filled by retry; emptied by requeue_due
    hosts   host NUL "/"                        → number of its known URLs (the per-host budget)
    notes   name                                → bytes     robots.txt, checkpoint position, counters, plan, ledger

and for a gatherer of a team (`exchange`):

    sent    sort key                            → nothing   the c-hit table: foreign URLs that were posted
    held    sort key                            → entry     URLs of a range whose hand-over is not complete
    outbox  number                              → destination, tuple   kept until the receiver has committed it
    serials sender, type, number                → nothing   blocks that came lately; and the own name and last number
"""

from gcs.ports.frontier.frontier import Frontier, FrontierSettings
from gcs.ports.frontier.url_rows import Mark

__all__ = ["Frontier", "FrontierSettings", "Mark"]
