"""The values that move through a gatherer: what is asked of the web, and what came back.

All are immutable. URLs are canonical (`core.url.canonical.canonical`) unless a field says otherwise.
"""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from gcs.core.url.queued_url import needed


class Request(msgspec.Struct, frozen=True):
    """One HTTP GET. Made by the gatherer, carried out by a fetch engine, answered by Response or Failure."""

    url: str
    #: validators of the copy that is held; with them the server may answer 304
    etag: str | None = None
    last_modified: str | None = None
    #: whatever the asker wants back with the answer (the frontier entry, the robots.txt hop); never read by engines
    tag: object = None
    #: not to be sent a second time, even where the server hangs up a kept connection: its host is owed a delay
    once: bool = False
    #: that plug-ins want in it, checked
    headers: tuple[tuple[str, str], ...] = ()


class Response(msgspec.Struct, frozen=True):
    """An HTTP answer, whatever its status. Redirects are not followed by the engine: they come back as 3xx."""

    request: Request
    status: int
    reason: str
    #: "1.0", "1.1", "2": the version the server spoke
    http_version: str
    #: as sent, in order, names in the server's case
    headers: tuple[tuple[str, str], ...]
    #: the payload as sent, transfer coding removed, content coding (gzip…) kept
    body: bytes
    #: the same with the content coding removed; the same object as `body` where there was none
    content: bytes
    #: the request head as sent, for the WARC request record
    request_head: bytes
    #: address of the server (of the proxy where there is one)
    ip: str
    #: seconds since the epoch at which the request began
    started_at: float
    elapsed_s: float
    #: the helper that fetched it; "" where the gatherer did
    helper: str = ""
    #: size and digest of a body that stayed with the helper: `body` and `content` are empty then
    absent: tuple[int, str] | None = None
    #: why the body is not all that the server has: a reason of WARC-Truncated, "" where it is whole
    truncated: str = ""
    #: of a page that a browser has rendered: what it asked for besides, and a picture of it (a data URL, image/webp)
    asked_for: tuple[str, ...] = ()
    picture: str = ""

    @property
    def size_bytes(self) -> int:
        """Size of the body as sent."""
        return self.absent[0] if self.absent else len(self.body)

    def header(self, name: str) -> str | None:
        """The first header of that name (lower case), or None."""
        for key, value in self.headers:
            if key.lower() == name:
                return value
        return None

    def header_values(self, name: str) -> list[str]:
        """All headers of that name (lower case), in order."""
        return [value for key, value in self.headers if key.lower() == name]


#: reasons of WARC-Truncated: the answer is too large; it broke off, or took too long; its coding is damaged or unknown
TOO_LONG, DISCONNECT, TOO_SLOW, UNREADABLE = "length", "disconnect", "time", "unspecified"
#: those that another try may mend
BROKEN_OFF = frozenset({DISCONNECT, TOO_SLOW})


