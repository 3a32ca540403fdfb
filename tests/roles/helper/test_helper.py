"""A helper with a real fetch engine, on a real (loopback) web: what it says, what it keeps to, how it ends."""

import asyncio
import dataclasses
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from gcs.app.processes.helper_process import make_helper
from gcs.core.helpers.loan import Loan, LoanLimits
from gcs.core.helpers.pools import pool
from gcs.core.messages.template import template
from gcs.core.messages.tuples import HelperBeat, Means, Member, SummaryTS, UrlTS
from gcs.core.page.values import Request, Response, Result
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server import FakeWeb
from gcs.ports.errands import HelperTerms
from gcs.ports.errands.whiteboard_errands import WhiteboardErrands
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.curl_engine import CurlFetcher
from gcs.ports.records.warc import payload_digest
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.roles.helper import helper
from gcs.roles.helper.helper import Helper

FETCH = FetchSettings(allow_private=True, user_agent="gcs-test")


class Scene:
    """A web, a whiteboard, and the gatherer's end of it."""

    def __init__(self, web: FakeWeb) -> None:
        self.web = web
        self.board = MemoryBoard()
        self.space = MemorySpace(self.board, "g0")
        self.numbers = 0

    def helper(self, name: str = "h1", lease_s: float = 30.0, fetch: FetchSettings = FETCH, **limits: Any) -> Helper:
        port = WhiteboardErrands(MemorySpace(self.board, name), HelperTerms(fetch=fetch, lease_s=lease_s))
        return make_helper(port, Loan("", limits=LoanLimits(**limits), allow_private=True))

    async def lend(self, *urls: str, **more: Any) -> None:
        for url in urls:
            self.numbers += 1
            await self.space.out(UrlTS("g0", "run", self.numbers, url, 30.0, **more), to=pool("", Means.PLAIN))

    async def summaries(self, count: int) -> dict[str, SummaryTS]:
        found: dict[str, SummaryTS] = {}
        async with asyncio.timeout(30):
            while len(found) < count:
                taken = await self.space.take_many([template(SummaryTS)], at="g0", limit=count, timeout_s=1.0)
                found |= {each.item.url: each.item for each in taken}
                await self.space.ack(taken)
        return found


@asynccontextmanager
async def scene(**spec: Any) -> AsyncIterator[Scene]:
    async with FakeWeb(FakeWebSpec.plain(**({"hosts": 2, "pages": 20} | spec))) as web:
        yield Scene(web)


@asynccontextmanager
async def at_work(worker: Helper) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(worker.run())
    try:
        yield task
    finally:
        worker.stop()
        with suppress(TimeoutError):
            await asyncio.wait_for(task, 20)


async def fetched(url: str) -> Response:
    """The same page, fetched here."""
    results: list[Result] = []
    engine = CurlFetcher(FETCH, results.append)
    await engine.open()
    engine.start(Request(url))
    while not results:
        await asyncio.sleep(0.01)
    await engine.close()
    assert isinstance(results[0], Response)
    return results[0]


async def test_helper_finds_what_a_gatherer_would_have_found():
    async with scene() as there, at_work(there.helper()):
        urls = there.web.web.homes[:2]
        await there.lend(*urls, payload=True)
        found = await there.summaries(2)
        for url in urls:
            answer, summary = await fetched(url), found[url]
            assert (summary.status, summary.body, dict(summary.headers)) == (200, answer.body, dict(answer.headers))
            assert summary.request_head == answer.request_head
            assert (summary.size_bytes, summary.digest) == (len(answer.body), payload_digest(answer.body))
            assert summary.helper == "h1" and summary.page.title and summary.page.text and summary.ip == answer.ip
            assert len(summary.page.outlinks) > 3 and all(
                link.startswith("http://127.") for link in summary.page.outlinks
            )


