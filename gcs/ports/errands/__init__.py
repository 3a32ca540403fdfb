"""The errand port: where a helper gets errands and leaves summaries, and all that it sees of a crawl.

`whiteboard_errands` works on the whiteboard itself; `gateway_client` goes through the gateway of a station, by HTTP,
and needs only a token. A helper does not know which of the two it uses.

Leases. A helper that takes errands holds them for `lease_s`, counted from before it asked (so that it stops before the
crawl gives them to another), or longer if it extends them. An errand that is neither put, given back nor extended goes
to another helper.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gcs.core.messages.tuples import HelperBeat, Means, SummaryTS, UrlTS
from gcs.core.url.canonical import UrlRules
from gcs.ports.fetch import FetchSettings
from gcs.ports.summarise import SummarySettings


@dataclass(frozen=True, slots=True)
class HelperTerms:
    """How the crawl fetches and reads pages: its helpers do the same. Made by `gcs.settings.terms`."""

    crawl: str = "crawl"
    fetch: FetchSettings = field(default_factory=FetchSettings)
    urls: UrlRules = field(default_factory=UrlRules)
    summary: SummarySettings = field(default_factory=SummarySettings)
    #: heed rel=nofollow, meta robots and X-Robots-Tag
    nofollow: bool = True
    #: seconds of a lease
    lease_s: float = 15.0


class ErrandPort(Protocol):
    """One helper's access to a crawl. Verbs raise GcsError when the crawl cannot be reached, or wants no help."""

    #: the name under which the crawl knows the helper
    helper: str
    place: str
    means: Means
    terms: HelperTerms
    #: why the crawl has nothing to do for the helper, as of the last beat; "" if that is not known
    why_idle: str

    async def take(self, limit: int, timeout_s: float) -> list[UrlTS]:
        """Up to `limit` errands; waits up to `timeout_s` for the first one."""

    async def extend(self, errands: Sequence[UrlTS]) -> list[UrlTS]:
        """Begin their leases anew; returns those that the helper still holds. Drop the others at once."""

    async def put(self, summary: SummaryTS) -> None:
        """Finish an errand. A summary without a status and a failure tells the gatherer to fetch the URL itself."""

    async def give_back(self, errands: Sequence[UrlTS]) -> None:
        """Give errands that were not begun to other helpers at once."""

    async def beat(self, beat: HelperBeat) -> bool:
        """Tell gatherers that the helper lives and how much they may lend to it. False when the crawl is over."""

    async def close(self) -> None:
        """Leave the crawl. Errands that are held go to other helpers when their leases end."""
