"""A station on loopback at a board that is full of things to see; with a token of each role."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from aiohttp import ClientResponse, ClientSession

from gcs.core.helpers.access import Role, entry
from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Access,
    Bulletin,
    Charter,
    Control,
    CrawlState,
    HelperBeat,
    HostFailures,
    LeaderLease,
    Member,
    MovedRanges,
    PlanNote,
    PlanPosted,
    Posted,
    RecentPage,
    SuperpagePatch,
)
from gcs.core.plan.plan import Plan
from gcs.core.report.counters import Counters, Traffic
from gcs.core.report.report import Share
from gcs.core.report.workload import SlowHost, TimeSpent, Workload
from gcs.core.url.sortkey import sort_key
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.station.crawls.source import WhiteboardSource
from gcs.roles.station.crawls.station_crawls import OneCrawl
from gcs.roles.station.gateway import Gateway
from gcs.roles.station.interest.profile_calls import interest_endpoints
from gcs.roles.station.station import ListenAddress, Station, StationAccess
from gcs.roles.station.view.poller import Poller
from gcs.settings import Settings

TOKENS = {role: f"gcs_a-token-for-the-{role}-role-of-tests" for role in Role}
#: a host name as an attacker would choose it, and a title
EVIL = "<script>alert(1)</script>"
A, B = sort_key("http://a.org/x"), sort_key("http://b.org/y")


async def fill(space: MemorySpace) -> None:
    """Hang a crawl of two gatherers, a helper and two plans on the board."""
    now = time.time()
    plan = Plan(2, ("g0", "g1"), (b"", B), (0, 1), hot_pages=("http://a.org/",))
    await space.out(Charter(msgspec.json.encode(Settings()), ["http://a.org/"], 2))
    await space.out(Control(CrawlState.RUNNING, "crew"))
    await space.out(LeaderLease("g1", 1))
    await space.out(PlanPosted(2, 1, plan.encode(), committed=True))
    for name, pages, key in (("g0", 60, A), ("g1", 40, B)):
        figures = {"pages": pages, "queued": 30, "known": pages + 35, "bytes": pages * 1000, "in_flight": 2}
        figures |= {"pages_per_s": 3.5, "busy": 0.5, "explored": 0.5, "superpages": 1, "outbox": 1}
        work = Workload(pages + 35, 30, pages, (0.5, 0.3, 0.7), 3.5, 3.5, spent=TimeSpent(10, 1, 9, 1), counted=30)
        work = msgspec.structs.replace(work, slow=[SlowHost(f"{name}.org", 30, 1.0, "--delay 1")], slow_hosts=1)
        await space.out(Member(name, "run", epoch=2, settled_epoch=2, figures=figures, work=work))
        counters = Counters(
            pages=pages, size_bytes=pages * 1000, failed=5, seconds=10, failures={"timeout": 3, "http-404": 2}
        )
        counters.traffic = Traffic(exchanged_urls=7)
        share = Share(name, counters, pages + 35, 30, pages, 0.5, superpages=1, epoch=2)
        await space.out(
            Bulletin(
                gatherer=name,
                epoch=2,
                share=msgspec.msgpack.encode(share),
                explored=(0.5, 0.3, 0.7),
                sent={"g1": 5} if name == "g0" else {"g0": 2},
                recent=[RecentPage(f"http://{name}.org/", EVIL, "A page.", 200, 1000, now - pages, 0.05, 1, 12, "en")],
                troubles=[HostFailures("c.org", pages, "timeout", "http://c.org/", now - pages)],
                patches=[
                    SuperpagePatch(
                        b"" if name == "g0" else B, pages + 35, 30, pages, [(key, 3.0), (key + b"\x00z", 1.0)]
                    )
                ],
            )
        )
    await space.out(HelperBeat("lab@1", "berlin", connections=4, pages=9, pages_per_s=1.5, since=now - 60))
    await space.out(PlanNote(1, now - 50, "first", 1, ["g0", "g1"], committed_at=now - 49))
    moves = [MovedRanges("g0", "g1", 1, ["b.org"])]
    await space.out(PlanNote(2, now - 20, "idle: g1", 2, ["g0", "g1"], 0.4, moves, committed_at=now - 19))


@dataclass(frozen=True)
class Stage:
    """A running station, and a way to call it."""

    space: MemorySpace
    station: Station
    session: ClientSession
    answers: list[ClientResponse] = field(default_factory=list)

    @property
    def poller(self) -> Poller:
        only = self.station.crawls.only
        assert only
        return only.poller

    @property
    def url(self) -> str:
        return self.station.address.url.rstrip("/")

    async def call(self, path: str, role: Role | None = None, method: str = "GET", **options: Any) -> ClientResponse:
        headers = ({"Authorization": f"Bearer {TOKENS[role]}"} if role else {}) | options.pop("headers", {})
        self.answers.append(await self.session.request(method, self.url + path, headers=headers, **options))
        return self.answers[-1]

    async def get(self, path: str, role: Role | None = None) -> Any:
        response = await self.call(path, role)
        assert response.status == 200, await response.text()
        return await response.json()


@asynccontextmanager
async def stage(address: ListenAddress | None = None, *, empty: bool = False, **options: Any) -> AsyncIterator[Stage]:
    space = MemorySpace(MemoryBoard(), "station")
    if not empty:
        await fill(space)
    keys = [entry(token, role, label=str(role)) for role, token in TOKENS.items()]
    access = StationAccess(keys, options.pop("names", ()), partial(space.scan, template(Access)))
    station = Station(
        partial(OneCrawl, WhiteboardSource(space, "test", options.pop("place", None))),
        address or ListenAddress("127.0.0.1", 0),
        access=access,
        gateway=Gateway(space),
        more=interest_endpoints(options.pop("watch", lambda _: None)),
        **options,
    )
    await station.startup()
    try:
        async with ClientSession() as session:
            running = Stage(space, station, session)
            yield running
            for answer in running.answers:
                answer.close()
    finally:
        await station.shutdown()


@dataclass(frozen=True)
class Target:
    """A station in a thread of its own, for those who wait for its answers."""

    at: Stage
    loop: asyncio.AbstractEventLoop

    def put(self, item: Posted) -> None:
        """Hang something on the board, and let the station see it."""

        async def hang() -> None:
            await self.at.space.out(item)
            await self.at.poller.poll()

        asyncio.run_coroutine_threadsafe(hang(), self.loop).result(10)


@contextmanager
def in_thread(address: ListenAddress | None = None, *, empty: bool = False, **options: Any) -> Iterator[Target]:
    found: list[Target] = []
    begun, ended, loop = threading.Event(), asyncio.Event(), asyncio.new_event_loop()

    async def serve() -> None:
        async with stage(address, empty=empty, **options) as at:
            found.append(Target(at, loop))
            begun.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert begun.wait(10)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()
