"""The libcurl engine: requests in, answers out. One file, in the order of a request's way.

- `CurlFetcher` takes a request and delivers its result.
- `CurlTransfer` is one libcurl handle, used for request after request, and what has come of the present one so far.
- `CurlDriver` runs libcurl's multi handle from the event loop. libcurl is called when a socket that it waits for is
  ready (a `SocketWatch` says so), when its timer ends, and right after a handle was added (once for all that were added
  in the same turn of the loop). Whatever it finishes goes back to `CurlFetcher`.
- `fault` puts libcurl's error codes into our words.

The options that are the same for all requests are set once; a request sets its URL and, if it is conditional,
its headers. Heads are gathered by `list.append` itself; libcurl bounds them. Bodies are bounded by us, because libcurl
would not ask for a byte of a body whose length is too large. They are one array: a server may send 16 MB in chunks of
one byte, and a list of these would take a gigabyte. An answer that breaks off is delivered as far as it came. Answers
that come at once and unfold to much are delivered a few at a time: some kilobytes from each of a hundred servers could
be gigabytes.

Invariants: a transfer is in `_busy` exactly while its handle is with the driver; then in `_ripe` until its answer is
delivered; else it is in `_idle`, or dropped.
libcurl is never called from inside one of its own callbacks; they only take note.
"""

import asyncio
import os
import select
import socket
import ssl
import sys
import threading
import time
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pycurl

from gcs.core.page.values import DISCONNECT, TOO_LONG, TOO_SLOW, Failure, FailureKind, Request, Response, Result
from gcs.errors import UsageError
from gcs.ports.fetch import BodyBudget, FetchSettings, Sink, one_line, proxy_name
from gcs.ports.fetch.guard import forbidden
from gcs.ports.fetch.http_message import NOT_HTTP, RequestHead, ResponseHead, has_own_headers, own_headers, readable

#: the oldest libcurl that the tests have seen
_OLDEST_LIBCURL = 0x080400
_BUFFER_BYTES = 128 << 10
# options of libcurl that pycurl has no name for
_SUPPRESS_CONNECT_HEADERS = 265
_DISALLOW_USERNAME_IN_URL = 278
_QUICK_EXIT = 322  # closing must not wait for a name server that does not answer
#: what libcurl waits for: bits of CURL_POLL_*
WAIT_READ, WAIT_WRITE, WAIT_OVER = 1, 2, 4
#: what we tell it has happened: bits of CURL_CSELECT_*
READABLE, WRITABLE, BROKEN = 1, 2, 4
#: how long closing waits for names that are being resolved
_CLOSE_S = 1.0
_ENDLESS_HEAD = "the headers of the answer never end"

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
    77: (FailureKind.TLS, ""),  # SSL_CACERT_BADFILE
    83: (FailureKind.TLS, ""),  # SSL_ISSUER_ERROR
    91: (FailureKind.TLS, ""),  # SSL_INVALIDCERTSTATUS
    97: (FailureKind.PROXY, ""),  # PROXY
    100: (FailureKind.TOO_LARGE, _ENDLESS_HEAD),  # TOO_LARGE
}

#: our own code, for what libcurl has no timeout for
_TOO_SLOW = -1
#: bytes to which bodies may unfold before the answers that came at once are taken in
_UNFOLDED_BYTES = 32 << 20

