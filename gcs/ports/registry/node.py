"""A node of the URL-Registry: a URL, what it is worth, and whether it has been handed out or visited."""

from enum import StrEnum

import msgspec
import xxhash

from gcs.core.tuples import Queued


class State(StrEnum):
    """Held by the server, in the hands of a client, or visited."""

    HELD = "h"
    OUT = "o"
    VISITED = "v"


class Node(msgspec.Struct, frozen=True, array_like=True):
    """One URL. Its DocID is a hash of it; LMDB's tree takes the place of the paper's buckets."""

    url: str
    domain: str
    parent: str = ""
    depth: int = 0
    #: back-links, or whatever the order adds up
    worth: float = 0.0
    rank: int = 0
    state: State = State.HELD
    #: who has it, while it is out
    client: str = ""
    #: what the last session knew of it; until it is visited in this one
    copy: Queued | None = None


def docid(url: str) -> bytes:
    """The DocID of a URL."""
    return xxhash.xxh3_128_digest(url.encode())
