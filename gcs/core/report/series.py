"""A series: figures over the whole time of a crawl, in bounded memory.

Every point stands for a span of `step_s` seconds. When there are too many, neighbours become one, and the step doubles:
so a crawl of a minute is shown by the second, and one of a month by the hour.

Invariant: at most `capacity` points, whatever the crawl's length; the last one is always the last that was added.
"""

from dataclasses import dataclass

import msgspec


class SeriesPoint(msgspec.Struct, frozen=True):
    """The figures at one time. Rates are means over the span that ends there, the others are as of its end."""

    #: seconds since the epoch
    at: float
    pages_per_s: float = 0.0
    bytes_per_s: float = 0.0
    pages: int = 0
    queued: int = 0
    known: int = 0
    in_flight: int = 0
    failed: int = 0
    explored: float = 0.0


@dataclass(slots=True)
class SeriesCounts:
    """Counts that only grow: rates are their differences."""

    at: float
    pages: int
    bytes: int


class Series:
    """filled by: add, at every look; read by: the station's page."""

    def __init__(self, capacity: int = 600, step_s: float = 1.0) -> None:
        if capacity < 4:
            raise ValueError("a series needs room for four points")
        self._capacity = capacity
        self.step_s = step_s
        self._closed: list[SeriesPoint] = []
        #: counts at the end of the last closed point, and the newest ones
        self._since: SeriesCounts | None = None
        self._last: SeriesPoint | None = None

    def add(self, now: SeriesPoint, counts: SeriesCounts) -> SeriesPoint:
        """The figures as they are now; returns the point with its rates."""
        since = self._since
        if since is None or counts.pages < since.pages:  # the crawl counts from 0 again
            self._since = since = counts
        span = max(counts.at - since.at, 1e-3)
        rate = (counts.pages - since.pages) / span, max(counts.bytes - since.bytes, 0) / span
        self._last = msgspec.structs.replace(now, pages_per_s=round(rate[0], 2), bytes_per_s=round(rate[1], 1))
        if span >= self.step_s:
            self._closed.append(self._last)
            self._since = counts
            if len(self._closed) >= self._capacity:
                self._halve()
        return self._last

    def points(self) -> list[SeriesPoint]:
        last = self._last
        open_end = [last] if last is not None and (not self._closed or self._closed[-1].at < last.at) else []
        return [*self._closed, *open_end]

    def _halve(self) -> None:
        pairs = zip(self._closed[::2], self._closed[1::2])
        odd = self._closed[len(self._closed) & ~1 :]
        self._closed = [
            msgspec.structs.replace(
                later,
                pages_per_s=round((earlier.pages_per_s + later.pages_per_s) / 2, 2),
                bytes_per_s=round((earlier.bytes_per_s + later.bytes_per_s) / 2, 1),
            )
            for earlier, later in pairs
        ] + odd
        self.step_s *= 2
