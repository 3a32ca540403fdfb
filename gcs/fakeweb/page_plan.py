"""The plan of an answer: what a URL of the fake web says, before it is spelled out in bytes.

The survey walks plans, the server renders them; neither reads the other's result, so that a test can
hold the served bytes against the plan. All values are immutable; targets are canonical URLs.
"""

from enum import StrEnum
from typing import NamedTuple

import msgspec


class Spelling(StrEnum):
    """How an href writes its target. Where the target is on another host, the path-only ones become ABSOLUTE."""

    ROOT = "root"  # /a/b
    ABSOLUTE = "absolute"  # http://host/a/b
    RELATIVE = "relative"  # ../a/b
    SCHEME = "scheme"  # //host/a/b
    FRAGMENT = "fragment"  # /a/b#part
    ENTITIES = "entities"  # &#47;a&#x2F;b?x=1&amp;y=2
    RAW_AMPERSAND = "raw-ampersand"  # ?x=1&y=2, as most people write it
    SHOUTED = "shouted"  # HTTP://host/a/b
    DOTS = "dots"  # /./x/../a/b
    ESCAPES = "escapes"  # %c3%a9 in lower case
    LETTERS = "letters"  # é as itself, in the charset of the page
    PADDED = "padded"  # blanks around, a line break within
    BACKSLASH = "backslash"  # \\a\\b, which browsers take for slashes


class Element(StrEnum):
    """Where a link stands."""

    A = "a"
    AREA = "area"
    FRAME = "frame"
    IFRAME = "iframe"
    CANONICAL = "canonical"
    ALTERNATE = "alternate"
    FEED = "feed"
    NEXT = "next"
    REFRESH = "refresh"
    LOCATION = "location"  # of a redirect
    ITEM = "item"  # of a feed or a sitemap
    # not links, though they look like some to a careless crawler
    COMMENT = "comment"
    SCRIPT = "script"


_BAIT = (Element.COMMENT, Element.SCRIPT)


class PlannedLink(NamedTuple):
    """One link of a page."""

    target: str
    spelling: Spelling = Spelling.ROOT
    element: Element = Element.A
    nofollow: bool = False

    @property
    def followed(self) -> bool:
        """Whether a polite crawler goes there (the page's own nofollow is asked apart)."""
        return not self.nofollow and self.element not in _BAIT


class Content(StrEnum):
    """The kind of body."""

    HTML = "html"
    SOUP = "soup"  # HTML that no validator would pass
    FRAMESET = "frameset"
    TEXT = "text"
    PDF = "pdf"
    PNG = "png"
    BYTES = "bytes"
    RSS = "rss"
    ATOM = "atom"
    SITEMAP = "sitemap"
    SITEMAP_INDEX = "sitemap-index"
    ROBOTS = "robots"
    ZEROS = "zeros"  # many, to be compressed into a bomb


class Manner(StrEnum):
    """How the server behaves while it answers."""

    PLAIN = "plain"
    SLOW = "slow"  # late
    DRIP = "drip"  # in small pieces
    FLAKY = "flaky"  # `first_status` with Retry-After at the first try
    RESET_ONCE = "reset-once"  # hangs up at the first try
    RESET = "reset"  # hangs up always
    CUT = "cut"  # hangs up in the middle of the body
    GARBAGE = "garbage"  # sends what is not HTTP
    DAMAGED = "damaged"  # content coding gzip, body not gzip
    ENDLESS = "endless"  # body without end
    HANG = "hang"  # never answers


#: what a crawler is expected to report, for the manners that never give a page
FAILURES = {
    Manner.RESET: "reset",
    Manner.CUT: "cut",
    Manner.GARBAGE: "garbage",
    Manner.DAMAGED: "encoding",
    Manner.ENDLESS: "too-large",
    Manner.HANG: "timeout",
}


class PagePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What one URL answers in the session of the web."""

    url: str
    status: int = 200
    first_status: int = 200
    manner: Manner = Manner.PLAIN
    content: Content = Content.HTML
    #: in document order; of a redirect, the one LOCATION
    links: tuple[PlannedLink, ...] = ()
    title: str = ""
    #: decides the text; equal keys give equal text
    text_key: int = 0
    size_bytes: int = 0
    french: bool = False
    charset: str = "utf-8"
    #: where the charset is stated: "header", "meta", "bom" or "" (nowhere)
    charset_by: str = "header"
    #: base href, canonical; relative spellings are then relative to it
    base: str = ""
    #: robots directive "nofollow": "" (none), "meta" or "header"
    nofollow: str = ""
    #: robots directive "noindex": "" (none), "meta" or "header"
    noindex: str = ""
    #: "gzip" or "deflate" where the client takes it
    coding: str = ""
    #: "length", "chunked" or "close"
    transfer: str = "length"
    #: validators; "" and 0 where there are none
    etag: str = ""
    modified_s: int = 0
    is_trap: bool = False

    @property
    def followed(self) -> tuple[PlannedLink, ...]:
        """The links that a polite crawler follows from here."""
        return () if self.nofollow else tuple(link for link in self.links if link.followed)

    @property
    def failure(self) -> str:
        """Why there is never a page here ("404", "reset", …); "" for pages and redirects."""
        if self.manner in FAILURES:
            return FAILURES[self.manner]
        if self.content is Content.ZEROS:
            return "too-large"
        redirects = 300 <= self.status < 400 and bool(self.links)
        return "" if redirects or self.status < 300 else str(self.status)