#: libcurl's options with their values
Options = list[tuple[int, object]]
#: sockets and what happened to them
Events = list[tuple[int, int]]
#: a handle that is done, and libcurl's error (0 for none) with its message
Finished = Callable[[pycurl.Curl, int, str], None]
#: a transfer that is over, with libcurl's error and message
_Ripe = tuple["CurlTransfer", int, str]


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
        self._bodies = BodyBudget(settings)
        self._ripe: deque[_Ripe] = deque()  # filled by _finished; emptied by _deliver_ripe
        self._ripening: asyncio.Handle | None = None  # set while the rest has to wait
        self._unfolded_bytes = 0
        self._patience_s = min(settings.first_byte_timeout_s, settings.slow_s)
        self._driver: CurlDriver | None = None

    @property
    def in_flight(self) -> int:
        return len(self._busy) + len(self._ripe) + len(self._rejected)

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
        transfer = self._idle.pop() if self._idle else self._new_transfer()
        curl = transfer.curl
        curl.setopt(pycurl.URL, request.url)
        if self._settings.http2:
            # rather one more stream than one more connection; without TLS, libcurl would wait for nothing
            curl.setopt(pycurl.PIPEWAIT, request.url.startswith("https:"))
        if has_own_headers(request):
            curl.setopt(pycurl.HTTPHEADER, self._fields + _lines(own_headers(request)))
        transfer.request = request
        transfer.started_at = time.time()
        transfer.begun_s = self._loop.time()
        self._busy[curl] = transfer
        return self._driver.add(curl)

    def _new_transfer(self) -> "CurlTransfer":
        return CurlTransfer(self._options, self._guarded, self._settings.max_body_bytes, self._bodies)

    def _finished(self, curl: pycurl.Curl, code: int, message: str) -> None:
        """Called by the driver when a transfer is over, and where we give one up."""
        self._ripe.append((self._release(curl), code, message))
        if self._ripening is None:
            self._deliver_ripe()

    def _deliver_ripe(self) -> None:
        """Deliver what is finished; once much has been unfolded, the rest when the loop comes round."""
        self._ripening = None
        while self._ripe and self._ripening is None and self._driver is not None:
            result = self._judged(*self._ripe.popleft())
            if isinstance(result, Response):
                self._unfolded_bytes += len(result.content) - len(result.body)
            self._call_sink(result)
            if self._unfolded_bytes > _UNFOLDED_BYTES:  # after the turn that the sink has asked for
                self._unfolded_bytes = 0
                self._ripening = self._loop.call_soon(self._deliver_ripe)

    def _judged(self, transfer: "CurlTransfer", code: int, message: str) -> Result:
        """What came of a transfer that is over; makes it idle."""
        if code == pycurl.E_OK:
            result = self._result(transfer)
        elif transfer.refused is not None:
            result = self._failure(transfer, FailureKind.FORBIDDEN_ADDRESS, transfer.refused)
        elif code == _TOO_SLOW:
            result = self._cut(transfer, FailureKind.TIMEOUT, message)
        else:
            result = self._cut(transfer, *fault(transfer.curl, code, message, self._settings))
        if has_own_headers(transfer.request):
            transfer.curl.setopt(pycurl.HTTPHEADER, self._fields)
        transfer.clear()
        self._idle.append(transfer)
        return result

    def _cut(self, transfer: "CurlTransfer", kind: FailureKind, message: str) -> Result:
        """What came before the fault, or a failure where no byte of the body did."""
        if not transfer.body:
            return self._failure(transfer, kind, message)
        if transfer.room_bytes < 0:
            return self._result(transfer, TOO_LONG)
        return self._result(transfer, TOO_SLOW if kind is FailureKind.TIMEOUT else DISCONNECT)

    def _result(self, transfer: "CurlTransfer", truncated: str = "") -> Result:
        curl = transfer.curl
        body = bytes(transfer.body)
        try:
            head = ResponseHead(transfer.lines)
        except ValueError:
            return self._failure(transfer, FailureKind.PROTOCOL, NOT_HTTP)
        content = body
        if head.coding:
            content, why = readable(body, head.coding, self._settings.max_content_bytes)
            truncated = truncated or why
        return Response(
            transfer.request,
            head.status,
            head.reason,
            head.version,
            head.headers,
            body,
            content,
            self._head.compose(transfer.request),
            curl.getinfo(pycurl.PRIMARY_IP),
            transfer.started_at,
            curl.getinfo(pycurl.TOTAL_TIME),
            truncated=truncated,
        )

    def _failure(self, transfer: "CurlTransfer", kind: FailureKind, message: str) -> Failure:
        return Failure(transfer.request, kind, message, transfer.started_at, self._loop.time() - transfer.begun_s)

    def _release(self, curl: pycurl.Curl) -> "CurlTransfer":
        assert self._driver is not None
        self._driver.remove(curl)
        return self._busy.pop(curl)

    def _call_sink(self, result: Result) -> None:
        try:
            self._sink(result)
        except Exception as error:  # an error in the sink must not keep the other answers of the batch from it
            context = {"message": f"the sink failed on the answer of {result.request.url}", "exception": error}
            self._loop.call_exception_handler(context)

    def _answer_later(self, request: Request, kind: FailureKind, message: str) -> None:
        def answer() -> None:
            self._rejected.discard(handle)
            self._call_sink(failure)

        failure = Failure(request, kind, message, time.time(), 0.0)
        handle = self._loop.call_soon(answer)
        self._rejected.add(handle)

    def _sweep(self) -> None:
        """Gives up on servers that take too long."""
        self._next_sweep = self._loop.call_later(self._sweep_every_s, self._sweep)
        now_s = self._loop.time()
        for transfer in list(self._busy.values()):  # in order of their start
            if now_s - transfer.begun_s < self._patience_s:
                break
            if message := transfer.too_slow(now_s, self._settings):
                self._finished(transfer.curl, _TOO_SLOW, message)

    async def close(self) -> None:
        if self._driver is None:
            return
        driver, self._driver = self._driver, None
        for handle in (self._next_sweep, self._ripening, *self._rejected):
            if handle is not None:
                handle.cancel()
        self._rejected.clear()
        for curl in self._busy:
            driver.remove(curl)
        for transfer in (*self._busy.values(), *(transfer for transfer, _, _ in self._ripe), *self._idle):
            transfer.curl.close()
        self._busy.clear()
        self._ripe.clear()
        self._idle.clear()
        await driver.close()


