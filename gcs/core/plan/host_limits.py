"""What limits a host: its delay, which all its owners together owe it, or the work, which several owners share.

A host whose delay allows fewer pages per second than one gatherer can fetch is limited by the delay. It takes as long
by four gatherers as by one, so a plan leaves it whole: one owner, one clock, nothing to agree on.

What a gatherer has to do takes the larger of two times: its work, over all its connections, and the politeness of its
slowest host, over that host, whoever else owns a part of it.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gcs.core.url.sortkey import PAGES, host_of_key

#: pages per second of one host that one gatherer can always fetch and store
ONE_GATHERER = 100.0
#: a gatherer waits for answers if one host brings it less than so many times ONE_GATHERER
WAITING = 4.0
#: connections of one gatherer to a host without a delay, unless a setting says otherwise
CONNECTIONS = 8
#: connections of one gatherer to all hosts, unless a setting says otherwise
ALL_CONNECTIONS = 128


@dataclass(frozen=True, slots=True)
class HostLimits:
    """The delays of the hosts of a crawl, as its gatherers know them."""

    #: seconds that every host is owed
    delay_s: float = 0.0
    #: hosts (`sortkey.host_of_key`) that are owed more: by their robots.txt, or because they were overloaded
    longer: Mapping[bytes, float] = field(default_factory=dict)
    #: connections of one gatherer to a host without a delay
    connections: int = CONNECTIONS
    #: connections of one gatherer to all hosts
    all_connections: int = ALL_CONNECTIONS

    def delay_of(self, host: bytes) -> float:
        return max(self.delay_s, self.longer.get(host, 0.0))

    def is_limited(self, host: bytes) -> bool:
        """Whether its delay, and not the work, decides how long this host takes."""
        return self.delay_of(host) * ONE_GATHERER > 1.0

    def polite_s(self, queues: Mapping[bytes, float], answer_s: float = 0.0) -> float:
        """The seconds that the slowest host takes, whoever owns it: so many pages are left of each.

        The delay is owed from the end of an answer to the next request.
        """
        delays = ((pages, self.delay_of(host)) for host, pages in queues.items())
        return max((pages * (delay_s + answer_s) for pages, delay_s in delays if delay_s > 0), default=0.0)

    def allowed_per_s(self, hosts: Iterable[bytes], answer_s: float, others: float = 0.0) -> float:
        """The pages per second that the delays of these hosts and so many others allow all gatherers together."""
        paces = [(1.0, self.delay_of(host)) for host in hosts] + [(others, self.delay_s)]
        return sum(count / (delay_s + answer_s) if delay_s > 0 else math.inf for count, delay_s in paces if count)

    def pages_per_s(self, hosts: Collection[bytes], rate: float, others: float = 0.0) -> float:
        """What one gatherer can fetch of these hosts and so many others, if a connection brings `rate` pages a second.

        ONE_GATHERER is a cautious guess: a gatherer to which one connection brings more can fetch more.
        """
        return min(max(ONE_GATHERER, rate), self.connected_per_s(hosts, rate, others))

    def connected_per_s(self, hosts: Collection[bytes], rate: float, others: float = 0.0) -> float:
        """What the connections of one gatherer to these hosts and so many others bring, `rate` each."""
        connections: float = sum(self._connections_to(self.delay_of(host)) for host in hosts)
        connections += others * self._connections_to(self.delay_s)
        return rate * min(connections, self.all_connections)

    def _connections_to(self, delay_s: float) -> int:
        return 1 if delay_s > 0 else self.connections

    def waits_for_answers(self, pages_per_s: float) -> bool:
        """Whether one gatherer's connections to a host leave it idle, if each brings so many pages per second."""
        return min(self.connections, self.all_connections) * pages_per_s < WAITING * ONE_GATHERER

    def whole_hosts(self, cuts: Iterable[bytes]) -> tuple[bytes, ...]:
        """The cuts without those inside a host that its delay limits."""
        return tuple(cut for cut in cuts if not self._divides(cut))

    def _divides(self, cut: bytes) -> bool:
        return b"\x00/" in cut and cut > host_of_key(cut) + PAGES and self.is_limited(host_of_key(cut))


def of_hosts(hosts: Iterable[bytes], groups: int) -> tuple[bytes, ...]:
    """Cuts that divide these hosts into at most so many groups of neighbours, as even in number as can be."""
    known = sorted(set(hosts))
    count = min(groups, len(known))
    return (b"", *(known[at * len(known) // count] + PAGES for at in range(1, count)))
