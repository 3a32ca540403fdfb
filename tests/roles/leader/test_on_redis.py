"""The leader on the embedded whiteboard, in real time: short leases, short beats."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, MemberState, PlanPosted, Seeds
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space

from .crew import Crew, Process

SETTINGS = TeamSettings(beat_s=0.02, lease_s=1.0, rebalance_s=0.1, idle_urls=10)


def finds(key: bytes) -> list[bytes]:
    return [key + b"\x00%d" % n for n in range(3)] if key.count(b"\x00") < 8 else []


class LiveCrew(Crew):
    """Each member has its own connection, and lives in its own tasks."""

    def __init__(self, url: str) -> None:
        super().__init__(SETTINGS, speed=2, finds=finds, expected=3)
        self.now = time.monotonic
        self.url = url
        self.spaces: list[Space] = []
        self.tasks: dict[str, list[asyncio.Task[None]]] = {}
        self.progress = asyncio.Event()

    async def open(self, name: str) -> Space:
        space = await open_space(self.url, crawl="c", name=name, settings=SpaceSettings(patience_s=30))
        self.spaces.append(space)
        return space

    async def join(self, name: str, state: MemberState = MemberState.RUNNING) -> None:
        process = self.processes[name] = Process(self, name, await self.open(name), state)
        self.tasks[name] = [asyncio.create_task(self._live(process)), asyncio.create_task(process.leader.run())]

    async def _live(self, process: Process) -> None:
        while process.name in self.processes:
            await process.step()
            self.progress.set()
            await asyncio.sleep(SETTINGS.beat_s)

    async def raise_ghost(self, name: str) -> bool:
        if name in self.processes:
            return False
        self.ghosts.append(name)
        await self.join(name, MemberState.GHOST)
        return True

    async def end(self) -> None:
        tasks = [task for both in self.tasks.values() for task in both]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for space in self.spaces:
            await space.close()

    def fetched(self) -> list[bytes]:
        return [key for disk in self.disks.values() for key in disk.log]


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[LiveCrew]:
    server = EmbeddedServer(tmp_path / "space")
    crew = LiveCrew(server.start())
    yield crew
    await crew.end()
    server.stop()


async def test_team_shares_a_crawl_and_ends_it_on_redis(crew: LiveCrew):
    """Three members; the leader dies in the midst of it, another one leads, and a ghost hands over for the dead."""
    space = await crew.open("test")
    await space.out(Seeds(["http://h.example/"]), to="seeds")
    for name in ("g1", "g2", "g3"):
        await crew.join(name)
    while not crew.leaders() or len(crew.fetched()) < 60:
        crew.progress.clear()
        await crew.progress.wait()
    victim = crew.leaders()[0]
    for task in crew.tasks.pop(victim):
        task.cancel()
    crew.kill(victim)
    async for control in space.watch(template(Control)):
        if control.state is CrawlState.DONE:
            break
    posted = await space.read(template(PlanPosted))
    assert posted is not None and posted.committed
    assert victim in crew.ghosts
    assert victim not in Plan.decode(posted.plan).gatherers
    fetched = crew.fetched()
    assert len(fetched) == len(set(fetched)) == sum(3**n for n in range(6))
    assert not any(disk.queue or disk.held or disk.inbox for disk in crew.disks.values())
