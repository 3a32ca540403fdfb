"""The values of the calls about what was gathered. Field names are a contract, as in `view.schemas`."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gcs.ports.catalogue import FoundUrl
from gcs.roles.station.view.schemas import MOST_CHARACTERS

Text = Annotated[str, Meta(max_length=MOST_CHARACTERS)]
#: the file of a crawl that SQLite counts in holds no larger numbers
Number = Annotated[int, Meta(ge=0, le=1 << 40)]


class PagesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which URLs: each filter is an exact value, `text` a part of the URL or of the title."""

    text: Text = ""
    host: Text = ""
    kind: Text = ""
    #: 0 for all
    status: Number = 0
    failure: Text = ""
    type: Text = ""
    language: Text = ""
    change: Text = ""
    session: Number = 0
    order: Literal["newest", "oldest", "url", "largest", "title", "status"] = "newest"
    offset: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class FoundUrls(msgspec.Struct, frozen=True):
    """A part of the URLs that were asked for."""

    total: int
    urls: list[FoundUrl]
    #: whether all records are in the catalogue; otherwise more will be found soon
    complete: bool = True


class FacetCount(msgspec.Struct, frozen=True):
    """How many URLs have a value."""

    value: str
    urls: int


class Facets(msgspec.Struct, frozen=True):
    """The values of each filter, the most frequent first."""

    facets: dict[str, list[FacetCount]]


class OneQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A URL; of several versions, that which held after a session (0: the last)."""

    url: Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS)]
    session: Number = 0


class DiffQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two versions of a URL, by their sessions."""

    url: Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS)]
    older: Number
    newer: Number


class Version(msgspec.Struct, frozen=True):
    """What one session found at a URL."""

    session: int
    at: float
    #: whether it tells what is there, and not only that the version before still holds
    tells: bool = True


class OutLink(msgspec.Struct, frozen=True):
    """A link of a page; what is there, if it was fetched."""

    url: str
    anchor: str = ""
    rel: str = ""
    kind: str = ""
    status: int = 0
    title: str = ""


class OnePage(msgspec.Struct, frozen=True):
    """All that is stored of a URL."""

    url: str
    kind: str
    status: int
    failure: str
    title: str
    description: str
    content_type: str
    language: str
    change: str
    depth: int
    parent: str
    final_url: str
    session: int
    at: float
    bytes: int
    digest: str
    gatherer: str
    helper: str
    truncated: str
    noindex: bool
    shell: bool
    text: str
    text_cut: bool
    markdown: str
    #: further metadata of the page, by name
    metadata: dict[str, str]
    #: of the answer
    headers: list[str]
    links: list[OutLink]
    #: how many links it has; the first are in `links`
    link_count: int
    requisites: list[str]
    versions: list[Version]
    warc_file: str
    warc_offset: int
    warc_bytes: int
    #: a small picture of it, as a data: URL; "" without one
    thumbnail: str = ""


class LinksIn(msgspec.Struct, frozen=True):
    """Pages that link to a URL."""

    pages: list[FoundUrl]
    #: whether all records could be searched in time
    complete: bool


class DiffLine(msgspec.Struct, frozen=True):
    """A line of a difference: "+" added, "-" gone, " " the same, "…" lines that are left out."""

    mark: str
    text: str


class TextDiff(msgspec.Struct, frozen=True):
    """How the text of a page has changed."""

    older: int
    newer: int
    lines: list[DiffLine]
    #: whether only the beginnings of long texts were compared
    cut: bool


class HostsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hosts whose names hold a text."""

    text: Text = ""
    offset: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class FoundHost(msgspec.Struct, frozen=True):
    """A host: what the crawl has of it, and, while the crawl runs, what it waits for."""

    host: str
    pages: int = 0
    failed: int = 0
    redirects: int = 0
    bytes: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    #: URLs that wait for it; -1 if that is not known
    queued: int = -1
    #: answers per second in the last minute
    rate: float = 0.0
    #: seconds between two requests; -1 if that is not known
    delay_s: float = -1.0
    #: why it is slow: where the delay comes from
    why: str = ""
    wait_s: float = 0.0


class FoundHosts(msgspec.Struct, frozen=True):
    """A part of the hosts that were asked for."""

    total: int
    hosts: list[FoundHost]
    complete: bool = True


class HostQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One host."""

    host: Annotated[str, Meta(min_length=1, max_length=300)]


class RobotsOfOrigin(msgspec.Struct, frozen=True):
    """The robots.txt of an origin as the crawl obeys it."""

    origin: str
    #: its rules for this crawler: "allow: /a", "disallow: /b"
    rules: list[str]
    crawl_delay_s: float | None
    sitemaps: list[str]
    expires_at: float


class OneHost(msgspec.Struct, frozen=True):
    """All that is known of a host."""

    host: FoundHost
    failures: dict[str, int]
    robots: list[RobotsOfOrigin]


class SettingInForce(msgspec.Struct, frozen=True):
    """A setting: what holds, and what would without a word of the user."""

    key: str
    value: str
    default: str
    changed: bool
    help: str


class SettingsInForce(msgspec.Struct, frozen=True):
    """The settings of a crawl, and its seeds."""

    settings: list[SettingInForce]
    seeds: list[str]
    seed_count: int


class LogQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of the log."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 200


class Log(msgspec.Struct, frozen=True):
    """What was stored lately, a line for each URL, the newest first; and the last lines of the crawl's process."""

    urls: list[FoundUrl]
    process: list[str]


class Ticket(msgspec.Struct, frozen=True):
    """A path that opens without a token, for some minutes: of something to be downloaded or looked at."""

    path: str
    name: str


class DownloadWanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be downloaded."""

    what: Literal["wacz", "jsonl", "csv", "links", "warc", "record", "archived", "body"]
    #: the URL of a page (record, archived, body), or the name of a WARC file
    name: Text = ""
    session: Number = 0


class Download(msgspec.Struct, frozen=True):
    """Something that can be downloaded."""

    what: str
    name: str
    bytes: int
    text: str


class DownloadList(msgspec.Struct, frozen=True):
    """What can be downloaded of a crawl."""

    downloads: list[Download]
