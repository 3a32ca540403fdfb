"""Lending, from the gatherer's side: each lent request has one result, whatever happens to the helpers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gcs.app import assembly
from gcs.app.processes.helper_process import make_helper
from gcs.core.helpers.loan import Loan, LoanLimits
from gcs.core.helpers.pools import HelperSettings, pool
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Control, CrawlState, HelperBeat, Means, Member, PlanPosted, Seeds, SummaryTS, UrlTS
from gcs.core.page.values import Failure, FailureKind, PageFacts, Request, Response, Result
from gcs.core.plan.plan import Plan
from gcs.core.polite.politeness import HostPace, Politeness, Sharing
from gcs.core.polite.window import Host
from gcs.core.url.queued_url import QueuedUrl
from gcs.core.url.sortkey import LAST_KEY
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWeb
from gcs.ports.errands.whiteboard_errands import WhiteboardErrands
from gcs.ports.records.reading import read_records
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.gatherer.fetch.dispatcher import PageVisit
from gcs.roles.gatherer.helpers import lending
from gcs.roles.gatherer.helpers.lending import Lending, LendingContext, LendingPort
from gcs.settings import Settings, load, terms
from tests.ports.space.ticking_clock import TickingClock

SETTINGS = HelperSettings(lease_s=10.0, offer_s=60.0, ahead=0.0)
POOL = pool("", Means.PLAIN)


class Stand:
    """Lending on a whiteboard whose time the test moves, and a helper's end of it."""

    def __init__(self, place: str = "", **settings: Any) -> None:
        self.clock = TickingClock(1000.0)
        self.board = MemoryBoard(self.clock)
        self.helper = MemorySpace(self.board, "h1")
        self.results: list[Result] = []
        self.cut_off: list[str] = []
        context = LendingContext(
            *(MemorySpace(self.board, "g0"), "g0", place, replace(SETTINGS, **settings)),
            *(Politeness(delay_s=1.0), True, False),
        )
        self.lending = Lending(
            context, LendingPort(self.results.append, lambda: None, self.cut_off.extend, self.clock.now)
        )

    def visit(self, number: int, path: str = "", **pace: Any) -> PageVisit:
        return PageVisit(Host("a.example", HostPace(**pace)), QueuedUrl(f"http://a.example/{path or number}"))

    def lend(self, *numbers: int) -> None:
        for number in numbers:
            self.lending.start(Request(f"http://a.example/{number}", tag=self.visit(number)))

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.001)

    async def beat(self, connections: int, helper: str = "h1", place: str = "", ttl_s: float = 1e9) -> None:
        await self.helper.out(HelperBeat(helper, place, connections=connections), ttl_s=ttl_s)

    async def take(self, count: int, means: Means = Means.PLAIN) -> list[UrlTS]:
        got: list[UrlTS] = []
        async with asyncio.timeout(10):
            while len(got) < count:
                taken = await self.helper.take_many([template(UrlTS)], at=pool("", means), limit=count, lease_s=10.0)
                got += [each.item for each in taken]
                await asyncio.sleep(0.001)
        return got

    async def put(self, errand: UrlTS, status: int = 200, **more: Any) -> None:
        summary = SummaryTS(errand.gatherer, errand.run, errand.number, errand.url, "h1", status, **more)
        await self.helper.out(summary, to="g0")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "LOOK_S", 0.002)


@asynccontextmanager
async def stand(place: str = "", **settings: Any) -> AsyncIterator[Stand]:
    there = Stand(place, **settings)
    assert await there.lending.open() == []
    try:
        yield there
    finally:
        await there.lending.close()


async def test_lending_gives_results_like_a_fetch_engine():
    async with stand() as there:
        await there.beat(4)
        there.lend(1, 2)
        one, two = await there.take(2)
        assert (one.url, one.payload, one.lease_s) == ("http://a.example/1", True, 10.0)
        await there.put(two, 404, headers=[("Server", "x")])
        await there.put(
            one, page=PageFacts(title="T", outlinks=["http://b.example/"]), request_head=b"GET", body=b"<p>"
        )
        await there.until(lambda: len(there.results) == 2)
        missing, page = there.results
        assert isinstance(missing, Response) and missing.status == 404 and missing.header("server") == "x"
        assert isinstance(page, Response) and page.helper == "h1" and page.body == b"<p>" and page.absent is None
        visit = page.request.tag
        assert isinstance(visit, PageVisit) and visit.facts is not None
        assert (visit.facts.title, visit.facts.outlinks) == ("T", ["http://b.example/"])
        assert there.lending.in_flight == 0


