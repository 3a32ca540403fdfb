"""In which order a crawl goes through its frontier (papers.md M6, S7).

    bfs        by depth: what is fewer links away from a seed goes first
    backlink   by the number of pages seen so far that link to it (Cho et al.; the seed-server of WEB-SAILOR)
    opic       by cash (Abiteboul, Preda, Cobena: Adaptive on-line page importance computation): a page that is
               fetched gives all it has in equal parts to the pages it links to
    a score    by a function of the user's, of what is known of the URL and its back-links

What a URL is *worth* (its links so far, or its cash) grows while it waits. An order that `weighs` has to be told of
every link; the others only of the first one. A *rank* is an importance as a whole number that sorts as bytes do.

OPIC's virtual page, which every page links to and which gives to all alike, is an account here (`Ledger`): its gift
would be the same for all that wait, and change no order.

`core.ordering.superstep` predicts how far a crawl may go without an exchange (M7), `pagerank` is the importance that
orders are judged by; both load numpy, which this module must not.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from struct import Struct
from typing import Self

import msgspec

from gcs.core.url.queued_url import QueuedUrl
from gcs.errors import OrderError

#: added to the rank of what goes behind everything else
BEHIND = 1 << 31
#: the largest importance that is told apart from a larger one
MOST = 3.0e38
#: depth of a link that only adds worth: as far as the sender knows, its receiver knows the URL already
GIFT = -1

_FLOAT, _BITS = Struct(">f"), Struct(">I")
_SIGN, _ALL = 0x80000000, 0xFFFFFFFF


def rank(importance: float) -> int:
    """The rank of an importance: the greater, the sooner."""
    # + 0.0 makes a zero of the negative one, which has other bits
    (bits,) = _BITS.unpack(_FLOAT.pack(min(max(importance, -MOST), MOST) + 0.0))
    ascending = bits ^ (_ALL if bits & _SIGN else _SIGN)
    return int(_ALL - ascending) >> 1


@dataclass(slots=True)
class Ledger:
    """Where all of OPIC's cash is that one gatherer ever issued or received. Kept beside the frontier, durable with it.

    For back-links it counts links the same way, but they are not conserved.
    """

    issued: float = 0.0
    spent: float = 0.0
    idle: float = 0.0
    sent: float = 0.0
    received: float = 0.0

    def waiting(self) -> float:
        """What the URLs that wait must be worth together, if nothing was lost."""
        return self.issued + self.received - self.idle - self.sent

    def __add__(self, other: Self) -> "Ledger":
        return Ledger(*(getattr(self, account.name) + getattr(other, account.name) for account in fields(Ledger)))

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @staticmethod
    def decode(data: bytes | None) -> "Ledger":
        """From bytes; None is a crawl that begins."""
        return msgspec.msgpack.decode(data, type=Ledger) if data else Ledger()


class Found(msgspec.Struct, frozen=True):
    """What is known of a URL that waits: what a user's score may judge by."""

    url: str
    #: the page on which it was found first, "" for a seed
    parent: str = ""
    #: links between it and a seed
    depth: int = 0
    #: pages seen so far that link to it
    backlinks: int = 0
    #: freshness: when the copy that an earlier session stored was fetched (seconds since the epoch; 0 for none), how
    #: many sessions have asked for it, and how many of these have found it changed
    copy_at: float = 0.0
    visits: int = 0
    changes: int = 0

    @classmethod
    def of(cls, entry: QueuedUrl, backlinks: int = 0) -> "Found":
        """What is known of an entry of a queue."""
        return cls(entry.url, entry.parent, entry.depth, backlinks, entry.copy_at_us / 1e6, entry.visits, entry.changes)


class Ordering:
    """An order. This base class orders by back-link count."""

    #: how the settings name it
    name: str = "backlink"
    #: whether it must be told of every link, or only of the first one to each URL
    weighs: bool = True
    #: whether worth alone decides: its rank is then `rank(worth)`
    by_worth: bool = True
    #: whether gifts are paid out of the giver's own worth
    conserves: bool = False
    #: what a URL is worth that nobody links to: a seed, or a page to be asked for again
    seed: float = 0.0

    def gift(self, worth: float, links: int) -> float:  # noqa: ARG002
        """What each of a page's links adds to the worth of its target, if the page itself has that worth."""
        return 1.0

    def rank(self, found: Found, worth: float) -> int:  # noqa: ARG002
        """Its place in the order; smaller goes first, and all are below BEHIND."""
        return rank(worth)


class BreadthFirst(Ordering):
    """URLs with the fewest links from a seed go first."""

    name, weighs, by_worth = "bfs", False, False

    def gift(self, worth: float, links: int) -> float:  # noqa: ARG002
        return 0.0

    def rank(self, found: Found, worth: float) -> int:  # noqa: ARG002
        return min(found.depth, BEHIND - 1)


class Opic(Ordering):
    """URLs that have gathered the most cash go first (OPIC)."""

    name, conserves, seed = "opic", True, 1.0

    def gift(self, worth: float, links: int) -> float:
        return worth / links


class Scored(Ordering):
    """By a function of the user's: the larger its value, the sooner. It is asked again when back-links arrive."""

    by_worth = False

    def __init__(self, name: str, score: Callable[[Found], float]) -> None:
        self.name, self.score = name, score

    def rank(self, found: Found, worth: float) -> int:
        try:
            value = float(self.score(msgspec.structs.replace(found, backlinks=int(worth))))
        except Exception as error:  # whatever a stranger's code raises
            raise OrderError(
                f"order {self.name} failed on {found.url} ({type(error).__name__}: {error}); "
                "mend it and run the same command again: nothing stored is lost"
            ) from error
        if value != value:
            raise OrderError(f"order {self.name} gave no number for {found.url}: return a float, larger first")
        return rank(value)


BFS = BreadthFirst()
#: the orders that need no plugin, by name
ORDERS: dict[str, Ordering] = {order.name: order for order in (BFS, Ordering(), Opic())}


def redirected(order: Ordering, worth: float) -> float:
    """What a redirect adds to the worth of its target: links to a page that has moved are links to where it is."""
    return worth if order.weighs else 0.0


def listed(order: Ordering, worth: float, links: int) -> float:
    """What a sitemap adds to the worth of each page it lists: it passes on cash, but is no page and so no back-link."""
    return order.gift(worth, links) if order.conserves else 0.0
