"""The robots cache: which robots.txt rules hold for an origin, and whose robots.txt has still to be requested.

The rules of an origin are in a bounded memory, and in the frontier's notes, so that the robots.txt is not requested
again after a restart or a hand-over. An unreachable robots.txt (5xx, no answer) forbids everything for now: it is
requested again after a pause (as long as its server asks for), and after `robots_tries` the origin's URLs are given up.
Unreachability is kept in memory alone, so that the next run of the crawl asks again.

Invariant: `rules` returns rules older than `robots_cache_s` only once, for the request that waited for them: the delay
of a host may be longer than that.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable

import msgspec

from gcs.core.page.robots import ALLOW_ALL, DENY_ALL, Robots, StoredRobots
from gcs.core.page.values import FailureKind
from gcs.core.polite import politeness
from gcs.core.polite.politeness import Politeness
from gcs.core.url.canonical import host_of_url
from gcs.core.url.sources import is_source

#: origins whose rules stay in memory, and bytes of all their robots.txt together
MEMORY_ORIGINS, MEMORY_BYTES = 10_000, 100 << 20
#: bytes of a line beside its characters
_LINE_BYTES = 200
#: redirects of a robots.txt that are followed (RFC 9309 asks for at least five)
MAX_HOPS = 5


class RobotsCache:
    """Rules by origin. Filled by answers to robots.txt requests, and notes; emptied by age."""

    def __init__(
        self, rules: Politeness, agent: str, read: Callable[[str], bytes | None], write: Callable[[str, bytes], None]
    ) -> None:
        self._rules, self._agent, self._read, self._write = rules, agent, read, write
        self._memory: OrderedDict[str, tuple[float, Robots]] = OrderedDict()
        self._why: dict[str, str] = {}  # by closed origin of the memory: the failure that closed it
        self._tries: dict[str, int] = {}
        self._size_bytes = 0  # of the memory
        self._unused: set[str] = set()  # origins of the memory whose new rules were not yet returned

    def rules(self, origin: str, now: float) -> Robots | None:
        """The rules of an origin, or None if its robots.txt has to be requested first."""
        if not self._rules.robots or is_source(origin):
            return ALLOW_ALL
        held = self._memory.get(origin)
        if held is None:
            packed = self._read(f"robots {origin}")
            if packed is None:
                return None
            stored = msgspec.msgpack.decode(packed, type=StoredRobots)
            # of another run or another gatherer, by the clock of either: never believed for longer than a new one
            held = (min(stored.expires_at, now + self._rules.robots_cache_s), Robots.decode(stored.robots))
            self._remember(origin, held)
        if now < held[0] or origin in self._unused:
            self._unused.discard(origin)
            return held[1]
        return None

    def answered(self, origin: str, status: int, body: bytes, now: float) -> Robots:
        """The server gave its rules: a 2xx with a body, or a 4xx, which allows everything."""
        self._tries.pop(origin, None)
        robots, expires_at = Robots.from_status(status, body, self._agent), now + self._rules.robots_cache_s
        self._write(f"robots {origin}", msgspec.msgpack.encode(StoredRobots(expires_at, robots.encode())))
        self._remember(origin, (expires_at, robots))
        self._unused.add(origin)
        return robots

    def unreachable(
        self, origin: str, why: str, now: float, retry_after_s: float = 0.0, final: bool = False
    ) -> float | None:
        """No rules were received. Returns when to ask again, or None if that is given up: the origin is then closed."""
        tries = self._tries[origin] = self._tries.get(origin, 0) + 1
        again_at = politeness.retry_at(tries, self._rules.robots_tries, self._rules, now, retry_after_s)
        if again_at is not None and not final:
            return again_at
        del self._tries[origin]
        self._why[origin] = why
        self._remember(origin, (now + self._rules.robots_cache_s, DENY_ALL))
        self._unused.add(origin)
        return None

    def close(self, origin: str, now: float) -> None:
        """The robots.txt holds whoever reads it: neither this run, nor the next, nor another owner is to ask for it."""
        expires_at = now + self._rules.robots_cache_s
        self._write(f"robots {origin}", msgspec.msgpack.encode(StoredRobots(expires_at, DENY_ALL.encode())))
        self._remember(origin, (expires_at, DENY_ALL))

    def why_closed(self, origin: str) -> str:
        return self._why.get(origin, FailureKind.HELD)

    def export(self, hosts: Iterable[str]) -> dict[str, bytes]:
        """The stored robots.txt of these hosts' origins, by host, for the next owner of the hosts."""
        origins = {host: {f"http://{host}", f"https://{host}"} for host in hosts}
        for origin in self._memory:
            if (host := host_of_url(f"{origin}/")) in origins:
                origins[host].add(origin)
        stored = {
            host: {origin: packed for origin in sorted(its) if (packed := self._read(f"robots {origin}")) is not None}
            for host, its in origins.items()
        }
        return {host: msgspec.msgpack.encode(its) for host, its in stored.items() if its}

    def take_over(self, exported: bytes) -> None:
        """Store what the last owner had stored, for origins that are unknown here."""
        for origin, packed in msgspec.msgpack.decode(exported, type=dict[str, bytes]).items():
            if self._read(f"robots {origin}") is None:
                self._write(f"robots {origin}", packed)

    def _remember(self, origin: str, held: tuple[float, Robots]) -> None:
        before = self._memory.get(origin)
        self._memory[origin] = held
        self._size_bytes += _size_of(held[1]) - (_size_of(before[1]) if before else 0)
        while len(self._memory) > MEMORY_ORIGINS or (self._size_bytes > MEMORY_BYTES and len(self._memory) > 1):
            forgotten, (_, robots) = self._memory.popitem(last=False)
            self._size_bytes -= _size_of(robots)
            self._why.pop(forgotten, None)
            self._unused.discard(forgotten)


def _size_of(robots: Robots) -> int:
    """Bytes of its lines, which are held twice: as they are written, and as they are compared."""
    lines = [rule.pattern for rule in robots.rules] + [*robots.sitemaps, *(said for _, said in robots.usage)]
    return len(lines) * _LINE_BYTES + 2 * sum(map(len, lines))