async def test_lending_drops_summaries_that_are_late_repeated_of_another_run_or_of_another_page():
    async with stand() as there:
        await there.beat(4)
        there.lend(1, 2)
        one, two = await there.take(2)
        for wrong in ({"run": "before"}, {"number": 77}, {"url": "http://evil.example/"}):
            fields = {"gatherer": "g0", "run": two.run, "number": two.number, "url": two.url, "helper": "h"} | wrong
            await there.helper.out(SummaryTS(**fields, status=200), to="g0")
        await there.put(one)
        await there.put(one)
        await there.put(two)
        await there.until(lambda: len(there.results) >= 2 and not there.board.inbox("g0", SummaryTS).entries)
        assert [result.request.url for result in there.results] == [one.url, two.url]


async def test_lending_keeps_a_page_that_a_helper_has_not_tried_for_the_own_engine():
    async with stand() as there:
        await there.beat(4)
        there.lend(1)
        await there.put((await there.take(1))[0], 0, message="no network")
        await there.until(lambda: there.results)
        (result,) = there.results
        assert isinstance(result, Failure) and result.kind is FailureKind.NOT_TRIED
        visit = there.visit(1)
        assert there.lending.means_for(visit, own_room=False) is None  # for the own engine
        assert there.lending.means_for(visit, own_room=False)  # but only once: if that fails too, helpers may try


async def test_lending_lends_as_much_as_the_helpers_of_its_place_can_hold():
    async with stand("watson") as there:
        assert there.lending.room == 0
        await there.beat(4, "h1", "watson")
        await there.beat(8, "h2", "almaden")
        await there.beat(1, "h3", "watson")
        await there.until(lambda: there.lending.room == 5)
        there.lend(1, 2, 3)
        assert there.lending.room == 2
        for name in ("g0", "g1"):  # two gatherers share the helpers of the place, a third one is elsewhere
            await there.helper.out(Member(name, "run", "watson"))
        await there.helper.out(Member("g2", "run", "almaden"))
        await there.until(lambda: there.lending.room == 0)


async def test_lending_takes_everything_back_when_the_helpers_are_gone():
    async with stand() as there:
        await there.beat(4, ttl_s=5.0)
        there.lend(1, 2, 3)
        held = await there.take(1)
        there.clock.advance(6.0)
        await there.until(lambda: len(there.results) == 2)
        assert {result.request.url for result in there.results} == {"http://a.example/2", "http://a.example/3"}
        there.clock.advance(3.0)  # the helper that vanished may be fetching until its lease ends
        await asyncio.sleep(0.05)
        assert len(there.results) == 2
        there.clock.advance(2.0)
        await there.until(lambda: len(there.results) == 3)
        assert there.results[2].request.url == held[0].url
        assert all(isinstance(each, Failure) and each.kind is FailureKind.NOT_TRIED for each in there.results)


async def test_lending_takes_pages_back_when_told_and_lends_no_more():
    async with stand() as there:
        await there.beat(4)
        await there.until(lambda: there.lending.room == 4)
        there.lend(1, 2)
        there.lending.turn(epoch=1, is_wanted_back=True)
        assert there.lending.room == 0
        await there.until(lambda: len(there.results) == 2)
        there.lending.turn(epoch=1, is_wanted_back=False)
        assert there.lending.room == 4


async def test_lending_gives_up_only_when_no_helper_can_be_fetching():
    """An errand taken in the last moment of its offer may be fetched for one lease more."""
    async with stand() as there:
        await there.beat(4)
        there.lend(1)
        await there.until(lambda: there.board.inbox(POOL, UrlTS).entries)
        there.clock.advance(59.0)
        assert len(await there.take(1)) == 1
        there.clock.advance(11.0)
        await asyncio.sleep(0.05)
        assert there.results == []
        there.clock.advance(2.0)
        await there.until(lambda: there.results)


async def test_lending_removes_the_errands_of_an_earlier_run():
    there = Stand()
    await there.beat(4)
    stale = UrlTS("g0", "before", 1, "http://a.example/old", 10.0)
    other = UrlTS("g1", "run", 1, "http://a.example/other", 10.0)
    await there.helper.out_many(UrlTS, [stale, other], to=POOL)
    assert await there.lending.open() == [stale.url]
    assert await there.take(1) == [other]
    await there.lending.close()