def _lines(fields: tuple[tuple[str, str], ...] | list[tuple[str, str]]) -> list[bytes]:
    return [f"{name}: {value}".encode("latin-1") for name, value in fields]


# -- transfers


class CurlTransfer:
    """One libcurl handle. Idle, then busy with a request, then cleared and idle again."""

    __slots__ = (
        *("begun_s", "bodies", "body", "curl", "lines", "max_body_bytes", "refused", "request", "room_bytes", "sent"),
        *("slow_mark", "started_at"),
    )

    def __init__(self, options: Options, guarded: bool, max_body_bytes: int, bodies: BodyBudget) -> None:
        self.bodies = bodies
        #: lines of the head; filled by libcurl; emptied by `clear`
        self.lines: list[bytes] = []
        #: the body as it comes; filled by `_take`; emptied by `clear`
        self.body = bytearray()
        #: bytes that may still come; below 0 where the body was cut
        self.max_body_bytes = self.room_bytes = max_body_bytes
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
        curl.setopt(pycurl.WRITEFUNCTION, self._take)
        curl.setopt(pycurl.PREREQFUNCTION, self._before_send)
        if guarded:
            curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)

    def clear(self) -> None:
        """Forgets the request: what its tag refers to must not be kept alive from here."""
        self.lines.clear()
        self.bodies.give_back(len(self.body))
        self.body.clear()
        self.refused = self.slow_mark = None
        self.sent = False
        self.room_bytes = self.max_body_bytes
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

    def _take(self, chunk: bytes) -> int | None:
        """Libcurl's callback with a part of the body; anything but None ends the transfer."""
        room = self.room_bytes
        self.room_bytes = room - len(chunk)
        self.body += chunk if self.room_bytes >= 0 else chunk[:room]
        if not self.bodies.take(min(len(chunk), room), len(self.body)):
            self.room_bytes = -1
        return None if self.room_bytes >= 0 else 0

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


class _LentSocket(socket.socket):
    """libcurl works on a copy of the descriptor; this one goes as soon as the copy is made."""

    def __del__(self) -> None:
        self.close()


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


# -- driver