class FailureKind(StrEnum):
    """Why there is no Response. The retry policy reads this; the report counts it."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"  # the server sent what is not HTTP, or hung up in the middle
    TOO_LARGE = "too-large"  # the head, or what is no web page, passes its limit (a page is cut there)
    ENCODING = "encoding"  # of claims by older helpers: the content coding is damaged or unknown
    FORBIDDEN_ADDRESS = "forbidden-address"  # private, loopback or link-local (SSRF guard)
    PROXY = "proxy"
    HELD = "held-reader"  # a process died while it read the answer (see `ports.system.watchdog`)
    NOT_TRIED = "not-tried"  # by the helper that was asked to: the gatherer asks the server itself


#: failures that another try would only repeat
FINAL = frozenset({FailureKind.TOO_LARGE, FailureKind.FORBIDDEN_ADDRESS, FailureKind.ENCODING})


class Failure(msgspec.Struct, frozen=True):
    """A request without an HTTP answer."""

    request: Request
    kind: FailureKind
    message: str
    started_at: float
    elapsed_s: float


Result = Response | Failure


#: the most that a helper may claim of a page: characters of a URL, of a line and of the text; links
URL_LENGTH, LINE_LENGTH, TEXT_LENGTH, MOST_LINKS = 16_384, 4_096, 1 << 20, 50_000
THUMBNAIL_LENGTH = 128 << 10
MOST_KEYWORDS = 100

WrittenUrl = Annotated[str, Meta(max_length=URL_LENGTH)]
Line = Annotated[str, Meta(max_length=LINE_LENGTH)]


class Document(msgspec.Struct, frozen=True):
    """What a page says, as written: made by the summariser of its format, or told by a helper (`core.helpers.claims`).

    Links are relative or absolute, with entities resolved; `core.url.join.facts_of` makes them canonical. The bounds
    are checked where a document is decoded.
    """

    #: hrefs to follow, in document order, duplicates kept; rel=nofollow ones are left out
    hrefs: Annotated[list[WrittenUrl], Meta(max_length=MOST_LINKS)] = []
    #: base for the hrefs where the document names one (<base href>)
    base: WrittenUrl | None = None
    #: where the page sends its reader (meta refresh)
    refresh: WrittenUrl | None = None
    #: rel=canonical
    canonical: WrittenUrl | None = None
    #: robots directives of the document itself (meta robots)
    noindex: bool = False
    nofollow: bool = False
    title: Line = ""
    description: Line = ""
    language: Annotated[str, Meta(pattern="^([a-z]{2,3})?$")] = ""
    #: main text; empty where the depth of the summary is `links`
    text: Annotated[str, Meta(max_length=TEXT_LENGTH)] = ""
    #: 64-bit near-duplicate signature of the text; 0 where there is none
    simhash: int = 0
    #: a list of links made for crawlers (a sitemap), and no page
    source: bool = False
    #: without its scripts the page says nothing
    shell: bool = False
    #: of an image, where the settings ask for one: a data URL (image/webp)
    thumbnail: Annotated[str, Meta(max_length=THUMBNAIL_LENGTH)] = ""
    #: the main text as Markdown (GitHub's), with its headings, lists, tables, code and links
    markdown: Annotated[str, Meta(max_length=TEXT_LENGTH)] = ""
    #: the text went on, beyond the limit of the settings
    text_cut: bool = False
    #: what the page says of itself: Open Graph, JSON-LD, microdata, <meta>
    author: Line = ""
    #: ISO 8601, as exact as it is given
    published: Line = ""
    modified: Line = ""
    site_name: Line = ""
    #: "article", "Product"…: of JSON-LD, or og:type
    page_type: Line = ""
    keywords: Annotated[list[Line], Meta(max_length=MOST_KEYWORDS)] = []
    #: text and rel of the hrefs, in their order; empty unless the settings ask for them
    anchors: Annotated[list[Line], Meta(max_length=MOST_LINKS)] = []
    rels: Annotated[list[Line], Meta(max_length=MOST_LINKS)] = []
    #: when the hrefs were changed last, as a sitemap or feed says (`core.page.site_dates`), in their order; or empty
    dates: Annotated[list[Line], Meta(max_length=MOST_LINKS)] = []
    #: AI preferences of its <meta> elements, a line each (`core.page.ai_preferences`)
    stated: Annotated[list[Line], Meta(max_length=MOST_KEYWORDS)] = []


class PageFacts(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a page once it was read. Record, summary tuple and spot check share this definition.

    New facts are added at the end.
    """

    #: where the content belongs: rel=canonical, or the URL itself
    final_url: str = ""
    title: str = ""
    description: str = ""
    language: str = ""
    #: main text
    text: str = ""
    #: 64-bit near-duplicate signature of the text; 0 where there is none
    simhash: int = 0
    #: canonical URLs to follow, in document order
    outlinks: list[str] = []
    #: the page or its server asks not to be indexed: it is followed, but its text is not kept
    noindex: bool = False
    #: no page: a list of links made for crawlers (a sitemap), or what a page needs (a style sheet)
    source: bool = False
    #: without its scripts the page says nothing
    shell: bool = False
    #: of an image: a data URL (image/webp)
    thumbnail: str = ""
    #: the main text as Markdown
    markdown: str = ""
    #: text and Markdown were cut at the limit of the settings
    text_cut: bool = False
    #: what the page says of itself; dates in ISO 8601, as exact as they are given
    author: str = ""
    published: str = ""
    modified: str = ""
    site_name: str = ""
    page_type: str = ""
    keywords: list[str] = []
    #: text and rel of the outlinks, in their order; empty unless the settings ask for them
    anchors: list[str] = []
    rels: list[str] = []
    #: what it needs to look like itself: canonical URLs; of a page that a browser has rendered, what that asked for
    requisites: list[str] = []
    #: when the outlinks were changed last, as a sitemap or feed says; "" where it does not. In their order, or empty
    dates: list[str] = []
    #: AI preferences of its own; a record has them in `usage_raw`
    stated: list[str] = []


