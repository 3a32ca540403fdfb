"""The fetch port: one HTTP GET in, one Response or Failure out. Engines: `curl_engine`, `aio_engine`, `browser`
(Chromium), and in front of them `sources`, for what is no web server.

An engine is made with its settings and a sink. It calls the sink in the event-loop thread, exactly once
for every started request, never from inside `start`, and never after `close`. It follows no redirect, keeps no
cookie, reads no environment, and asks a second time only where the server closed the connection without an answer:
what a redirect or a failure means is for the gatherer to say. How many requests run at once is the caller's choice
too: an engine starts what it is given.

Must not: raise for anything that a server does.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import urlsplit

from gcs.core.page.values import Request, Result
from gcs.core.url.sources import SPELLING, source_url
from gcs.errors import SettingsError
from gcs.events import tame

Sink = Callable[[Result], None]

#: a field line: a token, a colon, a value without control characters (which could smuggle a second line)
_FIELD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e]*")
#: names that an engine sets itself: a second one would contradict what it does
_OWN_FIELDS = frozenset(
    (
        *("host", "user-agent", "from", "accept", "accept-encoding", "if-none-match", "if-modified-since", "range"),
        *("connection", "content-length", "transfer-encoding", "te", "upgrade"),
        *("proxy-connection", "proxy-authorization", "signature", "signature-input", "signature-agent"),
    )
)
#: socks5h and not socks5: the proxy resolves the name, so that no address is chosen behind the guard's back
_PROXY = re.compile(r"(?:https?|socks5h)://(?:[^/@\s]+@)?(?:\[[0-9A-Fa-f:.]+\]|[^/:@\s]+)(?::\d+)?/?")
#: a URL that can stand in a string of a structured header
_AGENT = re.compile(r"https?://[!#-\[\]-~]+")
_RESOLVE = re.compile(r"[^:\s]+:\d+:[0-9A-Fa-f.:,\[\]]+")


def is_field(name: object, value: object) -> bool:
    """Whether this can be sent as a header that no engine sets itself."""
    if not isinstance(name, str) or not isinstance(value, str) or name.lower() in _OWN_FIELDS:
        return False
    return _FIELD.fullmatch(f"{name}:{value}") is not None


class Fetcher(Protocol):
    """What every engine does. `open` before the first `start`; `close` once, from any state."""

    @property
    def in_flight(self) -> int:
        """Requests started and not yet answered."""

    async def open(self) -> None: ...

    def start(self, request: Request) -> None:
        """Begins the request and returns at once. The URL is canonical."""

    async def close(self) -> None:
        """Drops what is in flight without an answer, and frees every socket."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How to fetch. The same for every request of an engine."""

    #: which engine fetches: libcurl, or aiohttp (four times the work a page, for where libcurl will not do)
    engine: Literal["curl", "aiohttp"] = "curl"
    #: requests that run at once
    connections: int = 128
    #: User-Agent: who crawls and where to complain; empty: made from the crawl's contact
    user_agent: str = ""
    #: the name under which rules of robots.txt address this crawler
    robots_token: str = "gcs"  # noqa: S105 (a name, not a password)
    #: From: the e-mail address of a person who answers (RFC 9110); empty: not sent
    from_address: str = ""
    #: Accept: what is asked for
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    #: ask for Markdown first, where a site has it (Accept: text/markdown)
    markdown: bool = False
    #: further request headers, each "Name: value"
    headers: tuple[str, ...] = ()
    #: seconds for name resolution, TCP and TLS together
    connect_timeout_s: float = 10.0
    #: seconds from the request sent to the first byte of the answer
    first_byte_timeout_s: float = 20.0
    #: seconds for the whole request
    total_timeout_s: float = 120.0
    #: an answer slower than this (bytes a second), for slow_s seconds, is given up
    slow_bytes_per_s: int = 256
    #: see slow_bytes_per_s
    slow_s: float = 20.0
    #: largest body, as sent
    max_body_bytes: int = 16 << 20
    #: largest body after decompression
    max_content_bytes: int = 64 << 20
    #: bytes of all bodies under way; beyond, those that take more than an even share of it are cut
    bodies_bytes: int = 256 << 20
    #: fetch from private, loopback, link-local… addresses as well
    allow_private: bool = False
    #: http://, https:// or (engine curl) socks5h:// [user:password@]host:port
    proxy: str | None = None
    #: connections kept open for a next request to their host
    kept_connections: int = 512
    #: seconds that a connection is kept without use
    idle_s: float = 60.0
    #: offer HTTP/2 on TLS (engine curl): the requests to a host share one connection; false: HTTP/1.1 alone
    http2: bool = True
    #: seconds that a resolved name is kept
    dns_cache_s: int = 300
    #: names resolved here and not by DNS: "host:port:address[,address…]"
    resolve: tuple[str, ...] = ()
    #: folders, databases and news servers that may be read, with all below them; seeds of these kinds are added
    sources: tuple[str, ...] = ()
    #: certificates to trust instead of the system's (a PEM file)
    ca_file: str | None = None
    #: sign requests (Web Bot Auth) in the name of this place, whose key directory sites can ask; GCS_SIGNATURE_KEY_FILE
    #: names the key. Empty: requests are not signed
    signature_agent: str = ""

    def __post_init__(self) -> None:
        for line in (f"User-Agent: {self.user_agent}", f"From: {self.from_address}", f"Accept: {self.accept}"):
            _check(_FIELD, line, "is not a header value")
        for line in self.headers:
            _check(_FIELD, line, 'is not a header of the form "Name: value"')
            if line.partition(":")[0].lower() in _OWN_FIELDS:
                raise SettingsError(f"fetch: the header {line!r} is set by the engine; take it out of `headers`")
        if self.proxy is not None:
            _check(_PROXY, self.proxy, "is not a proxy (http://, https:// or socks5h:// host:port)")
        if self.signature_agent:
            _check(_AGENT, self.signature_agent, "is not a place with a key directory (https://host)")
        for url in self.sources:
            if source_url(url) != url:
                raise SettingsError(f"fetch: {url!r} is not a source; {SPELLING}")
        for entry in self.resolve:
            _check(_RESOLVE, entry, 'is not of the form "host:port:address"')
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise SettingsError(f"fetch: {name} must be above 0, not {getattr(self, name)}")