class CurlDriver:
    """Owns the multi handle. Must be made inside a running event loop."""

    def __init__(self, finished: Finished, kept_connections: int) -> None:
        self._finished = finished
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._handles = 0  # in the multi handle
        self._deadline_s: float | None = None  # when libcurl wants to be called
        self._alarm: asyncio.TimerHandle | None = None  # rings at the deadline or before …
        self._alarm_s = 0.0  # … at this time: uvloop's handle does not always know
        self._kick: asyncio.Handle | None = None  # set while libcurl wants to be called at once
        self._multi = pycurl.CurlMulti()
        self._watch: SocketWatch = watch(self._loop, self._act)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch.changed)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._schedule)
        self._multi.setopt(pycurl.M_MAXCONNECTS, kept_connections)

    def add(self, curl: pycurl.Curl) -> None:
        self._handles += 1
        self._multi.add_handle(curl)

    def remove(self, curl: pycurl.Curl) -> None:
        """Ends a transfer, whether it is finished or not."""
        self._handles -= 1
        self._multi.remove_handle(curl)

    async def close(self) -> None:
        """Closes every connection. All handles must have been removed."""
        self._closed = True
        for handle in (self._alarm, self._kick):
            if handle is not None:
                handle.cancel()
        self._watch.close()
        # libcurl waits here for its threads that resolve names, and a name server may take long to give up:
        # then they are left to themselves (CURLMOPT_QUICK_EXIT would say so, but pycurl cannot set it)
        closing = threading.Thread(target=self._multi.close, name="close libcurl", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, _CLOSE_S)

    def _schedule(self, delay_ms: int) -> None:
        """Libcurl's timer callback: it wants to be called after so long; -1: not at all."""
        if self._closed:
            return
        if delay_ms == 0:
            if self._kick is None:
                self._kick = self._loop.call_soon(self._time_out)
        elif delay_ms < 0:
            self._deadline_s = None
        else:
            self._deadline_s = self._loop.time() + delay_ms / 1000
            # the deadline moves with every request: an alarm that rings too early is cheaper than a new one
            if self._alarm is None or self._alarm_s > self._deadline_s:
                self._set_alarm(self._deadline_s)

    def _set_alarm(self, deadline_s: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_s = self._loop.call_at(deadline_s, self._ring), deadline_s

    def _ring(self) -> None:
        self._alarm = None
        if self._deadline_s is None:
            return
        if self._loop.time() < self._deadline_s:
            self._set_alarm(self._deadline_s)
        else:
            self._time_out()

    def _time_out(self) -> None:
        self._kick = None
        self._deadline_s = None  # libcurl sets the next one from inside this call
        self._act([(pycurl.SOCKET_TIMEOUT, 0)])

    def _act(self, events: Events) -> None:
        """Lets libcurl work on what happened, and hands on what it finished."""
        running = self._handles
        for fd, what in events:
            running = self._multi.socket_action(fd, what)[1]
        more = running < self._handles
        while more:
            more, done, failed = self._multi.info_read()
            for curl in done:
                self._finished(curl, 0, "")
            for curl, code, message in failed:
                self._finished(curl, code, message)


class SocketWatch(Protocol):
    """Watches the sockets of one libcurl multi handle."""

    def changed(self, what: int, fd: int, multi: object, data: object) -> None:
        """Libcurl's socket callback."""

    def close(self) -> None:
        """Takes the sockets out of the event loop; what libcurl says from now on, from whatever thread, is ignored."""


if sys.platform == "linux":
    _EPOLL_MASK = {
        WAIT_READ: select.EPOLLIN,
        WAIT_WRITE: select.EPOLLOUT,
        WAIT_READ | WAIT_WRITE: select.EPOLLIN | select.EPOLLOUT,
    }

    def _happened(mask: int) -> int:
        read = READABLE if mask & select.EPOLLIN else 0
        write = WRITABLE if mask & select.EPOLLOUT else 0
        return read | write | (BROKEN if mask & (select.EPOLLERR | select.EPOLLHUP) else 0)

    #: by the low five bits of epoll's mask (in, pri, out, err, hup)
    _HAPPENED = tuple(map(_happened, range(32)))

    class EpollWatch:
        """One epoll set for all sockets; ready ones are handed over in one list."""

        def __init__(self, loop: AbstractEventLoop, ready: Callable[[Events], None]) -> None:
            self._loop, self._ready = loop, ready
            self._epoll = select.epoll()
            self._known: set[int] = set()
            loop.add_reader(self._epoll.fileno(), self._collect)

        def changed(self, what: int, fd: int, multi: object, data: object) -> None:  # noqa: ARG002 (libcurl's signature)
            if self._epoll.closed:
                return
            with suppress(OSError):  # a socket that is closed already has left the set by itself
                if what == WAIT_OVER:
                    self._known.discard(fd)
                    self._epoll.unregister(fd)
                elif fd not in self._known:
                    self._known.add(fd)
                    self._epoll.register(fd, _EPOLL_MASK[what])
                else:
                    try:
                        self._epoll.modify(fd, _EPOLL_MASK[what])
                    except FileNotFoundError:  # another socket by now, with the number of a closed one
                        self._epoll.register(fd, _EPOLL_MASK[what])

        def _collect(self) -> None:
            self._ready([(fd, _HAPPENED[mask & 31]) for fd, mask in self._epoll.poll(0, 256)])

        def close(self) -> None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()


class LoopSocketWatch:
    """Every socket is a reader or a writer of the event loop."""

    def __init__(self, loop: AbstractEventLoop, ready: Callable[[Events], None]) -> None:
        self._loop, self._ready = loop, ready
        self._known: dict[int, int] = {}
        self._closed = False

    def changed(self, what: int, fd: int, multi: object, data: object) -> None:  # noqa: ARG002 (libcurl's signature)
        if self._closed:
            return
        had, has = self._known.pop(fd, 0), what & (WAIT_READ | WAIT_WRITE)
        if has:
            self._known[fd] = has
        if has & WAIT_READ and not had & WAIT_READ:
            self._loop.add_reader(fd, self._ready, [(fd, READABLE)])
        elif had & WAIT_READ and not has & WAIT_READ:
            self._loop.remove_reader(fd)
        if has & WAIT_WRITE and not had & WAIT_WRITE:
            self._loop.add_writer(fd, self._ready, [(fd, WRITABLE)])
        elif had & WAIT_WRITE and not has & WAIT_WRITE:
            self._loop.remove_writer(fd)

    def close(self) -> None:
        for fd in list(self._known):
            self.changed(WAIT_OVER, fd, None, None)
        self._closed = True


def watch(loop: AbstractEventLoop, ready: Callable[[Events], None]) -> SocketWatch:
    """The cheapest watch that this system has."""
    return EpollWatch(loop, ready) if sys.platform == "linux" else LoopSocketWatch(loop, ready)


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
