"""A transfer: one libcurl handle, used for request after request, and what has come of the present one so far.

The options that are the same for all requests are set once; a request sets its URL and, if it is conditional,
its headers. Heads and bodies are gathered by `list.append` itself, so that no Python code runs per chunk: their
sizes are bounded by libcurl (MAXFILESIZE for bodies, its own limits for heads).
"""

import socket
import ssl
from pathlib import Path

import pycurl

from gcs.core.page.values import Request
from gcs.errors import UsageError
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.guard import forbidden

_BUFFER_BYTES = 128 << 10
# options of libcurl that pycurl has no name for
_SUPPRESS_CONNECT_HEADERS = 265
_DISALLOW_USERNAME_IN_URL = 278
_QUICK_EXIT = 322  # closing must not wait for a name server that does not answer

Options = list[tuple[int, object]]


class _LentSocket(socket.socket):
    """libcurl works on a copy of the descriptor; this one goes as soon as the copy is made."""

    def __del__(self) -> None:
        self.close()


class CurlTransfer:
    """One libcurl handle. Idle, then busy with a request, then cleared and idle again."""

    __slots__ = ("begun_s", "chunks", "curl", "lines", "refused", "request", "sent", "slow_mark", "started_at")

    def __init__(self, options: Options, guarded: bool) -> None:
        #: of the head; filled by libcurl; emptied by `clear`
        self.lines: list[bytes] = []
        #: of the body; the same
        self.chunks: list[bytes] = []
        #: why the guard refused an address
        self.refused: str | None = None
        #: the request went out; libcurl would send it again at once where the server closes a kept connection
        self.sent = False
        self.request: Request
        #: seconds since the epoch
        self.started_at = 0.0
        #: by the clock of the event loop
        self.begun_s = 0.0
        #: when `too_slow` last looked, and the bytes there were
        self.slow_mark: tuple[float, int] | None = None
        self.curl = curl = pycurl.Curl()
        for option, value in options:
            curl.setopt(option, value)
        curl.setopt(pycurl.HEADERFUNCTION, self.lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, self.chunks.append)
        curl.setopt(pycurl.PREREQFUNCTION, self._before_send)
        if guarded:
            curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)

    def clear(self) -> None:
        """Forgets the request: what its tag refers to must not be kept alive from here."""
        self.lines.clear()
        self.chunks.clear()
        self.refused = self.slow_mark = None
        self.sent = False
        del self.request

    def too_slow(self, now_s: float, settings: FetchSettings) -> str | None:
        """What the server takes too long for, in the two ways that libcurl has no timeout for."""
        if not self.lines:
            sent_s = self.curl.getinfo(pycurl.PRETRANSFER_TIME)  # 0 until there is a connection
            if sent_s and now_s - self.begun_s - sent_s > settings.first_byte_timeout_s:
                return f"no answer within {settings.first_byte_timeout_s:g} s"
            return None
        size_bytes = self.curl.getinfo(pycurl.SIZE_DOWNLOAD_T)
        if self.slow_mark is None:
            self.slow_mark = (now_s, size_bytes)
        since_s = now_s - self.slow_mark[0]
        if since_s >= settings.slow_s:
            if size_bytes - self.slow_mark[1] < settings.slow_bytes_per_s * since_s:
                return f"slower than {settings.slow_bytes_per_s} bytes a second for {settings.slow_s:g} s"
            self.slow_mark = (now_s, size_bytes)
        return None

    def _before_send(self, *_: object) -> int:
        """Libcurl's callback before the request is sent; to send it a second time at once may not be polite."""
        verdict: int = pycurl.PREREQFUNC_ABORT if self.sent and self.request.once else pycurl.PREREQFUNC_OK
        self.sent = True
        return verdict

    def _open_socket(self, purpose: int, address: tuple[int, int, int, tuple[str, int]]) -> socket.socket | int:
        """Libcurl's callback before a connection: the guard's say about the very address that is connected."""
        del purpose
        family, kind, protocol, name = address
        if refused := forbidden(name[0]):
            self.refused = refused
            bad: int = pycurl.SOCKET_BAD
            return bad
        return _LentSocket(family, kind, protocol)


def options(settings: FetchSettings, fields: list[bytes]) -> Options:
    """What is set once on every handle."""
    web = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS
    certificates = settings.ca_file or _system_certificates()
    if not Path(certificates).is_file():
        raise UsageError(f"fetch.ca_file: {certificates} is not a file; name a PEM file with the certificates to trust")
    return [
        (pycurl.NOSIGNAL, 1),
        (pycurl.PROTOCOLS, web),
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.PATH_AS_IS, 1),
        (_DISALLOW_USERNAME_IN_URL, 1),
        (pycurl.HTTP09_ALLOWED, 0),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS if settings.http2 else pycurl.CURL_HTTP_VERSION_1_1),
        (pycurl.HTTPHEADER, fields),
        (pycurl.HTTP_CONTENT_DECODING, 0),
        (pycurl.CONNECTTIMEOUT_MS, int(settings.connect_timeout_s * 1000)),
        (pycurl.TIMEOUT_MS, int(settings.total_timeout_s * 1000)),
        (pycurl.MAXFILESIZE_LARGE, settings.max_body_bytes),
        (pycurl.BUFFERSIZE, _BUFFER_BYTES),
        (pycurl.TCP_NODELAY, 1),
        (pycurl.MAXAGE_CONN, max(1, int(settings.idle_s))),
        (pycurl.DNS_CACHE_TIMEOUT, settings.dns_cache_s),
        (pycurl.RESOLVE, list(settings.resolve)),
        (_QUICK_EXIT, 1),
        (pycurl.CAINFO, certificates),
        (pycurl.PROXY_CAINFO, certificates),
        (pycurl.PROXY, settings.proxy or ""),  # "": not even one from the environment
        (pycurl.NOPROXY, ""),
        (_SUPPRESS_CONNECT_HEADERS, 1),
    ]


def _system_certificates() -> str:
    if found := ssl.get_default_verify_paths().cafile:
        return found
    try:
        import certifi
    except ImportError:
        raise UsageError(
            "no trusted certificates on this system; install ca-certificates or set fetch.ca_file"
        ) from None
    return certifi.where()
