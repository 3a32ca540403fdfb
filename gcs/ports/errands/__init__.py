"""The desk: where a helper gets errands and leaves summaries, and all that it sees of a crawl.

Two of them: `board` goes to the whiteboard itself; the other goes through the gateway, by HTTP, and needs a token
only. A helper does not know at which one it stands.

Leases. Who takes errands holds them for `lease_s`, counted from before it asked (so that it stops before the other side
lets go), or longer if `extend` says so. An errand that is neither put, given back nor extended goes to somebody else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gcs.core.messages.tuples import HelperBeat, Means, SummaryTS, UrlTS
from gcs.core.url.join import UrlRules
from gcs.ports.fetch import FetchSettings
from gcs.ports.summarise.options import SummarySettings


@dataclass(frozen=True, slots=True)
class HelperTerms:
    """How the crawl fetches and reads: its helpers do just so. Made by `gcs.settings.terms`."""

    crawl: str = "crawl"
    fetch: FetchSettings = field(default_factory=FetchSettings)
    urls: UrlRules = field(default_factory=UrlRules)
    summary: SummarySettings = field(default_factory=SummarySettings)
    #: heed rel=nofollow, meta robots and X-Robots-Tag
    nofollow: bool = True
    #: seconds of a lease
    lease_s: float = 15.0


class ErrandPort(Protocol):
    """One helper's place at a crawl. Verbs raise GcsError when the crawl cannot be reached, or wants no help."""

    #: the name under which the crawl knows the helper
    helper: str
    place: str
    means: Means
    terms: HelperTerms

    async def take(self, limit: int, timeout_s: float) -> list[UrlTS]:
        """Up to `limit` errands; waits for the first one so long."""
        ...

    async def extend(self, errands: Sequence[UrlTS]) -> list[UrlTS]:
        """Begin their leases anew; those that are not in the answer are mine no longer: drop them at once."""
        ...

    async def put(self, summary: SummaryTS) -> None:
        """What became of an errand; that is done with. Without a status and a failure it says: fetch it yourself."""
        ...

    async def give_back(self, errands: Sequence[UrlTS]) -> None:
        """These were not begun: let somebody else have them now."""
        ...

    async def beat(self, beat: HelperBeat) -> bool:
        """I am here, and gatherers may lend as much as it says. Says whether the crawl goes on."""
        ...

    async def close(self) -> None:
        """I am gone. What I hold returns when its lease ends."""
        ...
