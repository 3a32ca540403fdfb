"""What a user may put a team together from. It must not know the engine (`sim_team`), since every study carries it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Setup:
    """How a team works: what the user may put together."""

    #: who owns a page (core.partition)
    partitioner: str = "site-hash"
    #: what becomes of a link into another's pages
    mode: Literal["exchange", "firewall", "cross-over", "independent"] = "exchange"
    #: which page goes first (core.ordering)
    order: str = "bfs"
    #: queue of a gatherer (core.queues); scan: all that waits is looked through
    queue: str = "scan"
    #: R, pages of a gatherer in a superstep, on average; 0: a 256th of its crawl
    superstep_pages: int = 0
    #: supersteps between two exchanges
    exchange_every: int = 1
    #: the so many most linked URLs are known to all
    replicated: int = 0
    #: how fast the gatherers are: all alike, or by the size of their parts
    speeds: Literal["equal", "size"] = "equal"
    #: random pages that the team starts from
    seeds: int = 320
    #: downloads at most, as a part of what can be reached; 0: to the end
    part: float = 0.0
