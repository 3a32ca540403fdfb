"""The window: the part of the queue that is in memory, ordered by when politeness lets each URL go.

Hosts stand in one of five places:

    ready     may be asked now                       filled by feed, tick, ended; emptied by release
    sleeping  its delay is not over                  filled by release; emptied by tick
    held      full connections, its robots.txt is    filled by release, begin; left by ended, clear, give_baton
              being asked for, its owners change, or
              another of its owners has its baton
    blocked   its address has full connections       filled by release; left by release, ended (of any host there)
    hungry    nothing in memory, more on disk        filled by release, arrived; emptied by the owner's feed

Invariant: a host is in at most one place, and release never yields a URL that `core.polite.politeness` forbids now.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from gcs.core.polite import politeness
from gcs.core.polite.politeness import HostPace, Politeness, Sharing, connections_of, delay_of

T = TypeVar("T")


class QueuePlace(Enum):
    """Where a host stands."""

    NOWHERE = 0
    READY = 1
    SLEEPING = 2
    HELD = 3
    BLOCKED = 4
    HUNGRY = 5


@dataclass(slots=True, eq=False)
class Host(Generic[T]):
    """A host with URLs in the window."""

    name: str
    pace: HostPace
    waiting: deque[T] = field(default_factory=deque)
    #: the frontier may hold more of it on disk
    more: bool = True
    #: URLs that wait there; -1 if they were not counted
    on_disk: int = -1
    place: QueuePlace = QueuePlace.NOWHERE
    #: address that its last answer came from
    ip: str = ""
    #: set while its robots.txt is being asked for: nothing else is released
    held: bool = False


class Window(Generic[T]):
    """Hosts, their waiting entries, and which entry may go next."""

    def __init__(self, rules: Politeness, not_before: float = 0.0) -> None:
        self.rules = rules
        #: when another gatherer may have asked hosts that are not known here: each of them begins with a pause
        self._not_before = not_before
        self.hosts: dict[str, Host[T]] = {}
        self.hungry: dict[str, Host[T]] = {}
        self._ready: deque[Host[T]] = deque()
        self._sleeping: list[tuple[float, int, Host[T]]] = []
        self._ip_in_flight: dict[str, int] = {}
        self._ip_blocked: dict[str, deque[Host[T]]] = {}
        self._serial = 0
        self.waiting = 0
        #: the hosts that the plan shares, or whose owners change
        self._sharing: Mapping[str, Sharing] = {}
        #: host → requests started since this gatherer has its baton; filled by give_baton, emptied by drop_baton
        self.batons: dict[str, int] = {}
        #: when this gatherer's right to use its batons ends
        self.batons_until = 0.0
        #: hosts that have URLs here and lack the baton; filled by release, drop_baton; emptied by `Batons`, clear
        self.seekers: set[str] = set()

    def host(self, name: str) -> Host[T]:
        """The host of that name, known from now on."""
        host = self.hosts.get(name)
        if host is None:
            pace = HostPace(next_at=self._not_before + self.rules.delay_s if self._not_before else 0.0)
            pace.sharing = self._sharing.get(name, Sharing.ALONE)
            host = self.hosts[name] = Host(name, pace)
        return host

    def begin_anew(self, now: float) -> None:
        """From now on, hosts that are not known here may have been asked just before by another gatherer."""
        self._not_before = now
        self.forget_idle(now)

    def share(self, sharing: Mapping[str, Sharing], now: float) -> None:
        """From now on these hosts are shared with other gatherers. To be called while nothing waits (`clear`).

        What was closed begins with a pause: another owner may have asked it just before.
        """
        self._sharing = sharing
        for host in self.hosts.values():
            pace, new = host.pace, sharing.get(host.name, Sharing.ALONE)
            if pace.sharing is Sharing.CLOSED is not new:
                pace.next_at = max(pace.next_at, now + delay_of(pace, self.rules))
            pace.sharing = new

    def give_baton(self, name: str, wait_s: float, now: float) -> None:
        """This gatherer may ask a shared host from now on, after a pause."""
        self.batons[name] = 0
        host = self.host(name)
        host.pace.next_at = max(host.pace.next_at, now + wait_s)
        if host.place is QueuePlace.HELD:
            self._settle(host, now)

    def renew_batons(self, until: float) -> None:
        """This gatherer may use its batons until then."""
        self.batons_until = until

    def drop_baton(self, name: str, seeks: bool) -> None:
        """This gatherer may no longer ask a shared host; `seeks`: it wants the baton back at once, if it has URLs."""
        del self.batons[name]
        host = self.hosts.get(name)
        if seeks and host is not None and host.waiting and politeness.needs_baton(host.pace, self.rules):
            self.seekers.add(name)

    def clear(self) -> list[T]:
        """Take everything out of the window that is not in flight; what the hosts are owed stays known."""
        entries: list[T] = []
        for host in self.hosts.values():
            entries += host.waiting
            host.waiting.clear()
            host.more, host.on_disk = True, -1
            if host.place is not QueuePlace.HELD or not host.pace.in_flight:
                host.place = QueuePlace.NOWHERE
        self._ready.clear()
        self._sleeping.clear()
        self._ip_blocked.clear()
        self.hungry.clear()
        self.seekers.clear()
        self.waiting = 0
        return entries

    def withdraw(self, host: Host[T]) -> list[T]:
        """Take what waits of a host out of the window; its place shows when its turn comes."""
        entries = list(host.waiting)
        self.waiting -= len(entries)
        host.waiting.clear()
        host.more, host.on_disk = True, -1
        return entries

    def arrived(self, name: str) -> None:
        """The frontier has URLs of this host on disk: fetch some when there is room."""
        host = self.host(name)
        host.more = True
        if host.place is QueuePlace.NOWHERE and not host.waiting:
            self._put(host, QueuePlace.HUNGRY)

    def feed(self, host: Host[T], entries: Iterable[T], more: bool) -> None:
        """Entries of a hungry host come from the frontier; `more` says whether others stayed there."""
        before = len(host.waiting)
        host.waiting.extend(entries)
        self.waiting += len(host.waiting) - before
        host.more = more
        if host.place is QueuePlace.HUNGRY:
            del self.hungry[host.name]
            host.place = QueuePlace.NOWHERE
        if host.waiting and host.place is QueuePlace.NOWHERE:
            self._put(host, QueuePlace.READY)

    def feed_first(self, host: Host[T], entries: Iterable[T]) -> None:
        """These entries of a host that has some already go before the others."""
        before = len(host.waiting)
        host.waiting.extendleft(entries)
        self.waiting += len(host.waiting) - before

    def startable(self, now: float) -> int:
        """How many requests politeness would let start now, at least."""
        self._tick(now)
        pace_of = [(len(host.waiting), host.pace) for host in self._ready]
        return sum(min(waiting, connections_of(pace, self.rules) - pace.in_flight) for waiting, pace in pace_of)

    def give_back(self, host: Host[T], entry: T) -> None:
        """A released entry could not be started after all: it goes first next time."""
        host.waiting.appendleft(entry)
        self.waiting += 1

    def release(self, now: float, room: int) -> Iterator[tuple[Host[T], T]]:
        """Entries that may be requested now. For each the caller does one of: `begin` it, give it back and hold
        the host, or finish it without a request. Ends after `room` begun requests.
        """
        self._tick(now)
        while room > 0 and self._ready:
            host = self._ready.popleft()
            if self._settle(host, now) is not QueuePlace.READY:
                self._unblock(host.ip, now)
                continue
            self._ready.pop()
            host.place = QueuePlace.NOWHERE
            in_flight = host.pace.in_flight
            self.waiting -= 1
            yield host, host.waiting.popleft()
            room -= host.pace.in_flight - in_flight
            self._settle(host, now)
            if host.pace.in_flight == in_flight:
                self._unblock(host.ip, now)

    def begin(self, host: Host[T], now: float) -> None:
        politeness.started(host.pace, self.rules, now)
        if host.name in self.batons:
            self.batons[host.name] += 1
        if host.ip:
            self._ip_in_flight[host.ip] = self._ip_in_flight.get(host.ip, 0) + 1

    def ended(self, host: Host[T], now: float, ip: str = "", status: int = 0, retry_after_s: float = 0.0) -> None:
        politeness.answered(host.pace, self.rules, now, status, retry_after_s)
        if host.ip:
            if others := self._ip_in_flight.pop(host.ip) - 1:
                self._ip_in_flight[host.ip] = others
            self._unblock(host.ip, now)
        if ip and not host.pace.in_flight:
            host.ip = ip
        if host.place in (QueuePlace.NOWHERE, QueuePlace.HELD):
            self._settle(host, now)

    @property
    def delayed(self) -> int:
        """Hosts that have URLs and wait for their delays."""
        return len(self._sleeping)

    @property
    def ready(self) -> int:
        """Hosts that may be asked, and wait for room."""
        return len(self._ready)

    def next_at(self) -> float | None:
        """When the next sleeping host may be asked; None if none sleeps."""
        return self._sleeping[0][0] if self._sleeping else None

    def forget_idle(self, now: float) -> None:
        """Drop hosts that have nothing to do and are owed no pause: memory follows the work, not the crawl."""
        for name, host in list(self.hosts.items()):
            is_busy = host.place is not QueuePlace.NOWHERE or host.waiting or host.pace.in_flight
            if not is_busy and host.pace.next_at <= now:
                del self.hosts[name]

    def _tick(self, now: float) -> None:
        """Hosts whose delay is over are ready."""
        while self._sleeping and self._sleeping[0][0] <= now:
            self._put(heapq.heappop(self._sleeping)[2], QueuePlace.READY)

    def _unblock(self, ip: str, now: float) -> None:
        """A connection to this address is free: the next blocked host that can use it gets it."""
        blocked = self._ip_blocked.get(ip)
        while blocked and self._ip_in_flight.get(ip, 0) < self.rules.ip_connections:
            if self._settle(blocked.popleft(), now) is QueuePlace.READY:
                break
        if not blocked:
            self._ip_blocked.pop(ip, None)

    def _settle(self, host: Host[T], now: float) -> QueuePlace:
        """Put a host where it belongs."""
        pace = host.pace
        if host.held or pace.in_flight >= connections_of(pace, self.rules) or politeness.is_closed(pace, self.rules):
            return self._put(host, QueuePlace.HELD)
        if not host.waiting:
            return self._put(host, QueuePlace.HUNGRY if host.more else QueuePlace.NOWHERE)
        if politeness.needs_baton(pace, self.rules) and (host.name not in self.batons or now >= self.batons_until):
            self.seekers.add(host.name)
            return self._put(host, QueuePlace.HELD)
        if (at := politeness.start_at(pace, now)) > now:
            self._serial += 1
            heapq.heappush(self._sleeping, (at, self._serial, host))
            return self._put(host, QueuePlace.SLEEPING)
        if self._ip_in_flight.get(host.ip, 0) >= self.rules.ip_connections:
            self._ip_blocked.setdefault(host.ip, deque()).append(host)
            return self._put(host, QueuePlace.BLOCKED)
        return self._put(host, QueuePlace.READY)

    def _put(self, host: Host[T], place: QueuePlace) -> QueuePlace:
        host.place = place
        if place is QueuePlace.READY:
            self._ready.append(host)
        elif place is QueuePlace.HUNGRY:
            self.hungry[host.name] = host
        return place
