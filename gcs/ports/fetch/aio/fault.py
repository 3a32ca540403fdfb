"""What went wrong, from aiohttp's point of view, in our words: an exception becomes a kind and one line.

The kinds agree with those of the libcurl engine: one suite of tests asks both.
"""

import os
import ssl

from gcs.core.page import FailureKind
from gcs.ports.fetch import FetchSettings, one_line, proxy_name


def fault(error: Exception, settings: FetchSettings, head_read: bool) -> tuple[FailureKind, str]:
    """The kind and the line for a request that aiohttp ended with this exception, before or after its head came."""
    import aiohttp

    if settings.proxy is not None and isinstance(error, _proxy_errors()):
        return FailureKind.PROXY, f"the proxy {proxy_name(settings.proxy)} does not serve: {_proxy_words(error)}"
    match error:
        case aiohttp.ConnectionTimeoutError():
            return FailureKind.TIMEOUT, f"no connection within {settings.connect_timeout_s:g} s"
        case aiohttp.SocketTimeoutError() if head_read:
            return FailureKind.TIMEOUT, too_slow(settings)
        case aiohttp.SocketTimeoutError():
            return FailureKind.TIMEOUT, f"no answer within {settings.first_byte_timeout_s:g} s"
        case TimeoutError():
            return FailureKind.TIMEOUT, f"the answer was not complete after {settings.total_timeout_s:g} s"
        case aiohttp.ClientConnectorDNSError() | UnicodeError():  # a label that no name may have
            return FailureKind.DNS, "the host name does not resolve"
        case aiohttp.ClientSSLError() | ssl.SSLError() | ssl.CertificateError():
            return FailureKind.TLS, f"no trusted connection: {one_line(str(error))}"
        case aiohttp.ClientConnectorError():
            return FailureKind.CONNECT, f"no connection: {_os_words(error.os_error)}"
        case aiohttp.ClientPayloadError():
            return FailureKind.PROTOCOL, "the server closed the connection in the middle of its answer"
        case aiohttp.ServerDisconnectedError() | ConnectionError():
            return FailureKind.PROTOCOL, "the server closed the connection without an answer"
        case aiohttp.ClientResponseError():
            return _not_http(error)
        case _:
            return FailureKind.PROTOCOL, one_line(str(error)) or type(error).__name__


def too_slow(settings: FetchSettings) -> str:
    return f"slower than {settings.slow_bytes_per_s} bytes a second for {settings.slow_s:g} s"


def _not_http(error: Exception) -> tuple[FailureKind, str]:
    from aiohttp.http_exceptions import LineTooLong

    cause = error.__cause__ and error.__cause__.__cause__  # what the parser said, behind what aiohttp made of it
    if isinstance(cause, LineTooLong) or "Too many headers" in str(error):
        return FailureKind.TOO_LARGE, "the headers of the answer never end"
    return FailureKind.PROTOCOL, "the server sent something that is not HTTP"


def _proxy_errors() -> tuple[type[Exception], ...]:
    import aiohttp

    return (
        aiohttp.ClientProxyConnectionError,
        aiohttp.ClientHttpProxyError,
        aiohttp.ClientConnectorDNSError,
        aiohttp.ConnectionTimeoutError,
        UnicodeError,
    )


def _proxy_words(error: Exception) -> str:
    import aiohttp

    match error:
        case aiohttp.ClientHttpProxyError():
            return f"it answered {error.status}"
        case aiohttp.ClientConnectorDNSError() | UnicodeError():
            return "its name does not resolve"
        case aiohttp.ClientConnectorError():
            return _os_words(error.os_error)
        case _:
            return "no connection in time"


def _os_words(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else one_line(str(error))