async def test_helper_says_why_it_finds_nothing_to_do_once_for_each_reason(monkeypatch, caplog):
    monkeypatch.setattr(helper, "IDLE_S", 0.0)
    monkeypatch.setattr(helper, "BEAT_S", 0.01)

    def said() -> list[str]:
        return [each.fields["reason"] for each in caplog.records if each.message == "helper.idle"]

    with caplog.at_level(logging.INFO, "gcs.helper"):
        async with scene() as there, at_work(there.helper()), asyncio.timeout(20):
            while not said():
                await asyncio.sleep(0.01)
            await there.space.out(Member("g0", "run"))
            while len(said()) < 2:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
    assert said() == ["the crawl has no gatherer at work", "nothing to lend: no URLs are queued"]


async def test_helper_leaves_the_payload_where_it_is_not_asked_for():
    async with scene() as there, at_work(there.helper()):
        await there.lend(there.web.seeds[0])
        (summary,) = (await there.summaries(1)).values()
        assert (summary.body, summary.request_head) == (b"", b"")
        assert summary.size_bytes > 0 and summary.digest.startswith("sha1:")


async def test_helper_asks_with_the_validators_of_the_errand():
    async with scene(validators=True) as there, at_work(there.helper()):
        url = there.web.seeds[0]
        await there.lend(url, etag=(await fetched(url)).header("etag") or "")
        assert (await there.summaries(1))[url].status == 304


async def test_helper_says_fetch_it_yourself_where_there_was_no_answer():
    """It may be our own network: the gatherer shall judge."""
    async with scene() as there, at_work(there.helper()):
        await there.lend("http://127.0.0.1:1/closed", "http://nowhere.invalid/")
        for summary in (await there.summaries(2)).values():
            assert (summary.status, summary.failure) == (0, "") and summary.message


async def test_helper_reports_a_page_that_is_too_large_as_far_as_it_came():
    fetch = FetchSettings(allow_private=True, user_agent="gcs-test", max_body_bytes=100)
    async with scene() as there, at_work(there.helper(fetch=fetch)):
        await there.lend(there.web.seeds[0])
        (summary,) = (await there.summaries(1)).values()
        assert (summary.status, summary.truncated, summary.size_bytes) == (200, "length", 100)


async def test_helper_keeps_to_public_addresses_unless_its_owner_says_otherwise():
    async with scene() as there:
        port = WhiteboardErrands(MemorySpace(there.board, "h1"), HelperTerms(fetch=FETCH))
        async with at_work(make_helper(port, Loan("", allow_private=False))):
            await there.lend(there.web.seeds[0])
            (summary,) = (await there.summaries(1)).values()
            assert summary.message.startswith("forbidden-address")
        assert there.web.log.requests == 0


async def test_helper_reads_no_files_and_takes_no_proxy_whoever_tells_it_to(tmp_path):
    """Who runs the crawl, or a gateway that only looks like one, could see its owner's files and network by them."""
    (tmp_path / "diary.txt").write_text("dear diary")
    folder = tmp_path.as_uri().replace("file:///", "file://localhost/") + "/"
    told = dataclasses.replace(FETCH, sources=(folder,), proxy="http://127.0.0.1:9")
    async with scene() as there, at_work(there.helper(fetch=told)):
        await there.lend(folder + "diary.txt", there.web.seeds[0])
        found = await there.summaries(2)
        assert found[folder + "diary.txt"].status == 0
        assert found[there.web.seeds[0]].status == 200


async def test_helper_does_no_more_at_once_than_its_owner_allows():
    async with scene(pages=60, latency_s=0.05) as there, at_work(there.helper(connections=3)):
        await there.lend(*(f"{home}p{number}" for home in there.web.web.homes for number in range(12)))
        await there.summaries(24)
        assert max(host.max_in_flight for host in there.web.log.hosts.values()) <= 3


async def test_helper_ends_when_it_has_fetched_its_share():
    async with scene() as there, at_work(there.helper(connections=1, max_bytes=5_000)) as task:
        await there.lend(*there.web.web.homes, *there.web.web.homes, *there.web.web.homes)
        await asyncio.wait_for(task, 20)
        assert 2 <= there.web.log.requests < 6
        assert await there.space.count(template(UrlTS), at=pool("", Means.PLAIN)) == 6 - there.web.log.requests


