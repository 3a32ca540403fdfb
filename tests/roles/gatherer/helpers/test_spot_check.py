"""Strangers help a gatherer through a real gateway: honest ones are believed, liars change nothing in the store."""

import asyncio
import dataclasses
import io
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from gcs.app import assembly
from gcs.app.processes.helper_process import Loan, make_helper
from gcs.core.helpers.access import Role, entry, helper_name
from gcs.core.helpers.loan import LoanLimits
from gcs.core.messages.template import template
from gcs.core.messages.tuples import (
    Access,
    Charter,
    Control,
    CrawlState,
    CutOff,
    HelperBeat,
    Means,
    Member,
    PageAllowance,
    PlanPosted,
    Seeds,
    SummaryTS,
    UrlTS,
)
from gcs.core.page.values import PageFacts, PageRecord
from gcs.core.plan.plan import Plan
from gcs.core.url.sortkey import LAST_KEY
from gcs.errors import GcsError
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.errands.gateway_client import GatewayErrands, claim_of, open_gateway
from gcs.ports.records.reading import read_records
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.gatherer.helpers import lending
from gcs.roles.station import gateway as gateways
from gcs.roles.station.gateway import Gateway
from gcs.roles.station.http.auth import Authenticator
from gcs.roles.station.http.problems import explain
from gcs.settings import Settings, load

from .test_lending import QUICK as LENDING

QUICK = LENDING | {"helpers.lease_s": 2.0, "trust.lot_s": 0.2, "trust.lot_pages": 10}
TOKEN, THIEF = "a-token-long-enough-for-anna", "a-token-that-somebody-else-found"
KEY = entry(TOKEN, Role.HELPER, label="anna")
#: what must not depend on who has fetched a page
FIELDS = (
    *("final_url", "status", "content_type", "bytes", "digest", "language", "title", "summary", "text"),
    *("outlinks", "simhash", "noindex", "failure", "source"),
)
Put = Callable[[GatewayErrands, SummaryTS], Awaitable[None]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "LOOK_S", 0.02)
    monkeypatch.setattr(gateways, "TEND_S", 0.02)


class Stranger(GatewayErrands):
    """A helper that delivers whatever the test wants."""

    put_instead: Put

    async def put(self, summary: SummaryTS) -> None:
        await self.put_instead(self, summary)

    async def tell(self, summary: SummaryTS) -> None:
        await GatewayErrands.put(self, summary)

    async def say(self, **changes: Any) -> None:
        """Deliver a summary that no honest helper would make."""
        body = msgspec.json.encode(changes)
        await self._line._post("put", body, 10.0)


class Crawl:
    """A gatherer, a gateway in front of its whiteboard, and a stranger with a token."""

    def __init__(self, directory: Path, fakeweb: FakeWebProcess, settings: Settings) -> None:
        self.directory, self.web, self.settings = directory, fakeweb, settings
        self.board = MemoryBoard()
        self.space = MemorySpace(self.board, "test")
        self.authenticator = Authenticator("127.0.0.1")
        self.gateway = Gateway(MemorySpace(self.board, "station"))

    async def run(self, put: Put | None) -> dict[str, PageRecord]:
        """Crawl to the end; returns records by URL."""
        member = assembly.TeamAccess(MemorySpace(self.board, "g0"))
        gatherer = assembly.gatherer(self.directory, "g0", self.settings, list(self.web.seeds), member)
        await self.space.out(Charter(msgspec.json.encode(self.settings), list(self.web.seeds)))
        await self.space.out(KEY)
        app = web.Application(middlewares=[explain, self.authenticator.guard])
        app.add_routes(self.gateway.routes())
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        look = asyncio.create_task(self._look())
        crawl = asyncio.create_task(gatherer.run([]))
        await self.space.out(PlanPosted(1, 1, Plan(1, ("g0",), (b"",), (0,), lost=((b"", LAST_KEY),)).encode()))
        help_ = asyncio.create_task(self._help(put)) if put else None
        while help_ and not await self.space.scan(template(HelperBeat)):
            assert not help_.done() or help_.result()
            await asyncio.sleep(0.01)
        await self.space.out(Seeds(list(self.web.seeds)), to="seeds")
        try:
            async with asyncio.timeout(60):
                quiet = 0
                while quiet < 3:
                    await asyncio.sleep(0.05)
                    heartbeat = await self.space.read(template(Member))
                    quiet = quiet + 1 if heartbeat and heartbeat.passive and heartbeat.figures["pages"] else 0
                    assert not crawl.done() or crawl.result()
                await self.space.out(Control(CrawlState.DONE))
                await crawl
                if help_:
                    await help_
        finally:
            look.cancel()
            await runner.cleanup()
        records = list(read_records(self.directory))
        assert len({record.url for record in records}) == len(records)
        return {record.url: record for record in records}

    async def _look(self) -> None:
        while True:
            self.authenticator.update(await self.space.scan(template(Access)))
            await self.gateway.tend()
            await asyncio.sleep(0.02)

    async def _help(self, put: Put) -> None:
        while True:
            try:
                errands = await open_gateway(self.url, TOKEN, Means.PLAIN)
                break
            except GcsError:
                await asyncio.sleep(0.02)
        errands.__class__ = Stranger
        assert isinstance(errands, Stranger)
        errands.put_instead = put
        try:
            await make_helper(errands, Loan("", limits=LoanLimits(connections=4), allow_private=True)).run()
        except GcsError as error:  # the helper was cut off
            self.farewell = str(error)

    async def cut_off(self) -> list[CutOff]:
        return await self.space.scan(template(CutOff))


