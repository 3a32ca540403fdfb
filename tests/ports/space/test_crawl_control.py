"""Orders: put only where a crawl takes them; seeds of several people at once are all kept."""

import asyncio

import msgspec
import pytest

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Control, CrawlState, Seeds
from gcs.errors import SpaceError, UsageError
from gcs.ports.space import crawl_control
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.settings import Settings


async def crawl() -> MemorySpace:
    space = MemorySpace(MemoryBoard(), "user")
    await space.out(Charter(msgspec.json.encode(Settings()), ["http://a.org/"], 3))
    await space.out(Control(CrawlState.RUNNING, "crew"))
    return space


async def test_orders_of_seeds_at_the_same_time_are_all_kept():
    space = await crawl()
    await asyncio.gather(*(crawl_control.add_seeds(space, [f"http://{name}.org/"]) for name in "bcdef"))
    charter = await space.read(template(Charter))
    assert sorted(charter.seeds) == [f"http://{name}.org/" for name in "abcdef"] and charter.gatherers == 3
    assert await space.count(template(Seeds), at="seeds") == 5


async def test_orders_need_a_crawl_that_goes_on():
    with pytest.raises(SpaceError, match="no such crawl"):
        await crawl_control.order(MemorySpace(MemoryBoard(), "user"), CrawlState.PAUSED, "user")
    space = await crawl()
    await crawl_control.order(space, CrawlState.STOPPING, "user")
    with pytest.raises(crawl_control.TooLateError, match="stopping"):
        await crawl_control.order(space, CrawlState.RUNNING, "user")


async def test_orders_do_not_undo_the_end_of_a_crawl(monkeypatch: pytest.MonkeyPatch):
    """The leader says that all is done just between our look and our posting."""
    space = await crawl()
    out = space.out

    async def late(item, **options):
        monkeypatch.setattr(space, "out", out)
        await out(Control(CrawlState.DONE, "g0"))
        return await out(item, **options)

    monkeypatch.setattr(space, "out", late)
    with pytest.raises(crawl_control.TooLateError, match="done"):
        await crawl_control.order(space, CrawlState.PAUSED, "user")
    assert (await space.read(template(Control))).state is CrawlState.DONE


async def test_orders_of_seeds_that_come_too_late_say_so_and_leave_them_for_the_next_run(
    monkeypatch: pytest.MonkeyPatch,
):
    space = await crawl()
    out = space.out

    async def just_before(item, **options):
        if isinstance(item, Seeds):
            await out(Control(CrawlState.DONE, "g0"))
        return await out(item, **options)

    monkeypatch.setattr(space, "out", just_before)
    with pytest.raises(crawl_control.TooLateError, match="done"):
        await crawl_control.add_seeds(space, ["http://b.org/"])
    assert (await space.read(template(Charter))).seeds == ["http://a.org/", "http://b.org/"]


async def test_orders_name_a_seed_that_is_none():
    with pytest.raises(UsageError, match="ftp"):
        await crawl_control.add_seeds(await crawl(), ["ftp://a.org/"])


async def test_a_forgotten_crawl_is_put_back_as_it_was_with_seeds_that_nobody_had_taken():
    charter, paused = Charter(b"{}", ["http://a.org/", "http://b.org/"], 3), Control(CrawlState.PAUSED, "user")
    space = MemorySpace(MemoryBoard(), "g0")
    assert await crawl_control.put_back(space, charter, paused)
    assert await space.read(template(Charter)) == charter
    assert await space.read(template(Control)) == paused
    assert [each.urls for each in await space.scan(template(Seeds), at="seeds")] == [charter.seeds]
    assert not await crawl_control.put_back(space, Charter(b"{}", ["http://old.org/"], 1), None)
    assert await space.read(template(Charter)) == charter
    assert await space.count(template(Seeds), at="seeds") == 1


async def test_orders_for_which_there_is_no_room_say_so():
    space = await crawl()
    space._board.settings = SpaceSettings(inbox_bytes=1)
    await crawl_control.add_seeds(space, ["http://b.org/"])
    with pytest.raises(SpaceError, match="no room for seeds: try again later"):
        await crawl_control.add_seeds(space, ["http://c.org/"])


async def test_a_forgotten_crawl_for_which_there_is_no_room_is_put_back_later():
    space = MemorySpace(MemoryBoard(settings=SpaceSettings(inbox_bytes=1)), "g0")
    await space.out(Seeds(["http://x.org/"]), to="seeds")
    charter = Charter(b"{}", ["http://a.org/"])
    assert not await crawl_control.put_back(space, charter, None)
    assert await space.count(template(Charter)) == 0, "its seeds would have been lost"
