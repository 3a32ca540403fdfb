"""What is asked of the summarisers: how deep to look, and the few settings that change what they see."""

from dataclasses import dataclass
from typing import Literal

#: links: title, description, out-links. fast: + main text by resiliparse. full: + main text by trafilatura.
Depth = Literal["links", "fast", "full"]


@dataclass(frozen=True, slots=True)
class SummarySettings:
    """What is kept of a page beside its bytes."""

    #: how much is read out of a page: its links; also its text, quickly (fast) or as well as can be (full)
    depth: Depth = "fast"
    #: follow img src and srcset as well
    images: bool = False
    #: out-links kept of one page
    max_links: int = 50_000
    #: processes that extract text where the depth is full; 0 for one per core
    workers: int = 0


@dataclass(frozen=True, slots=True)
class Options:
    """What every summariser is told. Immutable, made once per crawl."""

    #: product token of our User-Agent, lower case: <meta name="TOKEN"> directives are ours too
    agent: str = "gcs"
    #: follow img src and srcset as well
    images: bool = False
    #: out-links kept of one document; what lies beyond is a trap or a dump
    max_links: int = 50_000
    #: bytes of one document that are parsed; the links of the rest are lost
    max_bytes: int = 16 * 1024 * 1024
    #: bytes of one page from which text is taken: extraction is quadratic in the length of the text
    max_text_bytes: int = 512 * 1024


DEFAULT = Options()
