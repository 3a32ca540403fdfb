"""The socket watch: tells libcurl when a socket it waits for is ready, by way of the event loop.

Libcurl says through `changed` what it waits for, and changes its mind twice a page. Where there is epoll, the
sockets therefore live in an epoll set of our own, whose descriptor is the only one that the event loop sees:
half the cost of a page fetched compared to `add_reader` and `remove_reader` of every socket (41 and 77 µs,
response included). Elsewhere, `LoopWatch` does it the plain way.

Must not raise from `changed`: it is called from inside libcurl.
"""

import select
import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

#: what libcurl waits for: bits of CURL_POLL_*
WAIT_READ, WAIT_WRITE, WAIT_OVER = 1, 2, 4
#: what we tell it has happened: bits of CURL_CSELECT_*
READABLE, WRITABLE, BROKEN = 1, 2, 4

#: sockets and what happened to them
Events = list[tuple[int, int]]


class Watch(Protocol):
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
            self._loop = loop
            self._ready = ready
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


class LoopWatch:
    """Every socket is a reader or a writer of the event loop."""

    def __init__(self, loop: AbstractEventLoop, ready: Callable[[Events], None]) -> None:
        self._loop = loop
        self._ready = ready
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


def watch(loop: AbstractEventLoop, ready: Callable[[Events], None]) -> Watch:
    """The cheapest watch that this system has."""
    return EpollWatch(loop, ready) if sys.platform == "linux" else LoopWatch(loop, ready)
