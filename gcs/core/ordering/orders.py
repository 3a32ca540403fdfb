"""The orders in which a frontier can be crawled, each as four answers about a page and its links.

    bfs        by depth: what is fewer links away from a seed goes first
    backlink   by the number of pages seen so far that link to it (Cho et al.; the seed-server of WEB-SAILOR)
    opic       by cash (Abiteboul, Preda, Cobena: Adaptive on-line page importance computation): a page that is
               fetched gives all it has in equal parts to the pages it links to
    a score    by a function of the user's, of what is known of the URL and its back-links

What a URL is *worth* (its links so far, or its cash) grows while it waits. An order that `weighs` has to be told of
every link; the others only of the first one.

OPIC's virtual page, which every page links to and which gives to all alike, is an account here (`ledger`): its gift
would be the same for all that wait, and change no order.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from struct import Struct
from typing import Protocol, Self

import msgspec

from gcs.errors import OrderError

# -- Ranks: an importance as a whole number that sorts as bytes do.


#: added to the rank of what goes behind everything else
BEHIND = 1 << 31
#: the largest importance that is told apart from a larger one
MOST = 3.0e38

_FLOAT, _BITS = Struct(">f"), Struct(">I")
_SIGN, _ALL = 0x80000000, 0xFFFFFFFF


def rank(importance: float) -> int:
    """The rank of an importance: the greater, the sooner."""
    # + 0.0 makes a zero of the negative one, which has other bits
    (bits,) = _BITS.unpack(_FLOAT.pack(min(max(importance, -MOST), MOST) + 0.0))
    ascending = bits ^ (_ALL if bits & _SIGN else _SIGN)
    return int(_ALL - ascending) >> 1


# -- The ledger of OPIC: where all cash is that was ever issued. Kept beside the frontier, durable with it.


@dataclass(slots=True)
class Ledger:
    """The accounts of one gatherer. For back-links it counts links the same way, but they are not conserved."""

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
        """As bytes, for the checkpoint."""
        return msgspec.msgpack.encode(self)

    @staticmethod
    def decode(data: bytes | None) -> "Ledger":
        """From bytes; None is a crawl that begins."""
        return msgspec.msgpack.decode(data, type=Ledger) if data else Ledger()


#: depth of a link that is no more than a gift: its URL is known to whoever it goes to, as far as the sender knows
GIFT = -1


class Found(msgspec.Struct, frozen=True):
    """What is known of a URL that waits: what a user's score may judge by."""

    url: str
    #: the page on which it was found first, "" for a seed
    parent: str = ""
    #: links between it and a seed
    depth: int = 0
    #: pages seen so far that link to it
    backlinks: int = 0


class Ordering(Protocol):
    """One order."""

    @property
    def name(self) -> str:
        """How the settings name it."""

    @property
    def weighs(self) -> bool:
        """Whether it must be told of every link, or only of the first one to each URL."""

    @property
    def by_worth(self) -> bool:
        """Whether worth alone decides: its rank is then `rank(worth)`."""

    @property
    def conserves(self) -> bool:
        """Whether gifts are paid out of the giver's own worth."""

    @property
    def seed(self) -> float:
        """What a URL is worth that nobody links to: a seed, or a page to be asked for again."""

    def gift(self, worth: float, links: int) -> float:
        """What each of a page's links adds to the worth of its target, if the page itself has that worth."""

    def rank(self, found: Found, worth: float) -> int:
        """Its place in the order; smaller goes first, and all are below BEHIND."""


def redirected(order: Ordering, worth: float) -> float:
    """What a redirect adds to the worth of its target: links to a page that has moved are links to where it is."""
    return worth if order.weighs else 0.0


def listed(order: Ordering, worth: float, links: int) -> float:
    """What a sitemap adds to the worth of each page it lists: no page, it hands on cash but is no back-link."""
    return order.gift(worth, links) if order.conserves else 0.0


@dataclass(frozen=True, slots=True)
class BreadthFirst:
    """By depth."""

    name: str = "bfs"
    weighs: bool = False
    by_worth: bool = False
    conserves: bool = False
    seed: float = 0.0

    def gift(self, worth: float, links: int) -> float:  # noqa: ARG002
        return 0.0

    def rank(self, found: Found, worth: float) -> int:  # noqa: ARG002
        return min(found.depth, BEHIND - 1)


@dataclass(frozen=True, slots=True)
class BackLinks:
    """By back-link count."""

    name: str = "backlink"
    weighs: bool = True
    by_worth: bool = True
    conserves: bool = False
    seed: float = 0.0

    def gift(self, worth: float, links: int) -> float:  # noqa: ARG002
        return 1.0

    def rank(self, found: Found, worth: float) -> int:  # noqa: ARG002
        return rank(worth)


@dataclass(frozen=True, slots=True)
class Opic:
    """By cash."""

    name: str = "opic"
    weighs: bool = True
    by_worth: bool = True
    conserves: bool = True
    seed: float = 1.0

    def gift(self, worth: float, links: int) -> float:
        return worth / links

    def rank(self, found: Found, worth: float) -> int:  # noqa: ARG002
        return rank(worth)


@dataclass(frozen=True, slots=True)
class Scored:
    """By a function of the user's: the larger its value, the sooner. It is asked again when back-links arrive."""

    name: str
    score: Callable[[Found], float]
    weighs: bool = True
    by_worth: bool = False
    conserves: bool = False
    seed: float = 0.0

    def gift(self, worth: float, links: int) -> float:  # noqa: ARG002
        return 1.0

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
ORDERS: dict[str, Ordering] = {order.name: order for order in (BFS, BackLinks(), Opic())}
