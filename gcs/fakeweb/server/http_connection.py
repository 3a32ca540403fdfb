"""One connection to the fake web: HTTP/1.1 with keep-alive, on a bare asyncio protocol for speed.

Requests of a connection are answered in order, one at a time; what arrives meanwhile waits. It also
carries out the manners of a plan: late, dripping, cut, endless answers, and no answer at all. It must
not decide what is served: that is the plan's.
"""

import asyncio
import dataclasses
import socket
import struct
import sys
import time
from collections import Counter
from email.utils import parsedate_to_datetime
from typing import NamedTuple, cast

import msgspec

from gcs.fakeweb import Manner, PagePlan, RequestLog, Site, Web
from gcs.fakeweb.body import chunk, head, validators

_HEAD_LIMIT_BYTES = 64 << 10
_CODINGS = (b"gzip", b"deflate")
_GARBAGE = b"\x00\xffSSH-2.0-this is not HTTP\r\n\r\n\x01\x02\x03"
_ENDLESS_PIECE = chunk(b"<p>and so on and so on and so on</p>\n" * 1_000)
_DRIPS = 5
#: where the milliseconds since the last data came stand in Linux's `struct tcp_info`, and its size up to there
_TCP_INFO_LAST_DATA, _TCP_INFO_BYTES = 52, 56
#: milliseconds from which on they count: the kernel counts them in steps of 4 or 10
_LATE_MS = 20
#: bytes of prepared answers to keep; hot pages and small webs then cost no rendering
_CACHE_BYTES = 128 << 20


class Prepared(NamedTuple):
    """An answer, ready to send."""

    plan: PagePlan
    raw: bytes
    is_allowed: bool


class Service:
    """The state that all connections of one server share: the log, the tries of flaky URLs, the prepared answers.

    Filled by connections; emptied by `reset` (log and tries) and by age (prepared answers, bounded in bytes).
    """

    def __init__(self, web: Web) -> None:
        self.web = web
        self.log = RequestLog()
        self.tries: Counter[str] = Counter()
        self._prepared: dict[tuple[str, bytes], Prepared] = {}
        self._prepared_bytes = 0

    def prepare(self, site: Site, path: str, accepts: bytes) -> Prepared:
        """The answer to a path of a site for a client that accepts these content codings."""
        key = (site.origin + path, accepts)
        found = self._prepared.get(key)
        if found is not None:
            return found
        plan = self.web.plan_at(site, path)
        raw = self.web.answer(plan, accepts)
        # without its links, which are in the bytes now: thousands of them would burden the garbage collector
        found = Prepared(msgspec.structs.replace(plan, links=()), raw, site.allows(path))
        self._prepared[key] = found
        self._prepared_bytes += len(found.raw)
        while self._prepared_bytes > _CACHE_BYTES:
            self._prepared_bytes -= len(self._prepared.pop(next(iter(self._prepared))).raw)
        return found

    def reset(self) -> None:
        self.log = RequestLog()
        self.tries.clear()

    def set_session(self, session: int) -> None:
        """The same web at the same port, at a later (or earlier) time."""
        self.web = Web(dataclasses.replace(self.web.spec, session=session), self.web.port)
        self._prepared.clear()
        self._prepared_bytes = 0


