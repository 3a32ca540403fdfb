"""What is asked of a summariser: how deep to look, and the few settings that change what it sees."""

from dataclasses import dataclass
from typing import Literal

#: links: title, description, out-links. fast: + main text by resiliparse. full: + main text by trafilatura.
Depth = Literal["links", "fast", "full"]


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of every summariser. Immutable, made once per crawl."""

    #: product token of our User-Agent, lower case: <meta name="TOKEN"> directives are ours too
    agent: str = "gcs"
    #: follow img src and srcset as well (a crawl that wants images)
    images: bool = False
    #: out-links kept of one document; what lies beyond is a trap or a dump
    max_links: int = 50_000
    #: bytes of one document that are looked at
    max_bytes: int = 16 * 1024 * 1024


DEFAULT = Options()