class BodyBudget:
    """The memory of all bodies that an engine receives at once.

    While it is exceeded, no body may be larger than an even share of it. So a few strangers who send slowly, and do not
    end, cannot take more than twice the budget, and usual pages come through meanwhile.
    """

    __slots__ = ("_held", "_limit", "_share")

    def __init__(self, settings: FetchSettings) -> None:
        self._held, self._limit = 0, settings.bodies_bytes
        self._share = settings.bodies_bytes // settings.connections

    def take(self, more: int, size_bytes: int) -> bool:
        """So many bytes more were received of a body, which has this size now; False if it must end here."""
        self._held += more
        return self._held <= self._limit or size_bytes <= self._share

    def give_back(self, size_bytes: int) -> None:
        """A body of this size is complete, or dropped."""
        self._held -= size_bytes


_POSITIVE = (
    *("connect_timeout_s", "first_byte_timeout_s", "total_timeout_s", "slow_s", "idle_s"),
    *("max_body_bytes", "max_content_bytes", "bodies_bytes", "connections", "kept_connections"),
)


def _check(pattern: re.Pattern[str], text: str, what: str) -> None:
    if not pattern.fullmatch(text):
        raise SettingsError(f"fetch: {text!r} {what}")


def proxy_name(proxy: str) -> str:
    """Host and port of a proxy, without its password."""
    return urlsplit(proxy).netloc.rpartition("@")[2]


def one_line(message: str) -> str:
    """A foreign message, fit for a line of a log."""
    return tame(" ".join(message.split())[:300])
