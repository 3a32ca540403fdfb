"""One estimate: the progress line, `gcs status`, the station and the report say the same of the same state."""

import io
import time
from pathlib import Path

import msgspec
import pytest

import gcs
from gcs.app import team_roster
from gcs.app.progress import Progress
from gcs.app.station.directory_source import TeamSource
from gcs.app.terminal import summary
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Account, Control, CrawlState, Member, MemberState
from gcs.core.report.counters import Counters
from gcs.core.report.report import Share, build, with_outlook
from gcs.core.report.roster import workloads
from gcs.core.report.workload import SlowHost, TimeSpent, Workload
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.station.crawls.source import WhiteboardSource
from gcs.roles.station.view.poller import Poller

SLOW = [SlowHost("a.example", 80, 1.0, "--delay 1")]
#: of a gatherer that has left; they count for --max-pages
GONE_PAGES = 3
POLITE = Workload(
    *(200, 80, 110, (0.4, 0.3, 0.6), 1.0, 1.0, 0.5), spent=TimeSpent(10, 1, 9, 1), slow=SLOW, slow_hosts=1, counted=80
)
WAITING = Workload(
    1000, 400, 600, (0.6, 0.6, 0.6), 20.0, 20.0, spent=TimeSpent(10, 3, 0, 10), in_flight=8, latency_s=0.4
)
BUSY = Workload(1000, 400, 600, (0.6, 0.6, 0.6), 20.0, 20.0, spent=TimeSpent(10, 9, 0, 10), in_flight=8)
IDLE = Workload(spent=TimeSpent(10, 0, 0, 0, 10))
LIMITED = msgspec.structs.replace(POLITE, max_pages=123)

CASES = {
    "40 % explored, at least 1 min 19 s left, limited by 1 host at 1 page/s (--delay 1)": [POLITE, IDLE],
    "60 % explored, 20 s left, waiting for answers (16 requests, 0.4 s each)": [WAITING, WAITING],
    "60 % explored, 20 s left, limited by the CPU": [BUSY],
    "91 % of 123 pages, 10 s left until 123 pages, limited by 1 host at 1 page/s (--delay 1)": [LIMITED],
}


def shown_by_the_progress_line(works: list[Workload], state: str) -> str:
    shown = io.StringIO()
    with Progress(shown, now=-100.0) as bar:
        bar.update(works, state, now=0.0)
    parts = shown.getvalue().rstrip("\n").split(", ")
    return ", ".join(part for part in parts[2:] if not part.endswith(" queued"))


async def shown(works: list[Workload], state: CrawlState) -> dict[str, str]:
    """What each of them shows for a team on the whiteboard that does this work."""
    space = MemorySpace(MemoryBoard(), "test")
    await space.out(Control(state, "user"))
    for at, work in enumerate(works):
        await space.out(Member(f"g{at}", "run", figures={"pages": work.pages, "known": work.known}, work=work))
    await space.out(Member("server", "run", is_server=True))
    await space.out(Member("g9", "run", state=MemberState.GONE))
    gone = Share("g9", Counters(pages=GONE_PAGES), 0, 0, 0, 1.0, session=1)
    before = Share("g8", Counters(pages=999), 0, 0, 0, 1.0, session=0)
    await space.out(Account("g9", msgspec.msgpack.encode(gone)))
    await space.out(Account("g8", msgspec.msgpack.encode(before)))
    members, accounts = await space.scan(template(Member)), await space.scan(template(Account))
    roster = await team_roster._look(space)
    poller = Poller(WhiteboardSource(space, "test"), time.time)
    await poller.poll()
    status = poller.status()
    shares = [
        Share(f"g{at}", Counters(pages=w.pages), w.known, w.queued, 0, w.explored[0], work=w)
        for at, w in enumerate(works)
    ]
    shares.append(gone)
    report = build("test", str(state), shares)
    held = sum(work.pages for work in works) + GONE_PAGES, sum(w.known for w in works), sum(w.queued for w in works)
    behind = build("test", str(state), shares[:1])  # as the last checkpoints tell it
    for figures in (status.report, report, with_outlook(behind, roster.outlook)):
        assert (figures.pages, figures.known_urls, figures.queued) == held
    return {
        "progress": shown_by_the_progress_line(workloads(members, accounts), str(state)),
        "status": team_roster.table(roster).splitlines()[-1],
        "station": status.outlook.text,
        "its report": status.report.outlook.text,
        "report": report.outlook.text,
        "its text": summary(report).splitlines()[-1],
    }


@pytest.mark.parametrize("text", CASES)
async def test_all_say_the_same_of_a_crawl_that_runs(text: str) -> None:
    assert set((await shown(CASES[text], CrawlState.RUNNING)).values()) == {text}


@pytest.mark.parametrize("works", CASES.values())
async def test_all_say_the_same_of_a_crawl_that_is_paused(works: list[Workload]) -> None:
    found = await shown(works, CrawlState.PAUSED)
    assert len(set(found.values())) == 1 and found["progress"].endswith(", paused")


def test_progress_line_says_that_the_whiteboard_is_away() -> None:
    assert shown_by_the_progress_line([POLITE], "away") == "40 % explored, waiting for Redis"


async def test_crawl_whose_gatherers_have_all_gone_is_finished() -> None:
    share = Share("g0", Counters(pages=9), 9, 0, 9, 1.0, work=msgspec.structs.replace(WAITING, known=9, queued=0))
    works = workloads([Member("g0", "run", state=MemberState.GONE)], [Account("g0", msgspec.msgpack.encode(share))])
    assert shown_by_the_progress_line(works, "done") == "100 % explored, finished"


async def test_station_of_a_team_that_has_ended_says_how_it_ended(tmp_path: Path) -> None:
    """The whiteboard goes with the team, and what it said last stands no more."""
    with FakeWebProcess(FakeWebSpec.plain(hosts=1, pages=5)) as web:
        crawl = gcs.crawl(*web.seeds, output=tmp_path, delay=0.0, max_pages=3, settings={"fetch.allow_private": True})
        assert len([page async for page in crawl]) == 3
    address = tmp_path / "state" / "space" / "address"
    address.parent.mkdir()
    address.write_text("redis://team")
    space = MemorySpace(MemoryBoard(), "test")
    await space.out(Control(CrawlState.RUNNING, "user"))
    poller = Poller(TeamSource(space, "test", "redis://team", tmp_path), time.time)
    await poller.poll()
    assert poller.status().state == "waiting"  # as the whiteboard has it
    address.unlink()
    await poller.poll()
    assert (poller.status().state, poller.status().report.pages) == ("limit", 3)
