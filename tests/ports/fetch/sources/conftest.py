"""Asks the engine for one URL, as a gatherer would."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gcs.core.page.values import Request, Result
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.aio_engine import AioFetcher
from gcs.ports.fetch.sources.source_engine import SourceFetcher

Ask = Callable[..., Awaitable[Result]]


@pytest.fixture
def ask() -> Ask:
    async def ask(url: str, *sources: str, etag: str | None = None, **settings: object) -> Result:
        answers: asyncio.Queue[Result] = asyncio.Queue()
        wish = FetchSettings(sources=sources, user_agent="test", **settings)
        engine = SourceFetcher(wish, answers.put_nowait, lambda sink: AioFetcher(wish, sink))
        await engine.open()
        try:
            engine.start(Request(url, etag=etag))
            assert (engine.in_flight, answers.empty()) == (1, True)
            result = await asyncio.wait_for(answers.get(), 30)
            assert engine.in_flight == 0
            return result
        finally:
            await engine.close()

    return ask
