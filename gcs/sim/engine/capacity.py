"""What a team of n gatherers can do, from what a page, a URL and a block were measured to cost.

A gatherer has a core of its own. The whiteboard is one thread of a Redis server: every URL that is told costs it time,
and so does every block that carries URLs. A block is sent to every other gatherer at each checkpoint, if there are URLs
for it, and whenever it is full. So the number of blocks grows with n² as long as URLs are many, and blocks are what
loads a server first.

Invariant: a pure function of costs, n and the URLs told per page. It must not know where the figures come from.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured costs. The defaults: a 2-core virtual machine, 40,000 pages of 19 KB and 44 links, n = 1 to 8."""

    #: seconds of CPU per page: fetch, links, WARC, summary; and what a team adds (heartbeats, hand-over, exchange)
    page_cpu_s: float = 1130e-6
    team_cpu_s: float = 90e-6
    #: bytes on the network per page, and on disk: WARC and summary; frontier and log
    page_bytes: float = 19_250
    stored_bytes: float = 10_060
    state_bytes: float = 690
    #: bytes on the whiteboard per URL told
    url_bytes: float = 120
    #: seconds of the whiteboard's CPU: per second without any load; per block; per URL in a block
    board_idle: float = 0.0047
    board_block_s: float = 216e-6
    board_url_s: float = 12.2e-6
    #: commands per block, and per URL in it
    board_block_commands: float = 18.7
    board_url_commands: float = 0.1
    #: seconds between two checkpoints, and URLs in a full block
    checkpoint_s: float = 2.0
    block_urls: float = 1000
    #: part of a whiteboard server that may be used: above that, answers are delayed
    headroom: float = 0.7


MEASURED = Costs()
#: costs that something is divided by
NEVER_0 = ("page_cpu_s", "checkpoint_s", "block_urls", "headroom")


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a team can do, and what load it puts on the whiteboard."""

    pages_per_s: float
    urls_per_s: float
    blocks_per_s: float
    urls_per_block: float
    #: commands of the whiteboard, and bytes of URLs that go into it and out of it
    commands_per_s: float
    board_bytes_per_s: float
    #: part of one whiteboard server's time
    board_load: float
    #: Redis servers that it takes; more than one are a Redis Cluster
    servers: int
    #: seconds between checkpoints with which one server would do; 0 where none would
    checkpoint_for_one_s: float


def capacity(n: int, urls_per_page: float, costs: Costs) -> Capacity:
    """What n gatherers do that tell one another so many URLs per page."""
    page_s = costs.page_cpu_s + (costs.team_cpu_s if n > 1 else 0.0)
    pages = n / page_s
    urls = pages * urls_per_page if n > 1 else 0.0
    blocks = blocks_per_s(n, urls, costs.checkpoint_s, costs)
    load = costs.board_idle + blocks * costs.board_block_s + urls * costs.board_url_s
    return Capacity(
        pages,
        urls,
        blocks,
        urls / blocks if blocks else 0.0,
        blocks * costs.board_block_commands + urls * costs.board_url_commands,
        2 * urls * costs.url_bytes,
        load,
        max(math.ceil(load / costs.headroom), 1),
        _checkpoint_for_one(n, urls, costs),
    )


def blocks_per_s(n: int, urls_per_s: float, checkpoint_s: float, costs: Costs) -> float:
    """Blocks that leave: to each other gatherer at a checkpoint, if there is anything for it, and full ones."""
    pairs = n * (n - 1)
    if not pairs or not urls_per_s:
        return 0.0
    for_one = urls_per_s * checkpoint_s / pairs
    return max(pairs / checkpoint_s * -math.expm1(-for_one), urls_per_s / costs.block_urls)


def _checkpoint_for_one(n: int, urls_per_s: float, costs: Costs) -> float:
    """The shortest time between checkpoints, by halves, with which one server has room."""
    room = costs.headroom - costs.board_idle - urls_per_s * costs.board_url_s
    seconds = costs.checkpoint_s
    while blocks_per_s(n, urls_per_s, seconds, costs) * costs.board_block_s > room:
        seconds *= 1.5
        if seconds > 3600:
            return 0.0
    return seconds