def facts(records: dict[str, PageRecord]) -> dict[str, dict[str, Any]]:
    return {url: {name: getattr(record, name) for name in FIELDS} for url, record in records.items()}


SPEC = FakeWebSpec(hosts=4, pages=50, slow=False, traps=False, retry_after_s=0, latency_s=0.01)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeWebProcess]:
    with FakeWebProcess(SPEC) as running:
        yield running


@pytest.fixture
def fakeweb(server: FakeWebProcess) -> FakeWebProcess:
    server.reset()
    return server


@pytest.fixture(scope="module")
def truth(server: FakeWebProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The records that a gatherer stores of this web without helpers."""
    alone = Crawl(tmp_path_factory.mktemp("alone"), server, load(None, {}, QUICK))
    return facts(asyncio.run(alone.run(None)))


async def honest(errands: GatewayErrands, summary: SummaryTS) -> None:
    assert isinstance(errands, Stranger)
    await errands.tell(summary)


async def test_honest_stranger_is_believed(tmp_path: Path, fakeweb: FakeWebProcess, truth: Any) -> None:
    crawl = Crawl(tmp_path, fakeweb, load(None, {}, QUICK))
    helped = await crawl.run(honest)
    assert facts(helped) == truth
    assert set(helped) >= survey(fakeweb.web).pages
    assert sum(record.helper == helper_name(KEY) for record in helped.values()) > 10
    assert not await crawl.cut_off()


async def test_pages_that_cannot_be_held_are_fetched_again(tmp_path: Path, fakeweb: FakeWebProcess, truth: Any) -> None:
    crawl = Crawl(tmp_path, fakeweb, load(None, {}, QUICK | {"trust.held_mb": 0.0001}))
    helped = await crawl.run(honest)
    assert facts(helped) == truth
    believed = [record for record in helped.values() if record.helper]
    assert all(record.bytes <= 100 for record in believed)
    assert not await crawl.cut_off()


def told(summary: SummaryTS, **changes: Any) -> SummaryTS:
    """The summary with other values: of the page, or of the answer."""
    page = {name: changes.pop(name) for name in list(changes) if name in PageFacts.__struct_fields__}
    return msgspec.structs.replace(summary, page=msgspec.structs.replace(summary.page, **page), **changes)


async def made_up_links(errands: Stranger, summary: SummaryTS) -> None:
    evil = ["http://127.0.0.1:9/evil", *summary.page.outlinks]
    await errands.tell(told(summary, outlinks=evil))


async def links_kept_back(errands: Stranger, summary: SummaryTS) -> None:
    await errands.tell(told(summary, outlinks=[]))


async def made_up_text(errands: Stranger, summary: SummaryTS) -> None:
    await errands.tell(told(summary, title="Buy pills", text="evil pills " * 50, body=b"", request_head=b""))


def liar(**changes: Any) -> Any:
    """Deliver the true summary, except for these fields."""

    async def lie(errands: Stranger, summary: SummaryTS) -> None:
        await errands.tell(told(summary, **changes) if summary.status == 200 else summary)

    lie.__name__ = f"false_{'_'.join(changes)}"
    return lie


def second(name: str, value: str, *, first: bool = False) -> Any:
    """Deliver the true summary, with one more header of a name."""

    async def lie(errands: Stranger, summary: SummaryTS) -> None:
        more = [(name, value), *summary.headers] if first else [*summary.headers, (name, value)]
        await errands.tell(told(summary, headers=more) if summary.status == 200 else summary)

    lie.__name__ = f"{'first' if first else 'last'}_of_two_{name}"
    return lie


async def another_charset(errands: Stranger, summary: SummaryTS) -> None:
    """The type is true, but what is stored of it is not."""
    await errands.tell(told(summary, headers=[("Content-Type", "text/html; charset=evil")]))


async def made_up_title(errands: Stranger, summary: SummaryTS) -> None:
    """A few words where the page says many."""
    await errands.tell(told(summary, title="evil", text=f"{summary.page.text} " * 9))


async def another_address(errands: Stranger, summary: SummaryTS) -> None:
    """The page belongs to where it only links to."""
    await errands.tell(told(summary, final_url=(summary.page.outlinks or [summary.url])[-1]))


async def page_where_there_is_none(errands: Stranger, summary: SummaryTS) -> None:
    page = {"status": 200, "text": "evil evil evil", "outlinks": ["http://127.0.0.1:9/evil"], "final_url": summary.url}
    await errands.tell(told(summary, **page))


async def another_page(errands: Stranger, summary: SummaryTS) -> None:
    """Everything is true, but of one page for all."""
    first = getattr(errands, "first", summary)
    errands.first = first  # type: ignore[attr-defined]
    asked = {"number": summary.number, "url": summary.url, "request_head": summary.request_head}
    await errands.tell(told(first, **asked, final_url=summary.page.final_url))


async def wrong_url(errands: Stranger, summary: SummaryTS) -> None:
    await errands.say(id=summary.id, url="http://127.0.0.1:9/evil", status=200, hrefs=["http://127.0.0.1:9/evil2"])


async def not_on_its_lease(errands: Stranger, summary: SummaryTS) -> None:
    await errands.say(id=f"g0/{summary.run}/{summary.number + 1000}", url=summary.url, status=200)


async def oversized(errands: Stranger, summary: SummaryTS) -> None:
    await errands.say(id=summary.id, url=summary.url, status=200, text="evil " * 300_000)


async def malformed(errands: Stranger, summary: SummaryTS) -> None:
    await errands.say(id=summary.id, url=summary.url, status="200 OK", links={"evil": True})


LIES = (
    *(made_up_links, links_kept_back, made_up_text, made_up_title, page_where_there_is_none, another_page),
    *(another_address, liar(noindex=True), liar(source=True), liar(description="evil"), liar(language="xx")),
    *(liar(status=203), liar(headers=[("Content-Type", "evil/evil")]), liar(size_bytes=1, body=b"", request_head=b"")),
    *(second("content-type", "evil/evil"), second("Content-Type", "evil/evil", first=True), another_charset),
    *(second("content-encoding", "br"), second("Content-Encoding", "br", first=True), liar(shell=True)),
    *(wrong_url, not_on_its_lease, oversized, malformed),
)


#: true of most pages, as where the text tells the language: who says so lies now and then, and is caught by chance
OF_FEW_PAGES = ("false_language", "false_source", "links_kept_back")


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
async def test_liar_changes_nothing_in_the_store_and_the_log_names_it(
    tmp_path: Path, fakeweb: FakeWebProcess, truth: Any, lie: Any, caplog: pytest.LogCaptureFixture
) -> None:
    share = {"trust.share": 1.0} if lie.__name__ in OF_FEW_PAGES else {}
    crawl = Crawl(tmp_path, fakeweb, load(None, {}, QUICK | share))
    with caplog.at_level(logging.WARNING, "gcs"):
        records = await crawl.run(lie)
    assert facts(records) == truth
    assert not any("evil" in msgspec.json.encode(record).decode() for record in records.values())
    assert {record.helper for record in records.values()} == {""}
    (note,) = await crawl.cut_off()
    assert note.helper == helper_name(KEY)
    assert not await crawl.space.scan(template(Access))
    assert "revoked" in crawl.farewell or "cut off" in crawl.farewell
    ours = [record for record in caplog.records if record.name.startswith("gcs.")]  # other libraries' have no fields
    names = {record.message for record in ours if vars(record)["fields"].get("helper") == helper_name(KEY)}
    assert names & {"spot-check.lied", "gateway.refused"} and names & {"lending.cut-off", "gateway.cut-off"}


async def test_replayed_claims_and_a_thief_change_nothing(tmp_path: Path, fakeweb: FakeWebProcess, truth: Any) -> None:
    """Claims are sent twice, and again with another token, or without one."""
    statuses: list[int] = []

    async def again(errands: Stranger, summary: SummaryTS) -> None:
        body = msgspec.json.encode(claim_of(summary))
        statuses.extend([(await errands._line._post("put", body, 10.0))[0] for _ in range(2)])
        async with errands._line._session.post(
            f"{errands._line._url}/gateway/put", data=io.BytesIO(body), headers={"Authorization": f"Bearer {THIEF}"}
        ) as answer:
            statuses.append(answer.status)

    crawl = Crawl(tmp_path, fakeweb, load(None, {}, QUICK))
    records = await crawl.run(again)  # type: ignore[arg-type]
    assert facts(records) == truth
    assert Counter(statuses) == dict.fromkeys((200, 409, 401), len(statuses) // 3) != {}
    assert not await crawl.cut_off()


async def test_liar_that_was_honest_at_first_is_caught_and_its_pages_are_fetched_again(
    tmp_path: Path, fakeweb: FakeWebProcess, truth: Any
) -> None:
    """The pages that it delivered while it was honest stay: they were checked."""
    count = 0

    async def later(errands: Stranger, summary: SummaryTS) -> None:
        nonlocal count
        count += summary.status == 200
        await (errands.tell(summary) if count <= 40 else made_up_links(errands, summary))

    trust = {"trust.share": 0.25, "trust.lies": 1, "trust.lot_pages": 4, "fetch.connections": 1}
    crawl = Crawl(tmp_path, fakeweb, load(None, {}, QUICK | trust))
    records = await crawl.run(later)  # type: ignore[arg-type]
    assert await crawl.cut_off()
    told = [record for record in records.values() if record.helper]
    false = [record for record in told if "http://127.0.0.1:9/evil" in record.outlinks]
    assert told
    assert len(false) <= 3  # one mixed lot in which only honest pages were drawn
    true = {url: fact for url, fact in facts(records).items() if "evil" not in str(fact)}
    assert true == {url: fact for url, fact in truth.items() if url in true}


async def test_page_that_is_different_every_time_accuses_nobody(tmp_path: Path) -> None:
    counter = 0

    async def page(request: web.Request) -> web.Response:
        nonlocal counter
        counter += 1
        if request.path == "/robots.txt":
            return web.Response(status=404)
        links = "".join(f"<a href=/p{number}>{counter}-{number}</a>" for number in range(20))
        wild = f"<a href=/wild/{counter}></a><p>{' '.join(str(counter * n) for n in range(300))}"
        await asyncio.sleep(0.02)
        return web.Response(
            text=f"<title>{counter}</title>{links if request.path == '/' else wild}", content_type="text/html"
        )

    app = web.Application()
    app.router.add_get("/{tail:.*}", page)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()

    @dataclasses.dataclass
    class Wild:
        seeds: tuple[str, ...]

    wild = Wild((f"http://127.0.0.1:{runner.addresses[0][1]}/",))
    settings = load(None, {}, QUICK | {"crawl.max_pages": 60, "fetch.connections": 1, "trust.lies": 1})
    crawl = Crawl(tmp_path, wild, settings)  # type: ignore[arg-type]
    member = assembly.TeamAccess(MemorySpace(crawl.board, "g0"))
    gatherer = assembly.gatherer(tmp_path, "g0", settings, list(wild.seeds), member)
    task = asyncio.create_task(gatherer.run([]))
    await crawl.space.out(PlanPosted(1, 1, Plan(1, ("g0",), (b"",), (0,), lost=((b"", LAST_KEY),)).encode()))
    await crawl.space.out(PageAllowance("g0", 1, 60))
    await crawl.space.out(HelperBeat("wild@1", connections=8), ttl_s=60.0)
    await asyncio.sleep(0.1)
    await crawl.space.out(Seeds(list(wild.seeds)), to="seeds")
    brought = 0
    async with asyncio.timeout(60):
        while not task.done():  # the stranger: reads the true page, which is another one for everybody
            for taken in await crawl.space.take_many([template(UrlTS)], at="pool//plain", limit=8, timeout_s=0.05):
                errand = taken.item
                number = brought = brought + 1
                summary = SummaryTS(
                    *(errand.gatherer, errand.run, errand.number, errand.url, "wild@1", 200),
                    page=PageFacts(title=f"x{number}", outlinks=[f"http://127.0.0.1:1/wild/x{number}"]),
                    trusted=False,
                )
                await crawl.space.out(summary, to="g0")
                await crawl.space.ack([taken])
            await asyncio.sleep(0.01)
    await runner.cleanup()
    assert brought > 5
    assert not await crawl.cut_off()
    assert not any(record.helper for record in read_records(tmp_path))
