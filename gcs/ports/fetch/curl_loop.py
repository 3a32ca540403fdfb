"""The driver: runs a libcurl multi handle from the event loop.

libcurl is called when a socket that it waits for is ready, when its timer ends, and right after a handle was added
(once for all that were added in the same turn of the loop). Whatever it finishes is handed on. A `SocketWatch` tells
libcurl, by way of the event loop, which of its sockets are ready.

Invariant: libcurl is never called from inside one of its own callbacks; they only take note.
"""

import asyncio
import select
import sys
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import pycurl

#: what libcurl waits for: bits of CURL_POLL_*
WAIT_READ, WAIT_WRITE, WAIT_OVER = 1, 2, 4
#: what we tell it has happened: bits of CURL_CSELECT_*
READABLE, WRITABLE, BROKEN = 1, 2, 4

#: how long closing waits for names that are being resolved
_CLOSE_S = 1.0

#: sockets and what happened to them
Events = list[tuple[int, int]]
#: a handle that is done, and libcurl's error (0 for none) with its message
Finished = Callable[[pycurl.Curl, int, str], None]


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
