"""What went wrong, from libcurl's point of view, in our words: an error code becomes a kind and one line.

The retry policy reads the kind, so it must say whose fault it was: the name, the network, the certificate, the
server's HTTP, or the proxy in between.
"""

import os

import pycurl

from gcs.core.page import FailureKind
from gcs.ports.fetch import FetchSettings, one_line, proxy_name

_NOT_HTTP = "the server sent something that is not HTTP"

#: CURLE_* by number, which never changes (pycurl names only some): the kind, and the words where libcurl's are opaque.
#: A code that is not here counts as a fault of the server's HTTP
_FAULTS: dict[int, tuple[FailureKind, str]] = {
    1: (FailureKind.PROTOCOL, _NOT_HTTP),  # UNSUPPORTED_PROTOCOL: HTTP/0.9
    5: (FailureKind.PROXY, ""),  # COULDNT_RESOLVE_PROXY
    6: (FailureKind.DNS, "the host name does not resolve"),  # COULDNT_RESOLVE_HOST
    7: (FailureKind.CONNECT, ""),  # COULDNT_CONNECT
    8: (FailureKind.PROTOCOL, _NOT_HTTP),  # WEIRD_SERVER_REPLY
    18: (FailureKind.PROTOCOL, "the server closed the connection in the middle of its answer"),  # PARTIAL_FILE
    35: (FailureKind.TLS, ""),  # SSL_CONNECT_ERROR
    52: (FailureKind.PROTOCOL, "the server closed the connection without an answer"),  # GOT_NOTHING
    59: (FailureKind.TLS, ""),  # SSL_CIPHER
    60: (FailureKind.TLS, ""),  # PEER_FAILED_VERIFICATION
    77: (FailureKind.TLS, ""),  # SSL_CACERT_BADFILE
    83: (FailureKind.TLS, ""),  # SSL_ISSUER_ERROR
    91: (FailureKind.TLS, ""),  # SSL_INVALIDCERTSTATUS
    97: (FailureKind.PROXY, ""),  # PROXY
}


def fault(curl: pycurl.Curl, code: int, message: str, settings: FetchSettings) -> tuple[FailureKind, str]:
    """The kind and the line for a transfer that libcurl ended with this code and message."""
    connected = curl.getinfo(pycurl.PRETRANSFER_TIME) > 0
    tunnelled = curl.getinfo(pycurl.HTTP_CONNECTCODE) == 200
    if settings.proxy is not None and not connected and not tunnelled:
        return (
            FailureKind.PROXY,
            f"the proxy {proxy_name(settings.proxy)} does not serve: {_proxy_words(curl, code, message)}",
        )
    if code == pycurl.E_OPERATION_TIMEDOUT:
        if connected:
            return FailureKind.TIMEOUT, f"the answer was not complete after {settings.total_timeout_s:g} s"
        step = "connection" if curl.getinfo(pycurl.NAMELOOKUP_TIME) else "address for the host name"
        return FailureKind.TIMEOUT, f"no {step} within {settings.connect_timeout_s:g} s"
    if code == pycurl.E_FILESIZE_EXCEEDED:
        return FailureKind.TOO_LARGE, f"the body is larger than {settings.max_body_bytes:,} bytes"
    if "too large response headers" in message.lower() or "too many response headers" in message.lower():
        return FailureKind.TOO_LARGE, f"the headers of the answer never end ({message})"
    errno = curl.getinfo(pycurl.OS_ERRNO)
    if code == pycurl.E_COULDNT_CONNECT and errno:
        return FailureKind.CONNECT, f"no connection: {os.strerror(errno).lower()}"
    kind, words = _FAULTS.get(code, (FailureKind.PROTOCOL, ""))
    if kind is FailureKind.TLS:
        words = f"no trusted connection: {one_line(message)}"
    return kind, words or one_line(message) or f"libcurl error {code}"


def _proxy_words(curl: pycurl.Curl, code: int, message: str) -> str:
    if status := curl.getinfo(pycurl.HTTP_CONNECTCODE):
        return f"it answered {status}"
    if code == pycurl.E_OPERATION_TIMEDOUT:
        return "no connection in time"
    errno = curl.getinfo(pycurl.OS_ERRNO)
    return os.strerror(errno).lower() if errno else one_line(message)
