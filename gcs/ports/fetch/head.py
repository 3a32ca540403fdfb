"""Message heads: the request line and headers that an engine sends, and the status line and headers it gets.

Both engines send exactly what `RequestHead` composes (a test holds it against what a server received), so that the
WARC can keep the request without an engine's help.

Text of heads is Latin-1, one character a byte: nothing is lost, nothing fails.
"""

import re

from gcs.core.page.values import FailureKind, Request
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.decode import ACCEPT_ENCODING
from gcs.ports.fetch.guard import forbidden_host

#: what a validator from an earlier answer may hold; anything else is not sent back (it could smuggle a header)
_VALIDATOR = re.compile(r"[\x20-\x7e]+")


class RequestHead:
    """Composes the heads of one engine's requests."""

    def __init__(self, settings: FetchSettings) -> None:
        fields = [
            ("User-Agent", settings.user_agent),
            ("Accept", settings.accept),
            ("Accept-Encoding", ACCEPT_ENCODING),
            ("From", settings.from_address),
            *((name, value.strip()) for name, _, value in (line.partition(":") for line in settings.headers)),
        ]
        #: what follows Host in every request, in this order
        self.fields: tuple[tuple[str, str], ...] = tuple((name, value) for name, value in fields if value)
        self._common = "".join(f"{name}: {value}\r\n" for name, value in self.fields)
        self._judges_hosts = settings.proxy is not None and not settings.allow_private
        # an HTTP proxy is asked for the whole URL; inside a tunnel (https) or through SOCKS, the server for the path
        self._absolute = settings.proxy is not None and settings.proxy.startswith("http")

    def refusal(self, url: str) -> tuple[FailureKind, str] | None:
        """Why a URL is not asked for: it is not canonical, or names a host that the guard forbids to a proxy."""
        if wrong := reject(url):
            return FailureKind.PROTOCOL, wrong
        if self._judges_hosts and (reason := forbidden_host(url.split("/", 3)[2])):
            return FailureKind.FORBIDDEN_ADDRESS, reason
        return None

    def compose(self, request: Request, version: str = "1.1") -> bytes:
        """The head as sent. A proxy's password is not part of it."""
        url = request.url
        scheme, _, rest = url.partition("://")
        authority, _, path = rest.partition("/")
        target = url if self._absolute and scheme == "http" else f"/{path}"
        head = f"GET {target} HTTP/{version}\r\nHost: {authority}\r\n{self._common}"
        if request.etag is not None or request.last_modified is not None:
            head += "".join(f"{name}: {value}\r\n" for name, value in conditions(request))
        return f"{head}\r\n".encode("latin-1")


def conditions(request: Request) -> list[tuple[str, str]]:
    """The headers that make a request conditional: the server may answer 304 to it."""
    validators = (("If-None-Match", request.etag), ("If-Modified-Since", request.last_modified))
    return [(name, value) for name, value in validators if value and _VALIDATOR.fullmatch(value)]


def reject(url: str) -> str | None:
    """Why this URL cannot be asked for as it stands; None for every canonical http(s) URL without credentials."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    if scheme not in ("http", "https"):
        return f"the scheme {scheme[:20]!r} is not fetched"
    if "@" in authority:
        return "a URL with a user name is not fetched"
    if not authority or "/" not in rest or not url.isascii() or not url.isprintable() or " " in url or "#" in url:
        return "the URL is not in canonical form"
    return None


class ResponseHead:
    """The parts of a status line and its headers. `coding` is the Content-Encoding ("" where there is none)."""

    __slots__ = ("coding", "headers", "reason", "status", "version")

    def __init__(self, lines: list[bytes]) -> None:
        """From the lines as libcurl hands them over: interim heads first, trailers perhaps after the empty line.

        ValueError: there is no status line.
        """
        text = b"".join(lines).decode("latin-1").replace("\r\n", "\n")
        while True:
            head, _, rest = text.partition("\n\n")
            status_line, *fields = head.split("\n")
            version, _, status = status_line.partition(" ")
            code, _, reason = status.partition(" ")
            if code[:1] != "1" or not rest.startswith("HTTP/"):
                break
            text = rest
        self.version = version[5:]
        self.status = int(code)
        self.reason = reason.strip()
        self.coding = ""
        headers = []
        for field in fields:
            name, colon, value = field.partition(":")
            if colon:
                value = value.strip()
                headers.append((name, value))
                if len(name) == 16 and name.lower() == "content-encoding":
                    self.coding = f"{self.coding},{value}" if self.coding else value
        self.headers = tuple(headers)
