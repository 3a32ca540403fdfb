"""A web without an end for soak tests: every page is computed when it is asked for, and none is stored.

    python -m tests.soak.endless_web --hosts 20000 --pages 30000000

Hosts have names (`h17.soak.test`, see `name_server`) and Zipf sizes, so some are hot. A page has links within its host
and to others, in proportion to their sizes: a crawl finds about twenty new URLs with each page, for as long as there
are any. Some hosts are slow, refuse connections, never answer or have no address; some pages are redirects, are gone,
or lie in a calendar that never ends. Equal numbers give an equal web.

The server prints its port, name server and seeds as a line of JSON; then, each second, a line of its counters. It ends
when its standard input closes.
"""

import argparse
import asyncio
import json
import math
import os
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import uvloop

from gcs.fakeweb.spec import mix, words

from .name_server import NameServer

DOMAIN = "soak.test"
#: one host in so many is slow, refuses connections, never answers, has no address
SLOW, REFUSING, SILENT, NAMELESS = 97, 401, 811, 203
#: one page in so many is a redirect, is gone
MOVED, GONE = 53, 47
SLOW_S = 0.5
_SECTIONS = words("news docs shop people archive blog music travel science health law city")
_NOUNS = words("bridge market garden station letter window harbour library road museum engine storm voice map valley")
_VERBS = words("repaired opened described measured forgotten painted sold discussed visited closed moved found")
_PARAGRAPHS = 4_096
_MASK = (1 << 64) - 1
_LARGEST_HEAD = 16 << 10


@dataclass(frozen=True, slots=True)
class EndlessSpec:
    """The size of the web."""

    hosts: int = 20_000
    #: pages over all hosts, about
    pages: int = 30_000_000
    links: int = 40
    #: bytes of text of a page, about
    text_bytes: int = 6_000
    #: part of the links that stay on the host
    own_share: float = 0.5


