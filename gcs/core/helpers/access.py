"""Access: who may look, who may act, who may help. Tokens and what they allow; pure.

A token is a secret of 256 random bits that its holder sends as `Authorization: Bearer …`. What is kept of it is
its SHA-256 (`tuples.Access`, on the whiteboard): enough to know it again, not to make it. A secret that long
cannot be guessed, so a plain hash will do.

Invariant: the time that `holder` takes does not depend on how much of a token is right, nor on which one it is.
It reads no clock and draws no random numbers: the caller gives both.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from enum import StrEnum

from gcs.core.messages.tuples import Access

#: random bytes of a token
SECRET_BYTES = 32
#: least characters of a token that a user has made up
LEAST_CHARACTERS = 20
#: by which people and secret scanners recognise a leaked token
_PREFIX = "gcs_"


class Role(StrEnum):
    """What a token is for."""

    VIEW = "view"
    #: begins crawls within the limits of the station, and commands those
    CRAWL = "crawl"
    CONTROL = "control"
    HELPER = "helper"


#: role of a token → what its holder may do. A helper is somebody else's machine: it may help, and nothing else
ALLOWS: dict[Role, frozenset[Role]] = {
    Role.VIEW: frozenset({Role.VIEW}),
    Role.CRAWL: frozenset({Role.VIEW, Role.CRAWL}),
    Role.CONTROL: frozenset({Role.VIEW, Role.CRAWL, Role.CONTROL}),
    Role.HELPER: frozenset({Role.HELPER}),
}


def new_token(secret: bytes) -> str:
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a token needs {SECRET_BYTES} random bytes")
    return _PREFIX + base64.urlsafe_b64encode(secret).decode().rstrip("=")


def digest(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def entry(
    token: str,
    role: Role,
    *,
    label: str = "",
    created_at: float = 0.0,
    expires_at: float = 0.0,
    place: str = "",
    trusted: bool = False,
) -> Access:
    """The entry by which a token is known again. Its id is the beginning of the hash, for people."""
    kept = digest(token)
    return Access(kept.hex()[:8], str(role), kept, label, created_at, expires_at, place, trusted)


def holder(token: str, entries: Iterable[Access], now: float) -> Access | None:
    """The entry of this token, if there is one that has not expired."""
    given, found = digest(token), None
    for each in entries:  # all of them, whether or not one was found
        if hmac.compare_digest(given, each.digest) and (not each.expires_at or now < each.expires_at):
            found = each
    return found


def helper_name(kept: Access) -> str:
    """The name of the helper that holds this token: LABEL@ID, in letters that can stand in a key."""
    return f"{_plain(kept.label) or 'helper'}@{kept.id}"


def machine_name(kept: Access, machine: str) -> str:
    """The name of one of several machines that share this token: LABEL.MACHINE@ID."""
    label, _, number = helper_name(kept).rpartition("@")
    return f"{label}.{_plain(machine)}@{number}" if _plain(machine) else helper_name(kept)


def _plain(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())[:40].strip("-")


def token_id(helper: str) -> str:
    """The id of the token that a helper of this name holds."""
    return helper.rpartition("@")[2]


def allowed(kept: Access) -> frozenset[Role]:
    """What the holder of a token may do; nothing, if only a later version of GCS knows its role."""
    return ALLOWS[Role(kept.role)] if kept.role in set(Role) else frozenset()
