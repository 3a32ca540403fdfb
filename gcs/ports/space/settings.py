"""What a user may choose about the whiteboard. Apart from the port, because every crawl loads its settings."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class SpaceSettings:
    """The limits of the whiteboard. All members of a crawl use the same ones."""

    #: bytes of one type that an inbox holds; beyond that, senders keep their blocks
    inbox_bytes: int = 64 << 20
    #: seconds after which a tuple that its taker neither acked nor renewed is given to another
    lease_s: float = 30.0
    #: deliveries without an ack before a tuple becomes a dead letter
    max_deliveries: int = 5
    #: seconds for a server to answer when a command begins: a wrong address is told soon
    open_s: float = 5.0
    #: seconds of an unreachable server before a verb gives up with SpaceError
    patience_s: float = 120.0
    #: append-only file of the embedded server: always, or everysec (faster; what a crash loses is sent again)
    fsync: Literal["always", "everysec"] = "everysec"