class EndlessWeb:
    """What every URL of the web answers: a pure function of the spec."""

    def __init__(self, spec: EndlessSpec, port: int) -> None:
        self.spec, self.port = spec, port
        self._first = spec.pages / (math.log(spec.hosts) + 0.58)  # pages of the largest host: the sum of 1/h is log n
        chance = iter(_numbers(1))
        self._paragraphs = [_paragraph(chance) for _ in range(_PARAGRAPHS)]

    @property
    def seeds(self) -> list[str]:
        return [self.url(host, 0) for host in range(min(50, self.spec.hosts)) if not is_dead(host)]

    def size(self, host: int) -> int:
        """Pages of a host."""
        return max(2, int(self._first / (host + 1)))

    def url(self, host: int, page: int) -> str:
        return f"http://h{host}.{DOMAIN}:{self.port}{path(page)}"

    def answer(self, host: int, target: str) -> tuple[int, bytes]:
        """Status, and the answer with its head."""
        if target == "/robots.txt":
            return 200, _answer(b"200 OK", b"text/plain", b"User-agent: *\nDisallow: /private/\n")
        if target.startswith("/calendar/"):
            day = target.removeprefix("/calendar/")
            number = int(day) if day.isdigit() and len(day) < 9 else 0
            return 200, _html(b"Calendar", f'<p>Day {number}</p><a href="/calendar/{number + 1}">next</a>'.encode())
        page = page_of(target)
        if page is None or page >= self.size(host):
            return 404, _answer(b"404 Not Found", b"text/plain", b"nothing here\n")
        kind = mix(host, page)
        if page and kind % MOVED == 0:
            there = path(kind % self.size(host)).encode()
            return 301, _answer(b"301 Moved Permanently", b"text/plain", b"", b"Location: " + there + b"\r\n")
        if page and kind % GONE == 0:
            return 410, _answer(b"410 Gone", b"text/plain", b"gone\n")
        return 200, self._page(host, page)

    def links(self, host: int, page: int) -> list[str]:
        """The URLs that a page names; within its host without the host."""
        spec = self.spec
        size = self.size(host)
        found = [path(child) for child in range(3 * page + 1, min(3 * page + 4, size))]
        if page == 0:
            found += [self.url(child, 0) for child in range(8 * host + 1, min(8 * host + 9, spec.hosts))]
            if host % 10 == 0:
                found.append("/calendar/0")
        chance = _numbers(mix(host, page, 3))
        own = int(spec.links * spec.own_share)
        while len(found) < own:
            found.append(path(next(chance) % size))
        logarithm = math.log(spec.hosts)
        while len(found) < spec.links:
            there = min(int(math.exp(next(chance) / 2**64 * logarithm)), spec.hosts) - 1
            found.append(self.url(there, next(chance) % self.size(there)))
        return found

    def _page(self, host: int, page: int) -> bytes:
        chance = _numbers(mix(host, page, 2))
        text = self._paragraphs
        count = max(1, self.spec.text_bytes // 400)
        paragraphs = b"".join(text[next(chance) % _PARAGRAPHS] for _ in range(count))
        links = "".join(f'<li><a href="{link}">To {link[-12:]}</a></li>\n' for link in self.links(host, page)).encode()
        title = f"Page {page} of host {host}".encode()
        return _html(title, b"<h1>%b</h1><article>%b</article><ul>%b</ul>" % (title, paragraphs, links))


def is_dead(host: int) -> bool:
    """Whether nothing can be had from the host."""
    return any(host % every == every - 1 for every in (REFUSING, SILENT, NAMELESS))


def path(page: int) -> str:
    return f"/{_SECTIONS[page % 12]}/{page // 1000}/{page}.html" if page else "/"


def page_of(target: str) -> int | None:
    """The number of a page, by its path."""
    if target == "/":
        return 0
    name = target.rpartition("/")[2].removesuffix(".html")
    if not name.isdigit() or len(name) > 12 or path(int(name)) != target:
        return None
    return int(name)


def _numbers(seed: int) -> Iterator[int]:
    """Endless chance, 64 bits at a time: a multiplicative generator is enough, and cheap."""
    state = seed | 1
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & _MASK
        yield state ^ state >> 29


def _paragraph(chance: Iterator[int]) -> bytes:
    def sentence() -> str:
        noun, verb, place = (next(chance) >> 20 for _ in range(3))
        return (
            f"The {_NOUNS[noun % len(_NOUNS)]} of number {noun % 997} was {_VERBS[verb % len(_VERBS)]} before anybody "
            f"in the {_NOUNS[place % len(_NOUNS)]} could say why."
        )

    return f"<p>{' '.join(sentence() for _ in range(4))}</p>\n".encode()


def _html(title: bytes, body: bytes) -> bytes:
    page = b"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>%b</title></head><body>%b</body></html>"
    return _answer(b"200 OK", b"text/html; charset=utf-8", page % (title, body))


def _answer(status: bytes, kind: bytes, body: bytes, fields: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n" % (status, kind, len(body), fields)
    return head + body


class EndlessConnection(asyncio.Protocol):
    """Answers the requests of one client, in order."""

    def __init__(self, web: EndlessWeb, counts: Counter[str]) -> None:
        self._web, self._counts = web, counts
        self._buffer = b""
        self._is_late = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._counts["connections"] += 1

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _LARGEST_HEAD:
            self._transport.abort()
        self._read()

    def _read(self) -> None:
        while not self._is_late and (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end].decode("latin-1"), self._buffer[end + 4 :]
            target = head.split(" ", 2)[1]
            named = head.lower().partition("\r\nhost: h")[2].partition(".")[0]
            host = int(named) if named.isdigit() else 0
            if host % SILENT == SILENT - 1:
                self._counts["silent"] += 1
                return
            if host % REFUSING == REFUSING - 1:
                self._counts["refused"] += 1
                reset = struct.pack("ii", 1, 0)
                self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                self._transport.abort()
                return
            status, raw = self._web.answer(host, target)
            self._counts["requests"] += 1
            self._counts[str(status)] += 1
            if host % SLOW == SLOW - 1:
                self._is_late = True
                asyncio.get_running_loop().call_later(SLOW_S, self._send_late, raw)
            else:
                self._transport.write(raw)

    def _send_late(self, raw: bytes) -> None:
        self._is_late = False
        if not self._transport.is_closing():
            self._transport.write(raw)
            self._read()


async def serve(spec: EndlessSpec) -> None:
    """Until standard input closes."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    counts: Counter[str] = Counter()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # one socket for every address of the loopback interface, and for no other interface
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
    listener.bind(("0.0.0.0", 0))
    web = EndlessWeb(spec, listener.getsockname()[1])
    server = await loop.create_server(lambda: EndlessConnection(web, counts), sock=listener, backlog=4096)
    names = NameServer(DOMAIN, lambda host: host < spec.hosts and host % NAMELESS != NAMELESS - 1, counts)
    address = await names.start()
    say({"port": web.port, "names": address, "seeds": web.seeds})
    threading.Thread(target=_until_eof, args=(loop, over), daemon=True).start()
    while not over.is_set():
        await asyncio.sleep(1)
        say(dict(counts))
    server.close()
    names.close()


def say(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


def _until_eof(loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    while os.read(0, 4096):
        pass
    loop.call_soon_threadsafe(over.set)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    for name, value in asdict(EndlessSpec()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    uvloop.run(serve(EndlessSpec(**vars(parser.parse_args()))))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
