"""The desk at the whiteboard: errands of one's place, held under a lease, done with when the summary is put."""

import asyncio

from gcs.core.helpers.pools import pool
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, HelperBeat, Means, Member, SummaryTS, UrlTS
from gcs.ports.errands import HelperTerms, whiteboard_errands
from gcs.ports.errands.whiteboard_errands import WhiteboardErrands
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from tests.ports.space.ticking_clock import TickingClock

LEASE_S = 10.0


class Hall:
    """A whiteboard whose time the test moves."""

    def __init__(self) -> None:
        self.clock = TickingClock()
        self.board = MemoryBoard(self.clock)
        self.gatherer = MemorySpace(self.board, "g0")

    def desk(self, name: str, place: str = "", means: Means = Means.PLAIN) -> WhiteboardErrands:
        return WhiteboardErrands(MemorySpace(self.board, name), HelperTerms(lease_s=LEASE_S), place, means)

    async def lend(self, *numbers: int, place: str = "", ttl_s: float | None = None) -> None:
        errands = [UrlTS("g0", "run", number, f"http://a.example/{number}", LEASE_S) for number in numbers]
        await self.gatherer.out_many(UrlTS, errands, to=pool(place, Means.PLAIN), ttl_s=ttl_s)


def numbers(errands: list[UrlTS]) -> list[int]:
    return [errand.number for errand in errands]


def summary(errand: UrlTS, helper: str = "h1") -> SummaryTS:
    return SummaryTS(errand.gatherer, errand.run, errand.number, errand.url, helper, 200)


async def test_board_desk_gives_errands_of_its_place_and_means_only():
    hall = Hall()
    await hall.lend(1, 2, 3)
    assert numbers(await hall.desk("h1").take(2, 0)) == [1, 2]
    assert await hall.desk("h2", "watson").take(2, 0) == []
    assert await hall.desk("h3", means=Means.BROWSER).take(2, 0) == []
    assert numbers(await hall.desk("h4").take(2, 0)) == [3]


async def test_board_desk_takes_summaries_to_their_gatherer_and_is_done_with_the_errand():
    hall = Hall()
    await hall.lend(1)
    desk = hall.desk("h1")
    (errand,) = await desk.take(1, 0)
    await desk.put(summary(errand))
    assert [taken.item for taken in await hall.gatherer.take_many([template(SummaryTS)], at="g0", limit=9)] == [
        summary(errand)
    ]
    hall.clock.advance(2 * LEASE_S)
    assert await desk.take(1, 0) == []


async def test_board_desk_gives_what_a_vanished_helper_held_to_another():
    hall = Hall()
    await hall.lend(1)
    assert numbers(await hall.desk("h1").take(1, 0)) == [1]
    other = hall.desk("h2")
    hall.clock.advance(LEASE_S - 1)
    assert await other.take(1, 0) == []
    hall.clock.advance(2)
    assert numbers(await other.take(1, 0)) == [1]


async def test_board_desk_extends_until_the_errand_expires():
    hall = Hall()
    await hall.lend(1, ttl_s=2.5 * LEASE_S)
    desk, other = hall.desk("h1"), hall.desk("h2")
    (errand,) = await desk.take(1, 0)
    for _ in range(3):
        hall.clock.advance(LEASE_S * 0.8)
        assert await desk.extend([errand]) == [errand]
        assert await other.take(1, 0) == []
    hall.clock.advance(LEASE_S * 0.8)
    assert await desk.extend([errand]) == []
    assert await other.take(1, 0) == []


async def test_board_desk_takes_back_what_was_not_begun():
    hall = Hall()
    await hall.lend(1, 2)
    desk = hall.desk("h1")
    await desk.give_back(await desk.take(2, 0))
    assert numbers(await hall.desk("h2").take(2, 0)) == [1, 2]


async def test_board_desk_says_why_there_is_nothing_to_do():
    hall = Hall()
    desk = hall.desk("h1")
    await desk.beat(HelperBeat("h1"))
    assert desk.why_idle == "the crawl has no gatherer at work"
    await hall.gatherer.out(Member("g0", "run"))
    await desk.beat(HelperBeat("h1"))
    assert desk.why_idle == "nothing to lend: no URLs are queued"
    await desk.beat(HelperBeat("h1", pages_per_s=1.0))
    assert desk.why_idle == "", "it works"
    await hall.lend(1)
    await desk.take(1, 0)
    await desk.beat(HelperBeat("h1"))
    assert desk.why_idle == ""


async def test_board_desk_says_whether_the_crawl_goes_on():
    hall = Hall()
    desk = hall.desk("h1")
    assert await desk.beat(HelperBeat("h1"))
    await hall.gatherer.out(Control(CrawlState.PAUSED))
    assert await desk.beat(HelperBeat("h1"))
    await hall.gatherer.out(Control(CrawlState.DONE))
    assert not await desk.beat(HelperBeat("h1"))
    assert len(await hall.gatherer.scan(template(HelperBeat))) == 1
    await desk.close()
    assert await hall.gatherer.scan(template(HelperBeat)) == []


async def test_board_desk_does_not_wait_for_ever_for_room(monkeypatch):
    monkeypatch.setattr(whiteboard_errands, "FULL_S", 0.001)
    hall = Hall()
    await hall.lend(1)
    desk = WhiteboardErrands(MemorySpace(hall.board, "h1"), HelperTerms(lease_s=0.01))
    (errand,) = await desk.take(1, 0)
    hall.board.settings = SpaceSettings(inbox_bytes=1)
    await hall.gatherer.out(summary(errand, "other"), to="g0")
    async with asyncio.timeout(10):
        await desk.put(summary(errand))
    assert await hall.gatherer.count(template(SummaryTS), at="g0") == 1
