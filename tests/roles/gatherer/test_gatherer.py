"""A gatherer against the fake web: everything that is allowed, nothing twice, nothing forbidden, politely."""

import asyncio
import contextlib
import gzip
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gcs.app import assembly
from gcs.core.page.values import FailureKind, PageRecord
from gcs.core.url.canonical import origin_of_url
from gcs.errors import GcsError, StoreError
from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWeb
from gcs.ports.records.reading import read_records
from gcs.roles.gatherer import Gatherer, GathererState
from gcs.roles.gatherer.fetch import responses
from gcs.settings import load

SMALL = {"pages": 120, "hosts": 9, "exhibits_every": 4, "slow_s": 0.05, "retry_after_s": 0}
QUICK = {
    "crawl.scope": "any",
    "fetch.allow_private": True,
    "politeness.delay_s": 0.0,
    "politeness.retry_s": 0.05,
    "politeness.overload_s": 0.05,
    "politeness.robots_cache_s": 1e6,
    "traps.max_depth": 20,
    "summary.depth": "links",
    "frontier.fsync": False,
    "frontier.checkpoint_s": 0.1,
}


def make(directory: Path, web: FakeWeb, seeds: list[str] | None = None, **changes: Any) -> Gatherer:
    settings = load(None, {}, QUICK | {key.replace("__", "."): value for key, value in changes.items()})
    return assembly.gatherer(directory, "g0", settings, seeds or list(web.seeds))


def pages(directory: Path) -> list[str]:
    return [record.url for record in read_records(directory) if record.is_page]


def beyond_traps(web: FakeWeb, urls: list[str]) -> set[str]:
    return {url for url in urls if not web.web.plan(url).is_trap}


@pytest.mark.parametrize("engine", ["curl", "aiohttp"])
@pytest.mark.parametrize("depth", ["links", "fast", "full"])
async def test_gatherer_stores_every_page_once(tmp_path: Path, engine: str, depth: str) -> None:
    async with FakeWeb(FakeWebSpec(**SMALL)) as web:
        gatherer = make(tmp_path, web, fetch__engine=engine, summary__depth=depth, summary__workers=1)
        assert await gatherer.run(list(web.seeds)) is GathererState.DONE
        truth = survey(web.web)
        stored = pages(tmp_path)
        assert len(stored) == len(set(stored))
        assert beyond_traps(web, stored) == truth.pages | truth.cut_short().keys()
        assert web.log.forbidden == []
        share = gatherer.final_share
        assert share.counters.pages == len(stored)
        assert share.queued == 0
        failed = {record.url for record in read_records(tmp_path) if record.failure}
        assert truth.failed.keys() - truth.cut_short().keys() <= failed


async def test_gatherer_leaves_every_host_its_delay(tmp_path: Path) -> None:
    spec = FakeWebSpec.plain(hosts=6, pages=40, delay_s=0.1, robots=True)
    async with FakeWeb(spec) as web:
        await make(tmp_path, web, politeness__delay_s=spec.delay_s).run(list(web.seeds))
        assert set(pages(tmp_path)) == survey(web.web).pages
        for site in web.web.sites:
            seen = web.log.hosts.get(site.address)
            if seen and seen.min_gap_s is not None:
                assert seen.min_gap_s >= web.web.delay_s(site)
                assert seen.max_in_flight == 1


async def test_gatherer_resumes_where_it_stopped(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=4, pages=200)) as web:
        gatherer = make(tmp_path, web, crawl__max_pages=50)
        assert await gatherer.run(list(web.seeds)) is GathererState.LIMIT
        assert gatherer.final_share.counters.pages == 50
        again = make(tmp_path, web)
        assert await again.run(list(web.seeds)) is GathererState.DONE
        assert sorted(pages(tmp_path)) == sorted(survey(web.web).pages)
        assert again.final_share.counters.pages == 200
        assert web.log.repeated() == {}, "no page is asked for twice"


async def test_gatherer_ends_at_its_limit_of_pages_however_many_answers_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "RESULTS_PER_STEP", 1)
    async with FakeWeb(FakeWebSpec.plain(hosts=6, pages=60)) as web:
        gatherer = make(tmp_path, web, crawl__max_pages=20)
        assert await gatherer.run(list(web.seeds)) is GathererState.LIMIT
        assert len(pages(tmp_path)) == gatherer.counters.pages == 20


