"""What machines of a kind can do for a crawl, and what they cost: hours and money for a number of pages.

A gatherer has a core, and so has each server of the whiteboard. The network is what all machines of the crawl have
together; where it is slower than the cores, the crawl takes longer. Prices change: they come from a table that the user
can edit (`gcs study scale --prices FILE`).

Invariant: a pure function of costs, prices and the size of the team.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gcs.sim.engine.capacity import Capacity, Costs


@dataclass(frozen=True, slots=True)
class Machine:
    """A kind of machine that can be rented."""

    cores: int = 16
    usd_per_hour: float = 0.0
    #: what its network takes in, at most
    mbit_s: float = 10_000.0
    #: disk that comes with it
    disk_gb: float = 1_000.0
    #: what traffic into it costs
    usd_per_tb: float = 0.0


#: the anchor: 1.005 billion pages in 25.5 hours by 12 machines for 462 dollars (see docs/measurements.md)
ANCHOR, ANCHOR_PAGES, ANCHOR_HOURS, ANCHOR_MACHINES, ANCHOR_USD = "i7i.4xlarge", 1_005_000_000, 25.5, 12, 462.0
#: kinds of machines, with what they cost on demand when this was written
MACHINES: Mapping[str, Machine] = MappingProxyType(
    {
        ANCHOR: Machine(16, ANCHOR_USD / ANCHOR_HOURS / ANCHOR_MACHINES, 15_000, 3_750),
        "c7i.4xlarge": Machine(16, 0.714, 12_500, 0),
        "own": Machine(2, 0.0, 1_000, 250),
    }
)


@dataclass(frozen=True, slots=True)
class Bill:
    """A crawl, on rented machines."""

    machines: int
    hours: float
    usd: float
    #: part of the machines' network that pages need when all cores work; above 1, the network is the limit
    network_share: float
    #: part of the machines' own disks that it fills; above 1, finished files have to move to a store
    disk_share: float


def bill(pages: float, n: int, found: Capacity, costs: Costs, machine: Machine) -> Bill:
    """What so many pages take and cost with n gatherers, whose capacity is known."""
    machines = math.ceil((n + (found.servers if n > 1 else 0)) / machine.cores)
    network_share = found.pages_per_s * costs.page_bytes * 8 / 1e6 / (machines * machine.mbit_s)
    hours = pages / found.pages_per_s / 3600 * max(1.0, network_share)
    usd = machines * hours * machine.usd_per_hour + pages * costs.page_bytes / 1e12 * machine.usd_per_tb
    disk_gb = pages * (costs.stored_bytes + costs.state_bytes) / 1e9
    room_gb = machines * machine.disk_gb
    return Bill(machines, hours, usd, network_share, disk_gb / room_gb if room_gb else math.inf)
