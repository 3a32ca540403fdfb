"""The frontier: every URL that this gatherer knows, on disk, in the order of the URL tree.

Life of a URL (`urls`: sort key → mark):

    unknown ──insert──► QUEUED ──take──► (in a window, or in flight) ──finish──► DONE | FAILED | REFUSED
                           ▲                        │
                           └──── retry (later) ◄────┘

"In flight" is a place, not a mark: an entry that was taken lies in `taken` until it is finished, and
whatever lies there when the frontier is opened goes back to `queue`. So a crash loses nothing, and all
that it costs is to fetch those pages again.

Tables (LMDB), all changed inside one open transaction that `commit` closes:

    urls    sort key                            → mark, and for QUEUED the place in `queue`
    queue   host NUL "/" priority sequence      → Entry     filled by insert, retries that are due; emptied by take
    taken   (same key)                          → Entry     filled by take; emptied by finish, retry
    later   due time, sequence                  → queue key, Entry   filled by retry; emptied by wake
    hosts   host NUL "/"                        → number of its known URLs (the per-host budget)
    notes   name                                → bytes     robots.txt, checkpoint position, tally, plan

and for a gatherer of a team (`exchange`):

    sent    sort key                            → nothing   the c-hit table: foreign URLs that were posted
    held    sort key                            → Entry     URLs of a range whose hand-over is not complete
    outbox  number                              → destination, tuple   kept until the receiver has committed it
"""

from gcs.ports.frontier.entry import Entry, Mark
from gcs.ports.frontier.glance import Glance, glance
from gcs.ports.frontier.store import Frontier, FrontierSettings

__all__ = ["Entry", "Frontier", "FrontierSettings", "Glance", "Mark", "glance"]