async def test_gatherer_does_not_let_answers_pile_up_that_it_cannot_read_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is faster than the crawler would fill its memory."""
    monkeypatch.setattr(responses, "RESULTS_PER_STEP", 1)
    held: list[int] = []
    async with FakeWeb(FakeWebSpec.plain(hosts=6, pages=60)) as web:
        gatherer = make(tmp_path, web, fetch__connections=4)
        answers, take_in = gatherer._responses, gatherer._responses.take_in

        def watched(now: float) -> None:
            held.append(answers.waiting + gatherer._fetcher.own_in_flight)
            take_in(now)

        monkeypatch.setattr(answers, "take_in", watched)
        assert await gatherer.run(list(web.seeds)) is GathererState.DONE
        assert len(pages(tmp_path)) == 60
        assert max(held) == 4


async def test_gatherer_replays_the_log_when_its_frontier_is_older(tmp_path: Path) -> None:
    """As after a kill -9 between two checkpoints: the frontier knows less than the log."""
    async with FakeWeb(FakeWebSpec.plain(hosts=4, pages=150)) as web:
        gatherer = make(tmp_path, web, crawl__max_pages=60, frontier__checkpoint_s=1e6)
        await gatherer.startup(list(web.seeds))
        await gatherer._finished
        await gatherer._fetcher.close()  # no shutdown: nothing was committed
        gatherer._store.close()
        gatherer._frontier.close()
        again = make(tmp_path, web)
        assert await again.run(list(web.seeds)) is GathererState.DONE
        assert sorted(pages(tmp_path)) == sorted(survey(web.web).pages)
        assert again.final_share.counters.pages == 150
        assert not [url for url in web.log.repeated() if not url.endswith("/robots.txt")]


async def test_gatherer_keeps_to_its_scope(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=5, pages=100)) as web:
        await make(tmp_path, web, crawl__scope="host").run(list(web.seeds))
        assert set(pages(tmp_path)) == survey(web.web, scope="host").pages
        assert len(web.log.hosts) == 1


async def test_gatherer_keeps_hosts_to_their_budget(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=3, pages=90)) as web:
        await make(tmp_path, web, politeness__host_pages=7).run(list(web.seeds))
        stored = pages(tmp_path)
        assert {sum(site.origin in url for url in stored) for site in web.web.sites} == {7}


async def test_gatherer_stops_on_request_and_keeps_its_state(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=4, pages=100, latency_s=0.01)) as web:
        gatherer = make(tmp_path, web, fetch__connections=4)
        running = asyncio.create_task(gatherer.run(list(web.seeds)))
        while gatherer.counters.pages < 10:
            await asyncio.sleep(0.005)
        gatherer.stop()
        assert await running is GathererState.STOPPED
        assert 10 <= len(pages(tmp_path)) < 100
        await make(tmp_path, web).run(list(web.seeds))
        assert sorted(pages(tmp_path)) == sorted(survey(web.web).pages)


async def test_gatherer_without_text_workers_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=2, pages=30)) as web:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
        with pytest.raises(GcsError, match=r"no process .*\(No such file or directory\): .* --summary fast"):
            async with asyncio.timeout(60):  # the gatherer used to wait for the text for ever
                await make(tmp_path, web, summary__depth="full").run(list(web.seeds))
        monkeypatch.undo()
        await make(tmp_path, web, summary__depth="full").run(list(web.seeds))
        assert sorted(pages(tmp_path)) == sorted(survey(web.web).pages)


async def test_gatherer_fills_its_window_from_many_hosts(tmp_path: Path) -> None:
    """A window far smaller than the queue and the number of hosts: nothing starves, memory stays small."""
    async with FakeWeb(FakeWebSpec.plain(hosts=60, pages=240)) as web:
        seeds = list(web.web.homes)
        gatherer = make(tmp_path, web, seeds, frontier__window_urls=10, frontier__host_window_urls=2)
        assert await gatherer.run(seeds) is GathererState.DONE
        assert len(pages(tmp_path)) == 240


async def test_gatherer_ends_with_the_error_that_ended_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=2, pages=20)) as web:
        gatherer = make(tmp_path, web)

        def full(*_: object) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(gatherer._store, "flush", full)
        with pytest.raises(StoreError, match="the disk is full"):
            await gatherer.run(list(web.seeds))


def records(directory: Path, wanted: Callable[[PageRecord], bool]) -> list[PageRecord]:
    return [record for record in read_records(directory) if wanted(record)]


async def test_gatherer_records_parents_depths_and_links(tmp_path: Path) -> None:
    async with FakeWeb(FakeWebSpec.plain(hosts=2, pages=30)) as web:
        await make(tmp_path, web).run(list(web.seeds))
        by_url = {record.url: record for record in read_records(tmp_path)}
        for record in by_url.values():
            if record.parent:
                parent = by_url[record.parent]
                assert record.url in parent.outlinks
                assert record.depth == parent.depth + 1
            else:
                assert record.url in web.seeds
                assert record.depth == 0


async def test_gatherer_reads_documents_that_were_folded_while_they_waited(tmp_path: Path) -> None:
    """Their content is much larger than their bodies, so it is not kept until a worker has time for it."""
    table = b"name;place\n" + b"Anna;Ghent\n" * 200_000
    body = gzip.compress(table)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /robots.txt"):
                writer.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
            writer.write(head % len(body) + body)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        seeds = [f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{number}" for number in range(3)]
        settings = load(None, {}, QUICK | {"summary.depth": "fast", "summary.workers": 1})
        assert await assembly.gatherer(tmp_path, "g0", settings, seeds).run(seeds) is GathererState.DONE
    found = {record.url: (record.title, record.text.split()[:4]) for record in read_records(tmp_path)}
    assert found == dict.fromkeys(seeds, ("name, place", ["name", "place", "Anna", "Ghent"]))


#: a gatherer whose reader is held for ever by one page, and by one robots.txt. What is left of the watchdog's 10 s is
#: made short for these two only: on a busy machine, the first answers may take their time to load what reads them
HELD_READER = """
import asyncio, signal, sys
from pathlib import Path
from gcs.app import assembly
from gcs.ports.reader import Reader
from gcs.settings import load
import msgspec
directory, bomb, robots_bomb, settings, *seeds = sys.argv[1:]
def hold():
    assert signal.getitimer(signal.ITIMER_PROF)[0] > 1, "nobody watches"
    signal.setitimer(signal.ITIMER_PROF, 0.05)
    sum(range(1 << 40))
