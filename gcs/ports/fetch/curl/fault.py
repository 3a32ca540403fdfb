"""What went wrong, from libcurl's point of view, in our words: an error code becomes a kind and one line.

The retry policy reads the kind, so it must say whose fault it was: the name, the network, the certificate, the
server's HTTP, or the proxy in between.
"""

import os

import pycurl

from gcs.core.page import FailureKind
from gcs.ports.fetch import FetchSettings, one_line, proxy_name

_FILESIZE_EXCEEDED = 63
_ENDLESS_HEAD = "the headers of the answer never end"
NOT_HTTP = "the server sent something that is not HTTP"

#: CURLE_* by number, which never changes (pycurl names only some): the kind, and the words where libcurl's are opaque.
#: A code that is not here counts as a fault of the server's HTTP
_FAULTS: dict[int, tuple[FailureKind, str]] = {
    1: (FailureKind.PROTOCOL, NOT_HTTP),  # UNSUPPORTED_PROTOCOL: HTTP/0.9
    5: (FailureKind.PROXY, ""),  # COULDNT_RESOLVE_PROXY
    6: (FailureKind.DNS, "the host name does not resolve"),  # COULDNT_RESOLVE_HOST
    7: (FailureKind.CONNECT, ""),  # COULDNT_CONNECT
    8: (FailureKind.PROTOCOL, NOT_HTTP),  # WEIRD_SERVER_REPLY
    18: (FailureKind.PROTOCOL, "the server closed the connection in the middle of its answer"),  # PARTIAL_FILE
    28: (FailureKind.TIMEOUT, ""),  # OPERATION_TIMEDOUT
    35: (FailureKind.TLS, ""),  # SSL_CONNECT_ERROR
    52: (FailureKind.PROTOCOL, "the server closed the connection without an answer"),  # GOT_NOTHING
    59: (FailureKind.TLS, ""),  # SSL_CIPHER
    60: (FailureKind.TLS, ""),  # PEER_FAILED_VERIFICATION
    _FILESIZE_EXCEEDED: (FailureKind.TOO_LARGE, ""),
    77: (FailureKind.TLS, ""),  # SSL_CACERT_BADFILE
    83: (FailureKind.TLS, ""),  # SSL_ISSUER_ERROR
    91: (FailureKind.TLS, ""),  # SSL_INVALIDCERTSTATUS
    97: (FailureKind.PROXY, ""),  # PROXY
    100: (FailureKind.TOO_LARGE, _ENDLESS_HEAD),  # TOO_LARGE
}


def fault(curl: pycurl.Curl, code: int, message: str, settings: FetchSettings) -> tuple[FailureKind, str]:
    """The kind and the line for a transfer that libcurl ended with this code and message."""
    kind, words = _FAULTS.get(code, (FailureKind.PROTOCOL, ""))
    asked = curl.getinfo(pycurl.REQUEST_SIZE) > 0
    if settings.proxy is not None and _at_proxy(curl, kind, asked, settings.proxy):
        name = proxy_name(settings.proxy)
        return FailureKind.PROXY, f"the proxy {name} does not serve: {_proxy_words(curl, kind, message)}"
    if kind is FailureKind.TIMEOUT:
        if asked:
            return kind, f"the answer was not complete after {settings.total_timeout_s:g} s"
        return kind, f"no connection within {settings.connect_timeout_s:g} s"
    if code == _FILESIZE_EXCEEDED:
        return kind, f"the body is larger than {settings.max_body_bytes:,} bytes"
    if "too large response headers" in message.lower() or "too many response headers" in message.lower():
        return FailureKind.TOO_LARGE, _ENDLESS_HEAD
    if kind is FailureKind.CONNECT and (errno := curl.getinfo(pycurl.OS_ERRNO)):
        words = f"no connection: {os.strerror(errno).lower()}"
    elif kind is FailureKind.TLS:
        words = f"no trusted connection: {one_line(message)}"
    return kind, words or one_line(message) or f"libcurl error {code}"


def _at_proxy(curl: pycurl.Curl, kind: FailureKind, asked: bool, proxy: str) -> bool:
    """Whether the way to the proxy, or the proxy itself, is at fault, and not the server behind it."""
    tunnel_status = curl.getinfo(pycurl.HTTP_CONNECTCODE)
    if kind is FailureKind.PROXY or tunnel_status:
        return bool(tunnel_status != 200)
    if kind is FailureKind.TLS:
        return proxy.startswith("https:")
    tunnel = proxy.startswith("http") and curl.getinfo(pycurl.EFFECTIVE_URL).startswith("https:")
    return tunnel or not asked


def _proxy_words(curl: pycurl.Curl, kind: FailureKind, message: str) -> str:
    if status := curl.getinfo(pycurl.HTTP_CONNECTCODE):
        return f"it answered {status}"
    if kind is FailureKind.TIMEOUT:
        return "no connection in time"
    errno = curl.getinfo(pycurl.OS_ERRNO)
    return os.strerror(errno).lower() if errno else one_line(message)
