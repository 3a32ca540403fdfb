"""The seat at the whiteboard, as far as no team is needed for it."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gcs.app.processes.member_process import MemberProcess, MemberSpec, tenacious
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Link, UrlBlock
from gcs.errors import SettingsError, UsageError
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.redis_space import open_space
from gcs.settings import Settings, load


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    server = EmbeddedServer(tmp_path / "space")
    yield server.start()
    server.stop()


async def test_gatherer_gets_its_blocks_however_often_it_was_killed(url: str) -> None:
    sender = await open_space(url, crawl="c", name="sender")
    await sender.out(UrlBlock(1, [Link("http://a.example/")]), to="g0")
    for life in range(1, 13):
        space = await open_space(url, crawl="c", name="g0", settings=tenacious(SpaceSettings()))
        [taken] = await space.take_many([template(UrlBlock)], at="g0", limit=10, timeout_s=1.0)
        assert taken.deliveries == life
        await space.close()
    assert await sender.dead_letters("g0") == []
    await sender.close()


async def test_gatherer_waits_for_its_directory_and_for_nothing_else(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gcs")

    def seat(**flags: str) -> MemberProcess:
        settings = load(None, {}, {key.replace("__", "."): value for key, value in flags.items()})
        post = MemberSpec(url, "c", "g0", tmp_path, "", "", None, ("order",))
        return MemberProcess(post, Charter(msgspec.json.encode(settings), ["http://127.0.0.1/"]))

    async with asyncio.timeout(60):  # it is patient with a ghost for longer than that
        with pytest.raises(SettingsError, match=r"put nowhere\.py into this directory"):
            await seat(crawl__order="nowhere:score").take("g0")
        ghosts = Frontier(tmp_path / "state" / "g0" / "frontier", FrontierSettings())
        taking = asyncio.create_task(seat().take("g0"))
        while not any(message.endswith(".waiting") for message in caplog.messages):
            assert not taking.done()
            await asyncio.sleep(0.01)
        ghosts.close()
        gatherer = await taking
    await gatherer.startup([])
    await gatherer.shutdown()


async def test_gatherer_whose_name_is_a_path_elsewhere_writes_nothing_there(url: str, tmp_path: Path) -> None:
    for name in ("..", "../../elsewhere", str(tmp_path / "elsewhere"), "-n"):
        post = MemberSpec(url, "c", name, tmp_path / "out", "", "", None)
        seat = MemberProcess(post, Charter(msgspec.json.encode(Settings()), [], 1))
        with pytest.raises(UsageError, match="cannot be part of a file name"):
            await seat.take(name)
    assert {path.name for path in tmp_path.iterdir()} == {"space"}
