"""The seat at the whiteboard, as far as no team is needed for it."""

from pathlib import Path

from gcs.cli.seat import tenacious
from gcs.core.template import template
from gcs.core.tuples import Link, UrlBlock
from gcs.ports.space.embedded import EmbeddedServer
from gcs.ports.space.opening import open_space
from gcs.ports.space.settings import SpaceSettings


async def test_gatherer_gets_its_blocks_however_often_it_was_killed(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path)
    url = server.start()
    try:
        sender = await open_space(url, crawl="c", name="sender")
        await sender.out(UrlBlock(1, [Link("http://a.example/")]), to="g0")
        for life in range(1, 13):
            space = await open_space(url, crawl="c", name="g0", settings=tenacious(SpaceSettings()))
            [taken] = await space.take_many([template(UrlBlock)], at="g0", limit=10, timeout_s=1.0)
            assert taken.deliveries == life
            await space.close()
        assert await sender.dead_letters("g0") == []
        await sender.close()
    finally:
        server.stop()
