"""Which payload was stored before, and under which record: what makes a revisit record possible.

Invariant: `get` names only a response record (never a revisit). A digest may be forgotten: then the payload
is stored once more, which costs space and nothing else.
"""

from collections import OrderedDict
from typing import NamedTuple, Protocol


class Original(NamedTuple):
    """The response record that holds a payload in full."""

    url: str
    fetched_at: float


class Digests(Protocol):
    """Payload digest (sha1:BASE32) → the record that holds it. Filled and asked by the WARC writer."""

    def get(self, digest: str) -> Original | None:
        """The record that holds this payload, or None where it is not known."""
        ...

    def put(self, digest: str, original: Original) -> None:
        """Remember where a payload was stored in full."""
        ...


class RecentDigests:
    """The last `limit` payloads, in memory; the least recently met is forgotten first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._originals: OrderedDict[str, Original] = OrderedDict()

    def get(self, digest: str) -> Original | None:
        """See Digests."""
        original = self._originals.get(digest)
        if original is not None:
            self._originals.move_to_end(digest)
        return original

    def put(self, digest: str, original: Original) -> None:
        """See Digests."""
        self._originals[digest] = original
        if len(self._originals) > self._limit:
            self._originals.popitem(last=False)