#: what a page says beside its links: nothing of it is kept of a page that asks not to be indexed
SAYINGS = {
    **dict.fromkeys(("title", "description", "text", "thumbnail", "markdown"), ""),
    **dict.fromkeys(("author", "published", "modified", "site_name", "page_type"), ""),
    "keywords": [],
}


class PageRecord(PageFacts, frozen=True, array_like=True, kw_only=True):
    """One record of the log, and one row of summaries/*.parquet: a page that counts, or a URL that ended without one.

    A page counts when this record is stored. The frontier can be rebuilt from the log.
    """

    url: str
    parent: str  # BFS parent, "" for a seed
    depth: int
    status: int
    fetched_at: float
    content_type: str = ""
    bytes: int = 0
    digest: str = ""  # "sha1:BASE32" of the payload, as in the WARC
    summary: str = ""  # the description, or the first sentences of the text
    gatherer: str
    helper: str = ""
    etag: str = ""
    last_modified: str = ""
    #: where the WARC record is; "" where there is none
    warc_file: str = ""
    warc_offset: int = 0
    warc_bytes: int = 0
    #: the URL ended without a page (kind of failure, or "" for a page)
    failure: str = ""
    #: number of the session in which it was asked for
    session: int = 1
    #: against the copy of the session before: new, changed, same or gone; "" where there is nothing to compare
    change: str = ""
    #: sessions that have asked for it, and how many of these have found it changed
    visits: int = 1
    changes: int = 0
    #: sessions in a row, up to this one, that found no page
    misses: int = 0
    #: when the copy that it confirms was fetched (microseconds since the epoch), or that it could not disprove, where
    #: the server did not answer; its digest and validators are those of that copy. 0 where it holds its own
    held_at_us: int = 0
    #: what plug-ins have added: a JSON object; "" for nothing
    fields: str = ""
    #: why the answer was cut short (length, disconnect, time, unspecified); "" where it is whole
    truncated: str = ""
    #: AI preferences: "search=y ai-train=n", and all statements as they were made, a line each
    usage: str = ""
    usage_raw: str = ""
    #: 0 for a page; steps from the page that needs it: 1 a style sheet, 2 a font of it. Then `source` is true, too
    requisite: int = 0
    #: of the answer, as sent: "Name: value"
    headers: list[str] = []

    @property
    def is_page(self) -> bool:
        """Whether it is a page: what `pages` in the report counts."""
        return 200 <= self.status < 300 and not self.failure and not self.source


#: the order of a record's fields in the log and in Parquet. Stable: new ones are added at the end
COLUMNS = (
    *("url", "final_url", "parent", "depth", "status", "fetched_at", "content_type", "bytes", "digest", "language"),
    *("title", "summary", "text", "outlinks", "gatherer", "helper", "simhash", "etag", "last_modified"),
    *("warc_file", "warc_offset", "warc_bytes", "noindex", "failure", "source", "session", "change"),
    *("visits", "changes", "misses", "held_at_us", "description", "shell", "fields"),
    *("thumbnail", "truncated", "markdown", "text_cut", "author", "published", "modified", "site_name", "page_type"),
    *("keywords", "anchors", "rels"),
    *("usage", "usage_raw"),
    *("requisite", "requisites", "headers", "dates"),
)

#: facts that have no column: a record has them in another form
NOT_KEPT = frozenset({"stated"})


#: what a record that was written before a column existed has in it
DEFAULTS = {
    field.name: field.default_factory() if callable(field.default_factory) else field.default
    for field in msgspec.structs.fields(PageRecord)
    if not field.required
}


def tells(status: int, failure: str, held_at_us: int) -> bool:
    """Whether a record tells what is at its URL, and not only that an older record still holds."""
    return status != 304 and not (failure and held_at_us)


def requisite_depth(record: PageRecord) -> int:
    """The depth in an entry for what this record needs: a redirect is no step."""
    return needed(record.depth, record.requisite + (not 300 <= record.status < 400))
