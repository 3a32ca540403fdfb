"""The outlook: how much of the crawl is done, and when the rest will be. Pure.

The fraction is the gatherers' own estimate (`core.estimate`), each weighed by the URLs that it knows; so are its
bounds. What remains is done · (1/fraction − 1) URLs, and it takes as long as they take at the present rate.

Invariant: low ≤ fraction ≤ high; the times are None where nothing moves or nothing can be said.
"""

from collections.abc import Iterable

import msgspec

#: an estimate beyond this is no estimate
_LONGEST_S = 10 * 365 * 86_400.0


class Outlook(msgspec.Struct, frozen=True):
    """The explored fraction with its bounds, and the seconds to the end with theirs."""

    fraction: float = 0.0
    low: float = 0.0
    high: float = 1.0
    eta_s: float | None = None
    #: if all goes well; and if it does not
    soonest_s: float | None = None
    latest_s: float | None = None


def outlook(
    parts: Iterable[tuple[int, tuple[float, float, float]]], done: int, queued: int, urls_per_s: float
) -> Outlook:
    """`parts`: URLs known to each gatherer, and its fraction, low and high. `done` URLs are dealt with."""
    weights = [(max(known, 1), estimate) for known, estimate in parts]
    total = sum(known for known, _ in weights)
    if done and not queued:
        return Outlook(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    if not total or not done:
        return Outlook()
    fraction, low, high = (sum(known * each[at] for known, each in weights) / total for at in range(3))
    high = min(max(high, 0.0), 1.0)
    fraction = min(max(fraction, 0.0), high)
    low = min(max(low, 0.0), fraction)
    return Outlook(
        round(fraction, 4),
        round(low, 4),
        round(high, 4),
        _seconds(fraction, done, urls_per_s),
        _seconds(high, done, urls_per_s),
        _seconds(low, done, urls_per_s),
    )


def _seconds(fraction: float, done: int, urls_per_s: float) -> float | None:
    """For what remains if this fraction is done."""
    if fraction <= 0 or urls_per_s <= 0:
        return None
    seconds = done * (1 / fraction - 1) / urls_per_s
    return round(seconds, 1) if seconds < _LONGEST_S else None
