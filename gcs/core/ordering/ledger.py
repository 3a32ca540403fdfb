"""The ledger of OPIC: where all cash is that was ever issued. Kept beside the frontier, durable with it.

    issued    to seeds, when they became known here
    spent     by pages that were fetched, in gifts to their links (the history of the paper, summed over the pages)
    idle      what came to rest: gifts to pages that were fetched already, to links outside the crawl, to hot pages,
              and the cash of pages that link to nothing or failed (the paper's virtual page)
    sent      to other gatherers, in blocks and with ranges that changed hands
    received  from them

Invariant, per gatherer and at every commit:  issued + received = idle + sent + the worth of all that waits
and for a team, the blocks that are on their way being the difference between all `sent` and all `received`:
          Σ issued = Σ idle + Σ waiting + in transit
"""

from dataclasses import dataclass, fields
from typing import Self

import msgspec


@dataclass(slots=True)
class Ledger:
    """The accounts of one gatherer. For back-links it counts links the same way, but they are not conserved."""

    issued: float = 0.0
    spent: float = 0.0
    idle: float = 0.0
    sent: float = 0.0
    received: float = 0.0

    def waiting(self) -> float:
        """What the URLs that wait must be worth together, if nothing was lost."""
        return self.issued + self.received - self.idle - self.sent

    def __add__(self, other: Self) -> "Ledger":
        return Ledger(*(getattr(self, account.name) + getattr(other, account.name) for account in fields(Ledger)))

    def encode(self) -> bytes:
        """As bytes, for the checkpoint."""
        return msgspec.msgpack.encode(self)

    @staticmethod
    def decode(data: bytes | None) -> "Ledger":
        """From bytes; None is a crawl that begins."""
        return msgspec.msgpack.decode(data, type=Ledger) if data else Ledger()
