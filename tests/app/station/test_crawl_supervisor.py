"""The supervisor: real crawls of a folder, and a clock that the test moves."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import gcs
from gcs.app.station.crawl_supervisor import CrawlSupervisor, SupervisorSpec
from gcs.core.messages.tuples import CrawlState
from gcs.errors import UsageError
from gcs.roles.station.browse.crawl_calls import LOG_FILE
from gcs.roles.station.crawls.supervisor import Caller, ScheduleWanted, StartWanted
from gcs.testing import OPTIONS, serve

#: 2026-11-19 22:59:30 UTC
EVENING = 1_795_129_170.0


class Clock:
    now = EVENING

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """With a crawl that has ended, of a site that is there."""
    with serve({"/": "<title>Home</title>"}) as url:
        for _ in gcs.crawl(url, output=tmp_path / "docs", **OPTIONS):
            pass
        yield tmp_path


def supervisor(folder: Path, clock: Clock) -> CrawlSupervisor:
    return CrawlSupervisor(SupervisorSpec(folder), lambda crawl: folder / crawl, clock)


async def stop_nothing(_crawl: str, _state: CrawlState) -> None:
    """All crawls end by themselves."""


async def _until(condition: object) -> None:
    async with asyncio.timeout(120):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.05)


async def test_schedule_begins_sessions_by_the_clock(folder: Path) -> None:
    clock = Clock()
    station = supervisor(folder, clock)
    told = await station.schedule("docs", ScheduleWanted("0 * * * *"))
    assert told.next_at == EVENING + 30
    running = asyncio.create_task(station.run(stop_nothing))
    try:
        for session, at in ((2, EVENING + 30), (3, EVENING + 30 + 3600)):
            await asyncio.sleep(0.5)
            assert not station.jobs.jobs and not (folder / f"docs/sessions/{session:04}.json").exists()
            clock.now = at
            await _until(lambda session=session: (folder / f"docs/sessions/{session:04}.json").exists())
            await _until(lambda: not station.jobs.jobs)
            assert station.scheduled("docs").next_at == at + 3600
        again = supervisor(folder, clock)  # a station that is started again knows it
        assert again.scheduled("docs") == station.scheduled("docs")
        await station.schedule("docs", ScheduleWanted(""))
        clock.now += 7200
        await asyncio.sleep(0.7)
        assert not station.jobs.jobs
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "* * * * * */5", "* * * * * 0 2027", "61 * * * *", "soon", "* * * * H"])
async def test_schedule_that_never_comes_or_is_none_is_refused_and_the_old_one_holds(folder: Path, cron: str) -> None:
    station = supervisor(folder, Clock())
    old = await station.schedule("docs", ScheduleWanted("0 3 * * *"))
    with pytest.raises(UsageError, match="five fields"):
        await station.schedule("docs", ScheduleWanted(cron))
    assert station.scheduled("docs") == old


async def test_crawl_that_cannot_be_started_says_so_and_the_others_run(folder: Path) -> None:
    station = supervisor(folder, Clock())
    (folder / "broken" / LOG_FILE).mkdir(parents=True)
    caller = Caller("ann", True)
    await station.start("broken", StartWanted(), caller)
    await station.start("docs", StartWanted(next=True), caller)
    assert "could not be started" in station.jobs.crawl("broken").error
    running = asyncio.create_task(station.run(stop_nothing))
    await _until(lambda: (folder / "docs/sessions/0002.json").exists() and not station.jobs.jobs)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
