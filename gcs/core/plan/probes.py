"""Which hosts all gatherers measure the way to, and when again: so that R is known of those that do not own them, too.

A probe is the round trip of a connection that is opened and closed: no request, so no delay of a host is touched.

Invariant: pure; at most `most` hosts, and a host is due at most once in REPEAT_S.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest

from gcs.core.tree.statistics import SuperpageFigures, SuperpageStatistics

#: seconds until a host is probed again
REPEAT_S = 600.0
#: the share of a new round trip in what is known
_NEWS = 0.5


def to_probe(statistics: SuperpageStatistics, most: int) -> tuple[str, ...]:
    """Origins of the superpages in which most is left to do: one of each, then a second one of each."""
    figures = statistics.superpages
    heavy = sorted(statistics.origins, key=lambda at: (-figures.get(at, SuperpageFigures()).queued, at))
    rows = zip_longest(*(statistics.origins[at] for at in heavy))
    return tuple(dict.fromkeys(origin for row in rows for origin in row if origin))[:most]


class AccessTimes:
    """The round trips that one gatherer has measured."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        """It remembers at most `most` hosts, those probed last."""
        self._most, self._clock = most, clock
        #: origin → when it was probed
        self._probed_at: dict[str, float] = {}
        self._seconds: dict[bytes, float] = {}

    def due(self, origins: Iterable[str]) -> list[str]:
        """The origins that were not probed lately."""
        since = self._clock() - REPEAT_S
        return [origin for origin in list(origins)[: self._most] if self._probed_at.get(origin, since) <= since]

    def probed(self, origin: str, host: bytes, seconds: float | None) -> None:
        """An origin was probed; None: it cannot be reached from here, which says nothing about others."""
        self._probed_at.pop(origin, None)
        self._probed_at[origin] = self._clock()
        if seconds is not None:
            before = self._seconds.pop(host, seconds)
            self._seconds[host] = before + _NEWS * (seconds - before)
        for oldest in list(self._probed_at)[: -self._most]:
            del self._probed_at[oldest]
        for host in list(self._seconds)[: -self._most]:
            del self._seconds[host]

    @property
    def seconds(self) -> Mapping[bytes, float]:
        """The seconds of a round trip to each host."""
        return self._seconds
