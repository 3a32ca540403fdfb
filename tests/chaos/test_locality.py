"""Two gatherers on the wrong sides of an ocean find it out, and change places (physical locality, Teng §3.2, §5.2)."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gcs.app.processes.local_team import CrawlStart, open_crawl
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, PlanNote
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.redis_space import open_space
from gcs.settings import load

from .half_web import origin
from .ocean import Ocean, why_not

HUB, SIDES, HOSTS, PAGES = "hub", ("east", "west"), 8, 900
#: gatherer → the side where it is
AT = {"g0": "east", "g1": "west"}
#: seconds of a packet's way: half a round trip
NEAR_S, FAR_S = 0.0005, 0.075


def way_s(a: str, b: str) -> float:
    ends = {AT.get(a, a), AT.get(b, b)}
    return FAR_S if ends == set(SIDES) else NEAR_S


@pytest.fixture
def ocean(tmp_path: Path) -> Iterator[Ocean]:
    if reason := why_not():
        pytest.skip(reason)
    made = Ocean(tmp_path, (HUB, *SIDES, *AT), way_s)
    yield made
    made.close()


async def crawl(ocean: Ocean, **more: object) -> str:
    """Crawl both sides, each gatherer beginning with the one that is far; returns the reason of the last big move."""
    ocean.start_redis(HUB)
    for side, other in (SIDES, SIDES[::-1]):
        words = (side, other, str(HOSTS), str(PAGES), ocean.address(side))
        ocean.run(side, side, sys.executable, "-m", "tests.chaos.half_web", *words)
    names = [(f"h{number}.{side}.example", ocean.address(side)) for side in SIDES for number in range(HOSTS)]
    settings = {
        "crawl.scope": "any",
        "politeness.delay_s": 0.0,
        "summary.depth": "links",
        "fetch.allow_private": True,
        "fetch.connections": 8,
        "fetch.resolve": [f"{host}:80:{address}" for host, address in names],
        "frontier.fsync": False,
        "store.warc": False,
        "team.rebalance_s": 0.5,
        # all of east is the second superpage of three: of g1, which is in the west
        "team.expansion": ["example east"],
        **more,
    }
    while not ocean.socket.exists():
        await asyncio.sleep(0.05)
    space = await open_space(f"unix://{ocean.socket}", crawl="c", name="test", settings=SpaceSettings(patience_s=10))
    seeds = [f"{origin(side, 0)}/" for side in SIDES]
    await open_crawl(space, CrawlStart(load(None, {}, settings), seeds, len(AT)))
    for name in AT:
        ocean.gatherer(name, HUB)
    moved: list[str] = []
    async with asyncio.timeout(120):
        async for control in space.watch(template(Control)):
            if control.state is CrawlState.DONE:
                break
    notes = await space.scan(template(PlanNote))
    moved = [note.reason for note in sorted(notes, key=lambda note: note.epoch) if note.moved > 0.5]
    await space.close()
    for name in AT:
        await asyncio.to_thread(ocean.wait, name)
    return moved[-1] if moved else ""


def fetches(ocean: Ocean) -> list[tuple[float, bool]]:
    """When each page was asked for, and whether from near."""
    found = []
    for side in SIDES:
        for line in ocean.printed(side).splitlines():
            at, client, path = line.split()
            if path != "/robots.txt":
                found.append((float(at), AT[next(g for g in AT if ocean.address(g) == client)] == side))
    return sorted(found)


async def test_gatherers_on_the_wrong_sides_of_an_ocean_change_places(ocean: Ocean) -> None:
    reason = await crawl(ocean)
    asked = fetches(ocean)
    assert len(asked) == len(SIDES) * HOSTS * PAGES
    assert reason.startswith("locality")
    # the first hundred of which nine in ten are near
    turn = next(at for at in range(len(asked)) if sum(near for _, near in asked[at : at + 100]) >= 90)
    before, after = asked[:turn], asked[turn:]
    assert sum(near for _, near in before) < 0.5 * len(before)
    assert sum(near for _, near in after) >= 0.9 * len(after)
    speed = [len(part) / (part[-1][0] - part[0][0]) for part in (before, after)]
    print(f"{len(before)} pages far at {speed[0]:.0f} pages/s, {len(after)} near at {speed[1]:.0f} pages/s")
    assert speed[1] >= 3 * speed[0]