async def test_lending_lends_no_host_whose_delay_a_vanished_helper_could_break():
    async with stand() as there:
        await there.beat(4)
        await there.until(lambda: there.lending.room == 4)
        assert there.lending.means_for(there.visit(1), own_room=False) is Means.PLAIN
        assert there.lending.means_for(there.visit(1, crawl_delay_s=5.0), own_room=False) is Means.PLAIN
        assert there.lending.means_for(there.visit(1, crawl_delay_s=5.1), own_room=False) is None
        assert there.lending.means_for(there.visit(1, sharing=Sharing.SHARED), own_room=False) is None
        assert there.lending.means_for(there.visit(1), own_room=True) is None


async def test_lending_lends_where_answers_or_the_cpu_limit_the_crawl_and_not_where_delays_do():
    async with stand(browser=(r"/app/",)) as there:
        await there.beat(4)
        await there.until(lambda: there.lending.room == 4)
        visit, means_for = there.visit(1), there.lending.means_for
        there.lending.limits("politeness", frozenset())
        assert means_for(visit, own_room=False) is None
        there.lending.limits("latency", frozenset())
        assert (means_for(visit, own_room=False), means_for(visit, own_room=True)) == (Means.PLAIN, None)
        there.lending.limits("cpu", frozenset())
        assert (means_for(visit, own_room=False), means_for(visit, own_room=True)) == (Means.PLAIN, Means.PLAIN)
        there.lending.limits("latency", frozenset({"a.example"}))
        assert means_for(visit, own_room=False) is None, "its delay decides when the crawl ends"
        there.lending.limits("politeness", frozenset({"a.example"}))
        await there.helper.out(HelperBeat("b1", "", Means.BROWSER, 1))
        await there.until(lambda: means_for(there.visit(1, path="app/1"), own_room=True) is Means.BROWSER)


async def test_lending_sends_to_a_browser_pages_of_the_rules_and_empty_shells():
    async with stand(browser=(r"/app/",)) as there:
        ruled, shell = there.visit(1, path="app/1"), there.visit(2)
        assert there.lending.means_for(ruled, own_room=True) is None  # there is no browser
        assert not there.lending.reserve_for_browser(shell.entry.url)
        await there.helper.out(HelperBeat("b1", "", Means.BROWSER, 1))
        await there.until(lambda: there.lending.means_for(ruled, own_room=True) is Means.BROWSER)
        assert there.lending.means_for(shell, own_room=True) is None
        assert there.lending.reserve_for_browser(shell.entry.url)
        assert there.lending.means_for(shell, own_room=True) is Means.BROWSER
        there.lending.start(Request(shell.entry.url, tag=shell), Means.BROWSER)
        (errand,) = await there.take(1, Means.BROWSER)
        await there.put(errand, page=PageFacts(shell=True))
        await there.until(lambda: there.results)
        visit = there.results[0].request.tag
        assert isinstance(visit, PageVisit) and visit.facts is not None and not visit.facts.shell


async def test_lending_does_not_wait_for_a_browser_for_ever():
    async with stand() as there:
        await there.helper.out(HelperBeat("b1", "", Means.BROWSER, 1), ttl_s=5.0)
        visit = there.visit(1)
        await there.until(lambda: there.lending.reserve_for_browser(visit.entry.url))
        there.lending.start(Request(visit.entry.url, tag=visit), Means.BROWSER)
        there.clock.advance(6.0)
        await there.until(lambda: there.results)
        await there.helper.out(HelperBeat("b2", "", Means.BROWSER, 1))
        assert there.lending.means_for(visit, own_room=True) is None  # it is fetched plainly
        await asyncio.sleep(0.02)
        assert not there.lending.reserve_for_browser(visit.entry.url)  # and the shell is stored as it is


async def test_lending_lets_the_first_shells_wait_for_a_browser_to_come():
    async with stand(browser=(r"/app/",), browser_wait_s=10.0) as there:
        visit = there.visit(1)
        url = visit.entry.url
        began = there.clock.now()
        assert there.lending.wait_until(url, is_shell=False) is None
        assert there.lending.wait_until(url, is_shell=True) == began + 10
        assert there.lending.wait_until("http://h1.test/app/", is_shell=False) == began + 10
        assert there.lending.wait_until(url, is_shell=True) is None  # the page has waited: it is stored as it is
        there.clock.advance(10.0)
        assert there.lending.wait_until("http://h2.test/", is_shell=True) is None  # the wait is over for all pages
    async with stand(browser_wait_s=10.0) as there:
        visit = there.visit(1)
        assert there.lending.wait_until(visit.entry.url, is_shell=True)
        assert there.lending.woken() == set()
        await there.helper.out(HelperBeat("b1", "", Means.BROWSER, 1))
        await there.until(lambda: there.lending.means_for(visit, own_room=True) is Means.BROWSER)
        assert there.lending.woken() == {visit.entry.url}, "it need not wait any longer"
        assert there.lending.woken() == set()
        assert there.lending.wait_until("http://h2.test/", is_shell=True) is None  # a browser is there


