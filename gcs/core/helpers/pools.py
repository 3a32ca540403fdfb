"""Lending to light-weight helpers (§7 of the paper): the settings, the pools, and how much is lent.

Invariant: pure. What is lent does not depend on which helpers there are, only on their number: helpers come and go.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gcs.core.messages.tuples import HelperBeat, Means
from gcs.errors import SettingsError

#: seconds between two heartbeats of a helper; those of gatherers are `TeamSettings.beat_s`
BEAT_S = 1.0
#: seconds that a helper's heartbeat stays on the board
BEAT_TTL_S = 5 * BEAT_S


@dataclass(frozen=True, slots=True)
class HelperSettings:
    """How a crawl works with helpers. The same for all its members."""

    #: let helpers fetch, where there are any
    lend: bool = True
    #: seconds that a helper holds a URL; one that vanishes delays its URLs, and their hosts, by as much
    lease_s: float = 15.0
    #: seconds for which a URL may be taken, or its lease renewed; one lease later its gatherer fetches it
    offer_s: float = 30.0
    #: URLs that wait for a helper, for each that it fetches: it need not ask the whiteboard for the next one
    ahead: float = 1.0
    #: helpers bring back the bytes for the WARC (if there is one: see store.warc)
    payload: bool = True
    #: regular expressions; a URL that matches one of them is sent to helpers with a browser, if there are any
    browser: tuple[str, ...] = ()
    #: send a page to a helper with a browser, if there is one, when without its scripts it is an empty shell
    shells: bool = True
    #: seconds for which the first pages that need a browser wait for one to come; 0: they are stored as they are
    browser_wait_s: float = 0.0

    def __post_init__(self) -> None:
        for pattern in self.browser:
            try:
                re.compile(pattern)
            except re.error as error:
                raise SettingsError(
                    f"helpers.browser: {pattern!r} is not a regular expression ({error}): correct or escape it"
                ) from None
        if self.browser_wait_s < 0:
            raise SettingsError("helpers.browser_wait_s must not be below 0")
        if self.lease_s <= 0 or self.offer_s <= 0:
            raise SettingsError("helpers: lease_s and offer_s must be above 0; to lend nothing, set lend = false")


def pool(place: str, means: Means) -> str:
    """The inbox of the errands for helpers of a place."""
    return f"pool/{place}/{means}"


def share(beats: Iterable[HelperBeat], place: str, means: Means, lenders: int, ahead: float) -> int:
    """How many errands a gatherer may have out: its part of what its helpers do at once, and some ahead."""
    connections = sum(beat.connections for beat in beats if beat.place == place and beat.means is means)
    return -int(-connections * (1.0 + ahead) // max(lenders, 1))