look = Reader.look
def held(self, response, *rest):
    return hold() if response.request.url == bomb else look(self, response, *rest)
Reader.look = held
async def main():
    gatherer = assembly.gatherer(Path(directory), "g0", load(None, {}, msgspec.json.decode(settings)), seeds)
    answered = gatherer._dispatcher._robots.answered
    def held_robots(origin, *rest):
        return hold() if origin == robots_bomb else answered(origin, *rest)
    gatherer._dispatcher._robots.answered = held_robots
    print(await gatherer.run(seeds))
asyncio.run(main())
"""


async def test_gatherer_gives_up_what_held_its_last_run(tmp_path: Path) -> None:
    """Without that, the page goes to the next gatherer, and to the next, until none is left."""
    async with FakeWeb(FakeWebSpec(**SMALL)) as web:
        truth = survey(web.web).pages
        bomb = min(truth - set(web.seeds))
        origins = sorted({origin_of_url(url) for url in truth} - {origin_of_url(bomb), *map(origin_of_url, web.seeds)})
        settings = msgspec.json.encode(QUICK).decode()
        arguments = [sys.executable, "-c", HELD_READER, str(tmp_path), bomb, origins[0], settings, *web.seeds]
        codes = []
        for _ in range(4):
            process = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
            async with asyncio.timeout(120):
                output = (await process.communicate())[0].decode()
            codes.append(process.returncode)
            if not process.returncode:
                break
        assert codes[-1] == 0 and output.strip() == "done"
        assert codes[:-1] == [-signal.SIGPROF] * len(codes[:-1]) and len(codes) == 3
        failures = {record.url: record.failure for record in read_records(tmp_path) if record.failure}
        assert failures[bomb] == FailureKind.HELD
        assert {failure for url, failure in failures.items() if origin_of_url(url) == origins[0]} == {FailureKind.HELD}
        reachable = {url for url in truth if origin_of_url(url) != origins[0]}
        assert len(set(pages(tmp_path)) & reachable) > len(reachable) / 2
