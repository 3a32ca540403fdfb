"""Summarise: what a document says (links, title, text…), one module per format, and the process pool for text.

Here is what a summariser is, and what it is told: how deep to look, and the few settings that change what it sees.
`Summarisers` (`gcs.ports.reader`) chooses the one for a document; a package adds its own through the entry-point group
`gcs.summarisers`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from gcs.core.page.values import Document

if TYPE_CHECKING:
    from turbohtml import Document as HtmlTree

#: links: title, description, out-links. fast: + main text, Markdown and metadata.
#: full: the same, but trafilatura finds the main text
Depth = Literal["links", "fast", "full"]


@dataclass(frozen=True, slots=True)
class SummarySettings:
    """What is kept of a page beside its bytes."""

    #: how much is read out of a page: its links; also its text, quickly (fast) or as well as can be (full)
    depth: Depth = "fast"
    #: follow img src and srcset as well
    images: bool = False
    #: follow embed src and object data, option values that look like URLs, and links in noframes as well
    more_links: bool = False
    #: keep the text and the rel of links, in the columns anchors and rels, and in the table of links
    anchors: bool = False
    #: keep the headers of each answer, in the column headers
    headers: bool = True
    #: out-links kept of one page
    max_links: int = 50_000
    #: keep a thumbnail (WebP) of each image (extra images), and a picture of each page that a browser renders, of so
    #: many pixels at its longest side; 0 for none
    thumbnails: int = 0
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
    #: bytes of text (and as many of Markdown) that are kept of one page, whatever its markup
    max_text_bytes: int = 512 * 1024
    #: longest side of the thumbnail of an image, in pixels; 0 for none
    thumbnails: int = 0
    #: keep the text and the rel of links
    anchors: bool = False
    #: follow embed, object, option and noframes as well
    more_links: bool = False


DEFAULT = Options()


class ParsedPage:
    """Where the reader of HTML leaves the tree of a page, for those who select something in it later."""

    #: the tree as it was parsed; None if the page was not read as HTML
    tree: "HtmlTree | None" = None


class Source(msgspec.Struct, frozen=True):
    """What a summariser is given."""

    #: without content coding; summarisers see `options.max_bytes` of it at most
    content: bytes
    #: the Content-Type header, "" where there was none
    content_type: str
    url: str
    depth: Depth
    options: Options
    #: where the tree is wanted; None if nobody needs it
    parsed: ParsedPage | None = None


@dataclass(frozen=True, slots=True)
class Summariser:
    """A function that reads documents of one format, everywhere or below one URL."""

    #: a value of `core.page.recognise.Format`, or a media type such as "application/msword", which goes first
    format: str
    summarise: Callable[[Source], Document]
    #: only for URLs that begin so
    prefix: str = ""
    #: read in a process of the text pool, with limits of time and memory: slow, or not to be trusted with any bytes
    in_worker: bool = False
