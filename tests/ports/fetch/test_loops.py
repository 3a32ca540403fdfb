"""The engines on uvloop, which is what a crawl runs on."""

import asyncio
import gzip

import pytest

from gcs.core.page.values import Failure, Request, Response, Result
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.curl_engine import CurlDriver

uvloop = pytest.importorskip("uvloop")

BODY = gzip.compress(b"words of a page " * 2000)


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
            if path == b"/hang":
                await reader.read()
                break
            if path == b"/close":
                break
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
    except (OSError, asyncio.IncompleteReadError):
        pass
    writer.close()


async def crawl(engine, pages: int) -> list[Result]:
    """Many pages, a few at a time, among servers that hang and hang up."""
    results: list[Result] = []
    done = asyncio.Event()

    def sink(result: Result) -> None:
        results.append(result)
        if waiting:
            fetcher.start(Request(waiting.pop()))
        elif fetcher.in_flight == 0:
            done.set()

    fetcher = engine(FetchSettings(allow_private=True, first_byte_timeout_s=3.0, kept_connections=4), sink)
    await fetcher.open()
    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        waiting = [f"{origin}/{n}" for n in range(pages)] + [f"{origin}/hang", f"{origin}/close"] * 2
        for _ in range(16):
            fetcher.start(Request(waiting.pop()))
        async with asyncio.timeout(30):
            await done.wait()
        await fetcher.close()
    return results


def test_engine_runs_on_uvloop(engine) -> None:
    results = uvloop.run(crawl(engine, 300))
    pages = [result for result in results if isinstance(result, Response)]
    failures = sorted(result.kind for result in results if isinstance(result, Failure))
    assert len({page.request.url for page in pages}) == len(pages) == 300
    assert {len(page.content) for page in pages} == {32_000}
    assert failures == ["protocol", "protocol", "timeout", "timeout"]


def test_an_alarm_that_is_due_at_once_may_be_moved() -> None:
    """Uvloop makes a handle without a time of a call that is due already; libcurl's timer has to live with it."""

    async def schedule() -> None:
        driver = CurlDriver(lambda *_: None, 4)
        driver._set_alarm(asyncio.get_running_loop().time())
        driver._schedule(50)
        await driver.close()

    uvloop.run(schedule())
