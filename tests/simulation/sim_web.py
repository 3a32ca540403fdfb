"""The web of a simulation: the fake web, answered by a fetch engine that takes virtual time; and who asked it when."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.body import Prose, content_type
from gcs.fakeweb.survey import survey
from gcs.fakeweb.web import Web
from tests.simulation.virtual_time import SimLoop, SimProcess, current

#: part of a delay that clocks may be wrong by, and a moment for rounding
CLOCKS, MOMENT_S = 0.98, 0.001


@cache
def _prose() -> Prose:
    return Prose(0)


@lru_cache(maxsize=64)
def web_of(seed: int, hosts: int, pages: int, links: int) -> tuple[Web, frozenset[str]]:
    """A fake web, and the pages that a crawl finds there."""
    spec = FakeWebSpec.plain(seed=seed, hosts=hosts, pages=pages, links=links, html_bytes=400, redirects=True)
    web = Web(spec, 8000)
    web.__dict__["_prose"] = _prose()  # what the pages say does not matter, and takes long to make
    return web, frozenset(survey(web).pages)


@lru_cache(maxsize=20_000)
def _body(web: Web, url: str) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    plan = web.plan(url)
    headers = [("Content-Type", content_type(plan))]
    if 300 <= plan.status < 400 and plan.links:
        headers.append(("Location", plan.links[0].target))
    return plan.status, tuple(headers), web.body(plan)


@dataclass(slots=True, eq=False)
class Visit:
    """One request, from its start to its end."""

    url: str
    host: str
    process: SimProcess | None
    begun_s: float
    is_over: bool = False


@dataclass(slots=True)
class _Host:
    visits: list[Visit] = field(default_factory=list)
    free_at: float = -1e9


class SimWeb:
    """Answers requests, and keeps the rule that hosts are owed: between the end of one and the next lies the delay."""

    def __init__(
        self,
        loop: SimLoop,
        chance: random.Random,
        web: Web,
        delay_s: float,
        trouble: float,
        answers_s: tuple[float, float],
    ) -> None:
        """`trouble`: share of the first requests for a URL that meet a timeout or an overloaded server.

        `answers_s`: what answers take, at least and at most.
        """
        self._answers_s = answers_s
        self._loop, self._chance, self._web, self._delay_s, self._trouble = loop, chance, web, delay_s, trouble
        self._hosts: dict[str, _Host] = {}
        self._troubled: set[str] = set()
        self.violations: list[str] = []
        self.requests = 0
        self.least_gap_s = float("inf")

    def begin(self, url: str) -> Visit:
        """A request starts."""
        rest = url.partition("://")[2]
        name = rest.split("/", 1)[0]
        host = self._hosts.setdefault(name, _Host())
        now, process = self._loop.now, current()
        self.requests += 1
        if self._delay_s:
            if host.visits:
                other = host.visits[0]
                self._violate(f"politeness: {url} asked while {other.url} was under way", process, other)
            gap_s = now - host.free_at
            self.least_gap_s = min(self.least_gap_s, gap_s)
            if gap_s < self._delay_s * CLOCKS - MOMENT_S:
                self._violate(f"politeness: {url} asked {gap_s:.3f} s after the last answer", process, None)
        visit = Visit(url, name, process, now)
        host.visits.append(visit)
        return visit

    def end(self, visit: Visit) -> None:
        """The request is over: answered, or its connection closed."""
        if not visit.is_over:
            visit.is_over = True
            host = self._hosts[visit.host]
            host.visits.remove(visit)
            host.free_at = self._loop.now

    def hang_up(self, process: SimProcess) -> None:
        """A process is dead: its connections are closed."""
        for host in self._hosts.values():
            for visit in [visit for visit in host.visits if visit.process is process]:
                self.end(visit)

    def answer(self, request: Request, begun_s: float, elapsed_s: float) -> Result:
        """The answer to a request that began then (by the clock of its process), and took so long."""
        url = request.url
        if self._trouble and url not in self._troubled and not url.endswith("/robots.txt"):
            self._troubled.add(url)
            if self._chance.random() < self._trouble:
                if self._chance.random() < 0.5:
                    return Failure(request, FailureKind.TIMEOUT, "simulated", begun_s, elapsed_s)
                busy = (("Content-Type", "text/plain"), ("Retry-After", "1"))
                return Response(request, 503, "", "1.1", busy, b"", b"", b"", "127.0.0.1", begun_s, elapsed_s)
        status, headers, body = _body(self._web, url)
        return Response(request, status, "", "1.1", headers, body, body, b"", "127.0.0.1", begun_s, elapsed_s)

    def latency_s(self) -> float:
        """How long the next answer takes."""
        return self._chance.uniform(*self._answers_s)

    def _violate(self, what: str, process: SimProcess | None, other: Visit | None) -> None:
        by = f" by {process.name}" if process else ""
        whose = f" of {other.process.name}" if other and other.process else ""
        self.violations.append(f"{self._loop.now:.3f} {what}{by}{whose}")


class SimFetcher:
    """The fetch engine of one simulated process."""

    def __init__(self, web: SimWeb, loop: SimLoop, sink: Callable[[Result], None], wall: Callable[[], float]) -> None:
        self._web, self._loop, self._sink, self._wall = web, loop, sink, wall
        self._visits: set[Visit] = set()

    @property
    def in_flight(self) -> int:
        return len(self._visits)

    async def open(self) -> None:
        """Nothing to open."""

    def start(self, request: Request) -> None:
        visit = self._web.begin(request.url)
        self._visits.add(visit)
        self._loop.call_later(self._web.latency_s(), self._finish, request, visit, self._wall())

    def _finish(self, request: Request, visit: Visit, begun_s: float) -> None:
        if visit in self._visits:
            self._visits.remove(visit)
            self._web.end(visit)
            self._sink(self._web.answer(request, begun_s, self._loop.now - visit.begun_s))

    async def close(self) -> None:
        for visit in self._visits:
            self._web.end(visit)
        self._visits.clear()
