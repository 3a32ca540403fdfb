"""The libcurl engine itself: requests in, answers out.

Invariant: a transfer is in `_busy` exactly while its handle is with the driver; else it is in `_idle`, or dropped.
"""

import asyncio
import time

import pycurl

from gcs.core.page import Failure, FailureKind, Request, Response, Result
from gcs.errors import UsageError
from gcs.ports.fetch import FetchSettings, Sink
from gcs.ports.fetch.curl.driver import Driver
from gcs.ports.fetch.curl.fault import NOT_HTTP, fault
from gcs.ports.fetch.curl.transfer import Transfer, options
from gcs.ports.fetch.decode import ContentError, decode
from gcs.ports.fetch.guard import forbidden_host
from gcs.ports.fetch.head import RequestHead, ResponseHead, conditions, reject

#: the first libcurl that ends a body of unknown length at MAXFILESIZE
_OLDEST_LIBCURL = 0x080400


class CurlFetcher:
    """Fetches by libcurl. The contract stands in `gcs.ports.fetch`."""

    def __init__(self, settings: FetchSettings, sink: Sink) -> None:
        self._settings = settings
        self._sink = sink
        self._head = RequestHead(settings)
        self._fields = _lines(self._head.fields)
        if settings.proxy is not None:
            self._fields.append(b"Proxy-Connection:")  # without a value: not what libcurl would add, but nothing
        self._guarded = settings.proxy is None and not settings.allow_private
        self._judge_hosts = settings.proxy is not None and not settings.allow_private
        self._idle: list[Transfer] = []
        self._busy: dict[pycurl.Curl, Transfer] = {}
        self._rejected: set[asyncio.Handle] = set()  # answers on their way to requests that were never sent
        self._patience_s = min(settings.first_byte_timeout_s, settings.slow_s)
        self._driver: Driver | None = None

    @property
    def in_flight(self) -> int:
        """Requests started and not yet answered."""
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
        self._driver = Driver(self._finished, self._settings.kept_connections)
        self._sweep_every_s = max(0.01, min(1.0, self._patience_s / 4))
        self._next_sweep = self._loop.call_later(self._sweep_every_s, self._sweep)

    def start(self, request: Request) -> None:
        """Begins the request and returns at once."""
        assert self._driver is not None, "open() comes first"
        url = request.url
        if wrong := reject(url):
            return self._answer_later(request, FailureKind.PROTOCOL, wrong)
        if self._judge_hosts and (refused := forbidden_host(url.split("/", 3)[2])):
            return self._answer_later(request, FailureKind.FORBIDDEN_ADDRESS, refused)
        transfer = self._idle.pop() if self._idle else Transfer(self._options, self._guarded)
        curl = transfer.curl
        curl.setopt(pycurl.URL, url)
        if request.etag is not None or request.last_modified is not None:
            curl.setopt(pycurl.HTTPHEADER, self._fields + _lines(conditions(request)))
        transfer.request = request
        transfer.started_at = time.time()
        transfer.begun_s = self._loop.time()
        self._busy[curl] = transfer
        return self._driver.add(curl)

    async def close(self) -> None:
        """Drops what is in flight without an answer, and frees every socket."""
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
        """The driver's word that a transfer is over."""
        transfer = self._busy[curl]
        if code == pycurl.E_OK:
            result = self._result(transfer)
        elif transfer.refused is not None:
            result = self._failure(transfer, FailureKind.FORBIDDEN_ADDRESS, transfer.refused)
        else:
            result = self._failure(transfer, *fault(curl, code, message, self._settings))
        self._deliver(transfer, result)

    def _result(self, transfer: Transfer) -> Result:
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

    def _failure(self, transfer: Transfer, kind: FailureKind, message: str) -> Failure:
        return Failure(transfer.request, kind, message, transfer.started_at, self._loop.time() - transfer.begun_s)

    def _deliver(self, transfer: Transfer, result: Result) -> None:
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
        except Exception as error:  # a fault of the asker's must not cost the other answers of the batch theirs
            context = {"message": f"the sink failed on the answer of {result.request.url}", "exception": error}
            self._loop.call_exception_handler(context)


def _lines(fields: tuple[tuple[str, str], ...] | list[tuple[str, str]]) -> list[bytes]:
    return [f"{name}: {value}".encode("latin-1") for name, value in fields]