async def test_helper_that_is_stopped_gives_back_what_takes_too_long(monkeypatch):
    monkeypatch.setattr(helper, "GRACE_S", 0.2)
    async with scene(latency_s=20) as there:
        worker = there.helper(connections=2)
        async with at_work(worker) as task:
            await there.lend(*there.web.web.homes, f"{there.web.web.homes[0]}more")
            while there.web.log.requests < 2:
                await asyncio.sleep(0.01)
            began = time.monotonic()
            worker.stop()
            await asyncio.wait_for(task, 10)
            assert time.monotonic() - began < 5
        found = await there.summaries(2)
        assert {(summary.status, summary.message) for summary in found.values()} == {(0, "stopped")}
        assert await there.space.count(template(UrlTS), at=pool("", Means.PLAIN)) == 1
        assert await there.space.scan(template(HelperBeat)) == []


async def test_helper_that_is_stopped_finishes_what_is_nearly_done():
    async with scene(latency_s=0.3) as there:
        worker = there.helper(connections=2)
        async with at_work(worker) as task:
            await there.lend(*there.web.web.homes)
            while there.web.log.requests < 2:
                await asyncio.sleep(0.01)
            worker.stop()
            await asyncio.wait_for(task, 10)
        assert {summary.status for summary in (await there.summaries(2)).values()} == {200}


async def test_helper_gives_up_a_request_before_its_lease_ends():
    async with scene(latency_s=20) as there, at_work(there.helper(lease_s=0.6)):
        await there.lend(there.web.seeds[0])
        began = time.monotonic()
        (summary,) = (await there.summaries(1)).values()
        assert (summary.status, summary.failure) == (0, "") and "timeout" in summary.message
        assert time.monotonic() - began < 10


class SlowErrands(WhiteboardErrands):
    """Between the asking and the answer the process was stopped for longer than a lease."""

    now = 0.0

    async def take(self, limit: int, timeout_s: float) -> list[UrlTS]:
        errands = await super().take(limit, timeout_s)
        await asyncio.sleep(0.01)
        SlowErrands.now += self.terms.lease_s if errands else 0.0
        return errands


async def test_helper_does_not_begin_what_came_too_late():
    async with scene() as there:
        port = SlowErrands(MemorySpace(there.board, "h1"), HelperTerms(fetch=FETCH))
        worker = make_helper(port, Loan("", allow_private=True), clock=lambda: SlowErrands.now)
        async with at_work(worker):
            await there.lend(there.web.seeds[0])
            while SlowErrands.now < 3 * port.terms.lease_s:
                await asyncio.sleep(0.01)
        assert there.web.log.requests == 0
        assert await there.space.count(template(UrlTS), at=pool("", Means.PLAIN)) == 1


async def test_helper_beats_with_what_it_can_hold():
    async with scene() as there, at_work(there.helper(connections=8, rate=2.5)):
        async with asyncio.timeout(10):
            beat = await there.space.read(template(HelperBeat), timeout_s=None)
        assert beat is not None and (beat.helper, beat.connections) == ("h1", 3)


async def test_helper_whose_errand_port_fails_says_so():
    class Broken(WhiteboardErrands):
        async def take(self, limit: int, timeout_s: float) -> list[UrlTS]:
            raise OSError("no errands")

    async with scene() as there:
        port = Broken(MemorySpace(there.board, "h1"), HelperTerms(fetch=FETCH))
        with pytest.raises(OSError, match="no errands"):
            await asyncio.wait_for(make_helper(port, Loan("")).run(), 10)


async def test_helper_without_answers_rests_and_leaves_errands_to_others():
    """It may be its own network: what it could not fetch is untried, and it takes no more for a while."""
    async with scene() as there:
        await there.lend(*(f"http://127.0.0.1:9/{number}" for number in range(100)))
        async with at_work(there.helper(connections=4)), asyncio.timeout(20):
            while not any(beat.connections == 0 for beat in await there.space.scan(template(HelperBeat))):
                await asyncio.sleep(0.02)
            left = await there.space.count(template(UrlTS), at=pool("", Means.PLAIN))
            assert 100 - left <= helper.MISSES + 2 * 4
            untried = await there.summaries(helper.MISSES)
            assert not any(summary.status or summary.failure for summary in untried.values())
