"""The libcurl engine: requests in, answers out; and libcurl's error codes in our words.

Invariant: a transfer is in `_busy` exactly while its handle is with the driver; else it is in `_idle`, or dropped.
"""

import asyncio
import os
import time

import pycurl

from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.errors import UsageError
from gcs.ports.fetch import FetchSettings, Sink, one_line, proxy_name
from gcs.ports.fetch.curl_loop import CurlDriver
from gcs.ports.fetch.curl_transfer import CurlTransfer, options
from gcs.ports.fetch.decode import ContentError, decode
from gcs.ports.fetch.head import RequestHead, ResponseHead, conditions

#: the first libcurl that ends a body of unknown length at MAXFILESIZE
_OLDEST_LIBCURL = 0x080400
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


class CurlFetcher:
    """Fetches by libcurl. The contract stands in `gcs.ports.fetch`."""

    def __init__(self, settings: FetchSettings, sink: Sink) -> None:
        self._settings, self._sink = settings, sink
        self._head = RequestHead(settings)
        self._fields = _lines(self._head.fields)
        if settings.proxy is not None:
            self._fields.append(b"Proxy-Connection:")  # without a value: not what libcurl would add, but nothing
        self._guarded = settings.proxy is None and not settings.allow_private
        self._idle: list[CurlTransfer] = []
        self._busy: dict[pycurl.Curl, CurlTransfer] = {}
        self._rejected: set[asyncio.Handle] = set()  # answers on their way to requests that were never sent
        self._patience_s = min(settings.first_byte_timeout_s, settings.slow_s)
        self._driver: CurlDriver | None = None

    @property
    def in_flight(self) -> int:
        return len(self._busy) + len(self._rejected)

    async def open(self) -> None:
        """Raises UsageError where this libcurl or its certificates will not do."""
        version = pycurl.version_info()
        if version[2] < _OLDEST_LIBCURL:
            raise UsageError(
                f"fetch.engine: libcurl {version[1]} is older than 8.4; install a wheel of pycurl, or use aiohttp"
            )
        self._options = options(self._settings, self._fields)
        self._loop = asyncio.get_running_loop()
        self._driver = CurlDriver(self._finished, self._settings.kept_connections)
        self._sweep_every_s = max(0.01, min(1.0, self._patience_s / 4))
        self._next_sweep = self._loop.call_later(self._sweep_every_s, self._sweep)

    def start(self, request: Request) -> None:
        assert self._driver is not None, "open() comes first"
        if refusal := self._head.refusal(request.url):
            return self._answer_later(request, *refusal)
        transfer = self._idle.pop() if self._idle else CurlTransfer(self._options, self._guarded)
        curl = transfer.curl
        curl.setopt(pycurl.URL, request.url)
        if request.etag is not None or request.last_modified is not None:
            curl.setopt(pycurl.HTTPHEADER, self._fields + _lines(conditions(request)))
        transfer.request = request
        transfer.started_at = time.time()
        transfer.begun_s = self._loop.time()
        self._busy[curl] = transfer
        return self._driver.add(curl)

    async def close(self) -> None:
        if self._driver is None:
            return
        driver, self._driver = self._driver, None
        for handle in (self._next_sweep, *self._rejected):
            handle.cancel()
        self._rejected.clear()
        for curl in self._busy:
            driver.remove(curl)
        for transfer in (*self._busy.values(), *self._idle):
            transfer.curl.close()
        self._busy.clear()
        self._idle.clear()
        await driver.close()

    def _sweep(self) -> None:
        """Gives up on servers that take too long."""
        self._next_sweep = self._loop.call_later(self._sweep_every_s, self._sweep)
        now_s = self._loop.time()
        for transfer in list(self._busy.values()):  # in order of their start
            if now_s - transfer.begun_s < self._patience_s:
                break
            if message := transfer.too_slow(now_s, self._settings):
                self._deliver(transfer, self._failure(transfer, FailureKind.TIMEOUT, message))

    def _finished(self, curl: pycurl.Curl, code: int, message: str) -> None:
        """Called by the driver when a transfer is over."""
        transfer = self._busy[curl]
        if code == pycurl.E_OK:
            result = self._result(transfer)
        elif transfer.refused is not None:
            result = self._failure(transfer, FailureKind.FORBIDDEN_ADDRESS, transfer.refused)
        else:
            result = self._failure(transfer, *fault(curl, code, message, self._settings))
        self._deliver(transfer, result)

    def _result(self, transfer: CurlTransfer) -> Result:
        curl = transfer.curl
        body = b"".join(transfer.chunks)
        try:
            head = ResponseHead(transfer.lines)
            content = decode(body, head.coding, self._settings.max_content_bytes) if head.coding else body
        except ContentError as error:
            return self._failure(transfer, error.kind, str(error))
        except ValueError:
            return self._failure(transfer, FailureKind.PROTOCOL, NOT_HTTP)
        return Response(
            transfer.request,
            head.status,
            head.reason,
            head.version,
            head.headers,
            body,
            content,
            self._head.compose(transfer.request, head.version),
            curl.getinfo(pycurl.PRIMARY_IP),
            transfer.started_at,
            curl.getinfo(pycurl.TOTAL_TIME),
        )

    def _failure(self, transfer: CurlTransfer, kind: FailureKind, message: str) -> Failure:
        return Failure(transfer.request, kind, message, transfer.started_at, self._loop.time() - transfer.begun_s)

    def _deliver(self, transfer: CurlTransfer, result: Result) -> None:
        """Makes the handle idle, then calls the sink, which may start the next request on it."""
        assert self._driver is not None
        curl, request = transfer.curl, transfer.request
        del self._busy[curl]
        self._driver.remove(curl)
        if request.etag is not None or request.last_modified is not None:
            curl.setopt(pycurl.HTTPHEADER, self._fields)
        transfer.clear()
        self._idle.append(transfer)
        self._call_sink(result)

    def _answer_later(self, request: Request, kind: FailureKind, message: str) -> None:
        def answer() -> None:
            self._rejected.discard(handle)
            self._call_sink(failure)

        failure = Failure(request, kind, message, time.time(), 0.0)
        handle = self._loop.call_soon(answer)
        self._rejected.add(handle)

    def _call_sink(self, result: Result) -> None:
        try:
            self._sink(result)
        except Exception as error:  # an error in the sink must not keep the other answers of the batch from it
            context = {"message": f"the sink failed on the answer of {result.request.url}", "exception": error}
            self._loop.call_exception_handler(context)


def _lines(fields: tuple[tuple[str, str], ...] | list[tuple[str, str]]) -> list[bytes]:
    return [f"{name}: {value}".encode("latin-1") for name, value in fields]


# -- errors


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
