"""The c-queue: foreign URLs on their way to their owners, collected for a superstep and then sent in blocks (G3, M1).

    route ─► c-queue ─► (superstep over?) ─► blocks ─► outbox

A URL is in it once for each owner, with the sum of what was found: back-links, or cash where the order is OPIC. A
superstep ends when so many pages have been fetched, so many URLs wait for one owner, or the oldest has waited so long;
and at once where we have little to do ourselves, or the others may be waiting for us.

filled by: route; emptied by: blocks, drain
Invariant: at every commit its URLs are in the frontier's notes or in blocks of the outbox.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import msgspec

from gcs.core.ordering import GIFT
from gcs.core.team import TeamSettings
from gcs.core.tuples import Link, UrlBlock

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, list[Link]]).decode


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How long a superstep may be."""

    #: R: pages; 0 ends it with every checkpoint
    pages: int = 0
    #: β: URLs for one owner, which are also the most in one block
    urls: int = 1_000
    seconds: float = 2.0

    @classmethod
    def of(cls, settings: TeamSettings) -> Self:
        """As the settings say."""
        return cls(settings.superstep_pages, settings.urls_per_block, settings.block_s)


class CQueue:
    """The foreign URLs of one gatherer that have not left."""

    def __init__(self, tolerance: Tolerance) -> None:
        self.tolerance = tolerance
        self._links: dict[str, dict[str, Link]] = {}
        self._pages = 0
        self._begun_at: float | None = None

    def __bool__(self) -> bool:
        return bool(self._links)

    def has(self, owner: str, url: str) -> bool:
        """Whether a URL is on its way to that owner."""
        return url in self._links.get(owner, ())

    def add(self, owner: str, link: Link) -> None:
        """Send a link to its owner, together with what else there is for that URL."""
        queued = self._links.setdefault(owner, {})
        before = queued.get(link.url)
        if before is not None:
            first, other = (link, before) if before.depth == GIFT else (before, link)
            depth = first.depth if other.depth == GIFT else min(first.depth, other.depth)
            link = Link(link.url, before.weight + link.weight, depth, first.parent or other.parent)
        queued[link.url] = link

    def drain(self) -> list[Link]:
        """Take everything back."""
        links = [link for queued in self._links.values() for link in queued.values()]
        self._links = {}
        return links

    def fetched(self) -> None:
        """Another page of the superstep."""
        self._pages += 1

    def is_due(self, now: float, busy: bool) -> bool:
        """Whether the superstep is over."""
        if not self._links:
            return False
        if self._begun_at is None:
            self._begun_at = now
        limit = self.tolerance
        return (
            not busy
            or self._pages >= limit.pages
            or now >= self._begun_at + limit.seconds
            or any(len(queued) >= limit.urls for queued in self._links.values())
        )

    def blocks(self, epoch: int) -> list[tuple[str, UrlBlock]]:
        """Everything as blocks, each with its destination: a superstep ends."""
        most = max(self.tolerance.urls, 1)
        blocks: list[tuple[str, UrlBlock]] = []
        for owner, queued in self._links.items():
            links = list(queued.values())
            blocks += [(owner, UrlBlock(epoch, links[at : at + most])) for at in range(0, len(links), most)]
        self._links, self._pages, self._begun_at = {}, 0, None
        return blocks

    def encode(self) -> bytes:
        """As bytes, for the checkpoint."""
        return _encode({owner: list(queued.values()) for owner, queued in self._links.items()})

    def restore(self, packed: bytes | None) -> None:
        """Go on from a checkpoint."""
        for owner, links in (_decode(packed) if packed else {}).items():
            self.extend((owner, link) for link in links)

    def extend(self, links: Iterable[tuple[str, Link]]) -> None:
        """Send several links."""
        for owner, link in links:
            self.add(owner, link)
