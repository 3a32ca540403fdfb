"""The frontier: every URL that this gatherer knows, on disk, in the order of the URL tree.

Life of a URL (`urls`: sort key → mark):

    unknown ──insert──► QUEUED ──take──► (in a window, or in flight) ──finish──► DONE | FAILED | REFUSED
                           ▲                        │
                           └──── retry (later) ◄────┘

"In flight" is a place, not a mark: an entry that was taken lies in `taken` until it is finished, and
whatever lies there when the frontier is opened goes back to `queue`. So a crash loses nothing, and all
that it costs is to fetch those pages again.

Where a URL waits is the matter of `waiting`: on the shelf of its host, or, where the crawl has one order over all
hosts, in the pool, from which the best go to the window or, if their host has its share of that, to their host's shelf.

Tables (LMDB), all changed inside one open transaction that `commit` closes:

    urls    sort key                            → mark, and for QUEUED rank and sequence
    pool    sequence                            → rank, Entry   filled by insert; emptied by extract
    queue   host NUL "/" rank sequence          → Entry     the shelves; filled by insert, extract and retries that
                                                            are due; emptied by take
    taken   (same key)                          → Entry     filled by take, extract; emptied by finish, retry
    later   due time, sequence                  → key of the shelf, Entry   filled by retry; emptied by wake
    hosts   host NUL "/"                        → number of its known URLs (the per-host budget)
    notes   name                                → bytes     robots.txt, checkpoint position, tally, plan, ledger

and for a gatherer of a team (`exchange`):

    sent    sort key                            → nothing   the c-hit table: foreign URLs that were posted
    held    sort key                            → Entry     URLs of a range whose hand-over is not complete
    outbox  number                              → destination, tuple   kept until the receiver has committed it
    serials sender, type, number                → nothing   blocks that came lately; and our own name and last number
"""

from gcs.ports.frontier.entry import Entry, Mark
from gcs.ports.frontier.frontier import Frontier, FrontierSettings
from gcs.ports.frontier.peek import FrontierPeek, peek

__all__ = ["Entry", "Frontier", "FrontierPeek", "FrontierSettings", "Mark", "peek"]