class FakeWebConnection(asyncio.Protocol):
    """Answers the requests of one client connection."""

    def __init__(self, service: Service, connections: "set[FakeWebConnection]") -> None:
        self._service = service
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        #: when the last bytes came to this machine
        self._arrived_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        #: address that was asked and is owed an answer; "" between requests
        self._owed = ""
        self._is_endless = self._can_write = False

    # -- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by type
        self._address: str = transport.get_extra_info("sockname")[0]
        self._socket: socket.socket = transport.get_extra_info("socket")
        self._connections.add(self)
        self._service.log.connections += 1
        self._can_write = True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._connections.discard(self)
        self._can_write = False
        if self._timer:
            self._timer.cancel()
        if self._owed:
            self._done(0, 0)

    def data_received(self, data: bytes) -> None:
        self._arrived_s = time.monotonic() - _late_s(self._socket)
        self._buffer += data
        self._read()

    def pause_writing(self) -> None:
        self._can_write = False

    def resume_writing(self) -> None:
        self._can_write = True
        if self._is_endless:
            self._send_endlessly()

    def abort(self) -> None:
        self._transport.abort()

    # -- requests

    def _read(self) -> None:
        """Takes up the next request, if it is complete and no answer is owed."""
        while not self._owed and not self._transport.is_closing():
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _HEAD_LIMIT_BYTES:
                    self._refuse(431)
                return
            request_line, _, headers = self._buffer[:end].partition(b"\r\n")
            self._buffer = self._buffer[end + 4 :]
            words = request_line.split(b" ")
            if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
                self._refuse(400)
            elif words[0] not in (b"GET", b"HEAD"):
                self._refuse(405)
            else:
                self._answer(words[0] == b"HEAD", words[1].decode("latin-1"), words[2], headers)

    def _answer(self, is_head: bool, target: str, version: bytes, headers: bytes) -> None:
        service, address = self._service, self._address
        if target.startswith("http://"):  # asked as a proxy
            address, _, target = target[7:].partition("/")
            address, target = address.partition(":")[0], "/" + target
        site = service.web.site_at(address)
        if site is None:
            return self._refuse(400)
        path = _normal(target.partition("#")[0])
        fields = headers.lower()
        accepted = _field(fields, b"accept-encoding")
        prepared = service.prepare(site, path, b",".join(coding for coding in _CODINGS if coding in accepted))
        url = site.origin + path
        service.log.start(address, url, self._arrived_s, is_allowed=prepared.is_allowed, headers=headers)
        service.tries[url] += 1
        self._owed = address
        self._closes = b"close" in _field(fields, b"connection") or version == b"HTTP/1.0"
        raw = self._choose(prepared, headers)
        if is_head:
            raw = raw[: raw.index(b"\r\n\r\n") + 4]
        wait_s = service.web.spec.latency_s
        if prepared.plan.manner is Manner.SLOW:
            wait_s += service.web.spec.slow_s
        if wait_s:
            self._timer = self._loop.call_later(wait_s, self._send_late, prepared.plan, raw)
            return None
        return self._send(prepared.plan, raw)

    def _choose(self, prepared: Prepared, headers: bytes) -> bytes:
        """The prepared answer, a 304, or the refusal of a first try."""
        plan = prepared.plan
        if plan.manner is Manner.FLAKY and self._service.tries[plan.url] == 1:
            wait = f"Retry-After: {self._service.web.spec.retry_after_s}"
            return head(plan.first_status, wait, "Content-Type: text/plain", "Content-Length: 6") + b"later\n"
        if (plan.etag or plan.modified_s) and plan.status == 200 and _is_fresh(plan, headers):
            return head(304, *validators(plan))
        return prepared.raw

    # -- answers

    def _send(self, plan: PagePlan, raw: bytes) -> None:
        manner = plan.manner
        if manner is Manner.RESET_ONCE and self._service.tries[plan.url] > 1:
            manner = Manner.PLAIN
        if manner in (Manner.RESET, Manner.RESET_ONCE):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # RST, not FIN
            self._done(0, 0)
            self._transport.abort()
        elif manner is Manner.GARBAGE:
            self._write_last(_GARBAGE, 0)
        elif manner is Manner.CUT:
            self._write_last(raw[: len(raw) // 2], plan.status)
        elif manner is Manner.ENDLESS:
            self._transport.write(raw[: raw.index(b"\r\n\r\n") + 4])
            self._is_endless = True
            self._send_endlessly()
        elif manner is Manner.DRIP:
            size = -(-len(raw) // _DRIPS)
            self._drip(plan, [raw[at : at + size] for at in range(0, len(raw), size)], len(raw))
        elif manner is not Manner.HANG:
            if plan.transfer == "close":
                self._closes = True
            self._finish(int(raw[9:12]), raw, len(raw))

    def _send_late(self, plan: PagePlan, raw: bytes) -> None:
        self._send(plan, raw)
        self._read()  # what arrived meanwhile

    def _drip(self, plan: PagePlan, pieces: list[bytes], size_bytes: int) -> None:
        piece, *rest = pieces
        if rest:
            self._transport.write(piece)
            wait_s = self._service.web.spec.slow_s / _DRIPS
            self._timer = self._loop.call_later(wait_s, self._drip, plan, rest, size_bytes)
        else:
            self._finish(plan.status, piece, size_bytes)
            self._read()

    def _send_endlessly(self) -> None:
        while self._can_write and not self._transport.is_closing():
            self._transport.write(_ENDLESS_PIECE)

    def _finish(self, status: int, raw: bytes, sent_bytes: int) -> None:
        self._done(status, sent_bytes)
        self._transport.write(raw)
        if self._closes:
            self._transport.close()

    def _write_last(self, raw: bytes, status: int) -> None:
        self._done(status, len(raw))
        self._transport.write(raw)
        self._transport.close()

    def _done(self, status: int, sent_bytes: int) -> None:
        self._service.log.end(self._owed, status, sent_bytes)
        self._owed = ""

    def _refuse(self, status: int) -> None:
        """Answers what is no request to this web, and hangs up."""
        self._transport.write(head(status, "Content-Length: 0", "Connection: close"))
        self._transport.close()


def _normal(path: str) -> str:
    """The path with its percent-escapes in upper case."""
    if "%" not in path:
        return path
    first, *rest = path.split("%")
    return first + "".join("%" + part[:2].upper() + part[2:] for part in rest)


def _late_s(connection: socket.socket) -> float:
    """For how long the last bytes have waited for this process, on Linux: where others have the CPU, for seconds.

    They may be the last words of a crawler that was killed meanwhile.
    """
    if not sys.platform.startswith("linux"):
        return 0.0
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    late_ms: int = struct.unpack_from("I", info, _TCP_INFO_LAST_DATA)[0]
    return late_ms / 1000 if late_ms >= _LATE_MS else 0.0


def _field(headers: bytes, name: bytes) -> bytes:
    """The value of a header, or empty; both in lower case."""
    at = 0 if headers.startswith(name + b":") else headers.find(b"\r\n" + name + b":") + 2
    if at == 1:
        return b""
    end = headers.find(b"\r\n", at)
    return headers[at + len(name) + 1 : end if end > 0 else None].strip()


def _is_fresh(plan: PagePlan, headers: bytes) -> bool:
    """Whether the copy that the client says it holds is the present one (If-None-Match wins, RFC 9110)."""
    fields = headers.lower()
    tags = _field(fields, b"if-none-match")
    if tags:
        return plan.etag.encode() in tags
    since = _field(fields, b"if-modified-since")
    if not since or not plan.modified_s:
        return False
    try:
        return parsedate_to_datetime(since.decode("latin-1")).timestamp() >= plan.modified_s
    except ValueError:
        return False