# -- a whole gatherer --------------------------------------------------------------------------------------

QUICK = {
    "crawl.scope": "any",
    "fetch.allow_private": True,
    "fetch.connections": 2,
    "politeness.delay_s": 0.0,
    "politeness.retry_s": 0.02,
    "politeness.overload_s": 0.02,
    "frontier.fsync": False,
    "frontier.checkpoint_s": 0.1,
    "team.beat_s": 0.05,
    "helpers.lease_s": 3.0,
}


async def crawl(directory: Path, web: FakeWeb, settings: Settings, helpers: int) -> dict[str, Any]:
    """Crawl with one gatherer and so many helpers to the end; returns records by URL."""
    board = MemoryBoard()
    space = MemorySpace(board, "test")
    member = assembly.TeamAccess(MemorySpace(board, "g0"))
    gatherer = assembly.gatherer(directory, "g0", settings, list(web.seeds), member)
    task = asyncio.create_task(gatherer.run([]))
    loan = Loan("", limits=LoanLimits(connections=4), allow_private=True)
    workers = [
        make_helper(WhiteboardErrands(MemorySpace(board, f"h{number}"), terms(settings)), loan)
        for number in range(helpers)
    ]
    works = [asyncio.create_task(worker.run()) for worker in workers]
    await space.out(PlanPosted(1, 1, Plan(1, ("g0",), (b"",), (0,), lost=((b"", LAST_KEY),)).encode()))
    if helpers:  # so that pages can be lent from the first one on
        while len(await space.scan(template(HelperBeat))) < helpers:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
    await space.out(Seeds(list(web.seeds)), to="seeds")
    async with asyncio.timeout(60):
        quiet = 0
        while quiet < 3:
            await asyncio.sleep(0.05)
            heartbeat = await space.read(template(Member))
            quiet = quiet + 1 if heartbeat and heartbeat.passive and heartbeat.figures["pages"] else 0
            assert not task.done() or task.result()
    await space.out(Control(CrawlState.DONE))
    await task
    await asyncio.gather(*works)
    records = list(read_records(directory))
    assert len({record.url for record in records}) == len(records)
    assert gatherer.final_share.counters.helped == {
        helper: sum(record.helper == helper for record in records)
        for helper in {record.helper for record in records} - {""}
    }
    return {record.url: record for record in records}


async def test_gatherer_stores_from_helpers_what_it_stores_by_itself(tmp_path: Path):
    spec = FakeWebSpec(hosts=6, pages=60, slow=False, traps=False, retry_after_s=0, latency_s=0.01)
    settings = load(None, {}, QUICK)
    async with FakeWeb(spec) as web:
        alone = await crawl(tmp_path / "alone", web, settings, 0)
        before = dict(web.log.hosts)
        helped = await crawl(tmp_path / "helped", web, settings, 3)
        assert before and web.log.forbidden == []
    assert set(alone) == set(helped) >= survey(web.web).pages
    assert sum(bool(record.helper) for record in helped.values()) > len(helped) / 4
    assert {record.helper for record in alone.values()} == {""}
    fields = (
        *("final_url", "status", "content_type", "bytes", "digest", "language", "title", "summary", "text"),
        *("outlinks", "simhash", "etag", "last_modified", "noindex", "failure", "source"),
    )
    for url, record in helped.items():
        assert {name: getattr(record, name) for name in fields} == {name: getattr(alone[url], name) for name in fields}
        assert (record.warc_bytes > 0) == (alone[url].warc_bytes > 0)


async def test_gatherer_without_payload_keeps_size_and_digest(tmp_path: Path):
    settings = load(None, {}, QUICK | {"helpers.payload": False})
    async with FakeWeb(FakeWebSpec.plain(hosts=4, pages=40, latency_s=0.02)) as web:
        records = await crawl(tmp_path, web, settings, 2)
    helped = [record for record in records.values() if record.helper]
    assert helped and all(record.bytes and record.digest and not record.warc_file for record in helped)


