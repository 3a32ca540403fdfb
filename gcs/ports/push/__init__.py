"""Receivers of matches. A push returns when the receiver has them, or raises `PushError`; it may then come again."""

from collections.abc import Sequence
from typing import Protocol

from gcs.core.watch.profile import Match
from gcs.core.watch.push_target import PushTarget
from gcs.errors import GcsError

#: seconds that a receiver has for one push
PUSH_S = 10.0


class PushError(GcsError):
    """The receiver did not take it. The message holds no secret: neither address nor answer."""


class Receiver(Protocol):
    """A kind of receiver."""

    #: matches of one push, at most
    most: int

    async def push(self, target: PushTarget, secret: str, matches: Sequence[Match]) -> None:
        """Give it the matches, in order."""

    async def close(self) -> None:
        """Close the connections to the receiver."""
