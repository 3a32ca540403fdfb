"""A gatherer is cut off from the whiteboard: it must stop by itself before anybody else may do its work."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from gcs.app.processes.local_team import CrawlStart, open_crawl
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, Member
from gcs.fakeweb import FakeWebSpec, survey
from gcs.ports.records.reading import read_records
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space
from gcs.settings import load

from .partition import Machines, why_not

NAMES = ("g0", "g1")
LEASE_S = 2.0
SPEC = FakeWebSpec.plain(hosts=20, pages=500, host_sizes="zipf", latency_s=0.1)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    if reason := why_not():
        pytest.skip(reason)
    made = Machines(tmp_path, NAMES, SPEC)
    yield made
    made.close()
    assert made.failures() == []


@pytest.fixture
async def space(machines: Machines) -> AsyncIterator[Space]:
    opened = await open_space(
        f"unix://{machines.socket}", crawl="c", name="test", settings=SpaceSettings(patience_s=10)
    )
    yield opened
    await opened.close()


async def begin(machines: Machines, space: Space, recover_s: float) -> None:
    """Crawl until both have fetched some pages of their own."""
    settings = {
        "crawl.scope": "any",
        "politeness.delay_s": 0.0,
        "summary.depth": "links",
        "fetch.allow_private": True,
        "fetch.connections": 4,
        "frontier.fsync": False,
        "store.warc": False,
        "team.lease_s": LEASE_S,
        "team.beat_s": 0.2,
        "team.rebalance_s": 0.3,
        "team.idle_urls": 5,
        "team.recover_s": recover_s,
    }
    await open_crawl(space, CrawlStart(load(None, {}, settings), list(machines.web.seeds), len(NAMES)))
    for name in NAMES:
        machines.gatherer(name, "c")
    await until(space, lambda members: all(members[name].figures["pages"] > 30 for name in NAMES))


async def until(space: Space, holds: Callable[[dict[str, Member]], bool]) -> float:
    """Wait for something on the board; returns when it was seen first."""
    async with asyncio.timeout(40):
        while True:
            members = {member.gatherer: member for member in await space.scan(template(Member))}
            seen_at = time.monotonic()
            if holds(members) if set(NAMES) <= set(members) else holds is gone:
                return seen_at
            await asyncio.sleep(0.01)


def gone(_: dict[str, Member]) -> bool:
    """Waits for somebody to be missing."""
    return False


async def done(space: Space) -> None:
    async with asyncio.timeout(40):
        async for control in space.watch(template(Control)):
            if control.state is CrawlState.DONE:
                return


def pages(machines: Machines, *names: str) -> list[str]:
    return [record.url for name in names for record in read_records(machines.disk(name)) if record.is_page]


def starts(machines: Machines, name: str) -> list[float]:
    return sorted(at for times in machines.hits(name).values() for at in times)


async def test_partition_stops_a_gatherer_before_its_lease_ends(machines: Machines, space: Space) -> None:
    """It comes back when the link does, and goes on: nothing is lost, nothing fetched twice."""
    await begin(machines, space, recover_s=60.0)
    cut_at = machines.cut("g1")
    gone_at = await until(space, gone)
    assert gone_at < cut_at + LEASE_S + 1.0
    await asyncio.sleep(1.0)
    mended_at = machines.mend("g1")
    await done(space)
    requests = starts(machines, "g1")
    last = max(at for at in requests if at < mended_at)
    assert cut_at < last < gone_at, "it went on for a while without the whiteboard, but not too long"
    stored = pages(machines, *NAMES)
    assert len(stored) == len(set(stored))
    assert set(stored) == survey(machines.web).pages
    fetched = [url for name in NAMES for url, times in machines.hits(name).items() for _ in times]
    assert len(fetched) == len(set(fetched)), "somebody fetched what another one owns"


async def test_partition_lets_others_recover_the_range_through_links(machines: Machines, space: Space) -> None:
    """Its disk is out of reach, too: who is left begins its ranges anew, when it has stopped."""
    await begin(machines, space, recover_s=0.5)
    machines.cut("g1")
    gone_at = await until(space, gone)
    await done(space)
    theirs, ours = machines.hits("g1"), machines.hits("g0")
    again = set(theirs) & set(ours)
    assert again, "g1 had fetched pages that g0 had to fetch again"
    assert max(at for times in theirs.values() for at in times) < gone_at
    assert min(min(ours[url]) for url in again) > gone_at
    assert all(len(times) == 1 for times in ours.values())
    stored = pages(machines, "g0")
    assert len(stored) == len(set(stored))
    assert set(stored) == survey(machines.web).pages
    machines.mend("g1")
    assert await asyncio.to_thread(machines.wait, "g1") == 0