async def test_gatherer_and_helpers_keep_the_delay_of_each_host(tmp_path: Path):
    """Answers take so long that the two connections of the gatherer are the limit, and not the delays."""
    settings = load(None, {}, QUICK | {"politeness.delay_s": 0.1})
    async with FakeWeb(FakeWebSpec.plain(hosts=12, pages=60, latency_s=0.2)) as web:
        records = await crawl(tmp_path, web, settings, 2)
        gaps = [host.min_gap_s for host in web.log.hosts.values() if host.min_gap_s is not None]
        assert set(records) == survey(web.web).pages
        assert any(record.helper for record in records.values())
        assert min(gaps) >= 0.1
        assert max(host.max_in_flight for host in web.log.hosts.values()) == 1


async def test_gatherer_lends_nothing_where_delays_limit_it(tmp_path: Path):
    settings = load(None, {}, QUICK | {"politeness.delay_s": 0.1, "fetch.connections": 8})
    async with FakeWeb(FakeWebSpec.plain(hosts=2, pages=20)) as web:
        records = await crawl(tmp_path, web, settings, 2)
        assert set(records) == survey(web.web).pages
    assert not any(record.helper for record in records.values())


SHELL = b"<html><head><title>App</title><script src=/app.js></script></head><body><div id=root></div></body></html>"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A site whose home page is an empty shell."""
    path = (await reader.readline()).split()[1]
    while (await reader.readline()).strip():
        pass
    body = SHELL if path == b"/" else b"<p>a page that scripts link to"
    status = b"404 None" if path == b"/robots.txt" else b"200 OK"
    head = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    writer.write(head % (status, len(body)) + body)
    writer.close()


@pytest.fixture
def heading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a plug-in that is installed where gatherers find it."""
    (tmp_path / "heading_plugin.py").write_text("def heading(page):\n    return {'heading': page.first('h1')}\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "heading_plugin:heading"


async def test_plugins_read_the_pages_of_helpers(tmp_path: Path, heading: str):
    """Also where no bytes are kept; they come with the codings that servers have chosen."""
    without = {"store.warc": False, "helpers.payload": False, "crawl.plugins": (heading,)}
    async with FakeWeb(FakeWebSpec.plain(hosts=4, pages=40, codings=True, latency_s=0.02)) as web:
        records = await crawl(tmp_path / "crawl", web, load(None, {}, QUICK | without), 2)
    helped = [record for record in records.values() if record.helper]
    assert helped and {record.url: json.loads(record.fields) for record in helped} == {
        record.url: {"heading": record.title} for record in helped
    }


@pytest.mark.parametrize("is_late", [False, True])
async def test_gatherer_lets_a_browser_see_what_a_plain_fetch_does_not(tmp_path: Path, is_late: bool, heading: str):
    """The test plays the browser, and delivers what scripts would have written. The browser may come after the page."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    start = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    board = MemoryBoard()
    space, browser = MemorySpace(board, "test"), MemorySpace(board, "b1")
    settings = load(None, {}, QUICK | {"helpers.browser_wait_s": 1.0, "crawl.plugins": (heading,)})
    gatherer = assembly.gatherer(tmp_path, "g0", settings, [start], assembly.TeamAccess(MemorySpace(board, "g0")))
    task = asyncio.create_task(gatherer.run([]))
    beat = HelperBeat("b1", "", Means.BROWSER, 1)
    if not is_late:
        await browser.out(beat)
        await asyncio.sleep(0.05)
    await space.out(PlanPosted(1, 1, Plan(1, ("g0",), (b"",), (0,), lost=((b"", LAST_KEY),)).encode()))
    await space.out(Seeds([start]), to="seeds")
    async with asyncio.timeout(30):
        while is_late and not gatherer._lending._rendering._shells:  # the page was fetched plainly, and waits
            await asyncio.sleep(0.02)
        if is_late:
            await browser.out(beat)
        (taken,) = await browser.take_many([template(UrlTS)], at=pool("", Means.BROWSER), limit=1, timeout_s=None)
        errand = taken.item
        facts = PageFacts(outlinks=[f"{start}hidden"])
        head = (errand.gatherer, errand.run, errand.number, errand.url, "b1", 200)
        assert errand.rendered
        summary = SummaryTS(*head, page=facts, body=SHELL, rendered=b"<h1>By a script")
        await browser.out(summary, to="g0")
        await browser.ack([taken])
        while gatherer.counters.pages < 2 or not gatherer.is_quiet():
            await asyncio.sleep(0.02)
    await space.out(Control(CrawlState.DONE))
    await task
    server.close()
    found = {record.url: (record.helper, json.loads(record.fields)["heading"]) for record in read_records(tmp_path)}
    assert (errand.url, found) == (start, {start: ("b1", "By a script"), f"{start}hidden": ("", "")})
