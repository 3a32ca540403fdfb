"""A station whose whiteboard is gone: it waits for it, and does not fill the log meanwhile."""

import asyncio
import logging
from pathlib import Path

import pytest

from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.redis_space import open_space
from gcs.ports.system.tasks import end
from gcs.roles.station import gateway
from gcs.roles.station.crawls.source import WhiteboardSource
from gcs.roles.station.view import poller

#: looks that fail
LOOKS = 4


async def test_station_says_once_that_its_whiteboard_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poller, "POLL_S", 0.01)
    monkeypatch.setattr(gateway, "TEND_S", 0.01)
    enough = [asyncio.Semaphore(0), asyncio.Semaphore(0)]

    class CountingPoller(poller.Poller):
        async def poll(self) -> None:
            enough[0].release()
            await super().poll()

    class Gateway(gateway.Gateway):
        async def tend(self) -> None:
            enough[1].release()
            await super().tend()

    server = EmbeddedServer(tmp_path)
    space = await open_space(server.start(), crawl="c", name="station", settings=SpaceSettings(patience_s=0.1))
    server.stop()
    with caplog.at_level(logging.WARNING, "gcs"):
        tasks = [
            asyncio.create_task(part.run()) for part in (CountingPoller(WhiteboardSource(space, "c")), Gateway(space))
        ]
        for each in enough:
            for _ in range(LOOKS):
                await each.acquire()
        await end(tasks)
    await space.close()
    assert sorted(caplog.messages) == ["gateway.unreachable", "space.unreachable", "station.unreachable"]
