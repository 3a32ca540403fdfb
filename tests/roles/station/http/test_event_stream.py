"""Live events: everything at once, then what has changed; and an end when the token or the station ends."""

import asyncio
import json

import pytest

from gcs.core.helpers.access import Role, entry
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Access, Control, CrawlState
from gcs.roles.station.station import ListenAddress
from tests.roles.station.stage import stage


async def events(answer, count):
    found = []
    async for line in answer.content:
        if line.startswith(b"event: "):
            topic = line[7:].strip().decode()
        elif line.startswith(b"data: "):
            found.append((topic, json.loads(line[6:])))
            if len(found) == count:
                break
    return found


async def test_stream_sends_everything_then_what_has_changed():
    async with stage() as at:
        answer = await at.call("/api/events")
        assert answer.status == 200 and answer.content_type == "text/event-stream"
        first = dict(await events(answer, 5))
        assert set(first) == {"status", "links", "rebalances", "errors", "pages"}
        assert first["links"] == await at.get("/api/links")
        await at.space.out(Control(CrawlState.PAUSED, "user"))
        await at.poller.poll()
        [(topic, status)] = await events(answer, 1)
        assert (topic, status["state"]) == ("status", "paused")


async def test_stream_ends_with_the_token():
    kept = entry("gcs_a-token-that-comes-and-goes", Role.VIEW)
    async with stage(ListenAddress("0.0.0.0", 0)) as at:
        await at.space.out(kept)
        await at.poller.poll()
        answer = await at.call("/api/events", headers={"Authorization": "Bearer gcs_a-token-that-comes-and-goes"})
        assert len(await events(answer, 5)) == 5
        await at.space.remove(template(Access, id=kept.id))
        await at.poller.poll()
        assert await events(answer, 100) == []  # it ends, although the station goes on


async def test_stream_shows_how_it_ended_before_it_closes():
    async with stage() as at:
        answer = await at.call("/api/events")
        await events(answer, 5)
        await at.space.out(Control(CrawlState.DONE, "g1"))
        closing = asyncio.create_task(at.station.shutdown())
        last = dict(await events(answer, 100))
        assert last["status"]["state"] == "done"
        await closing


async def test_stream_takes_so_many_readers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gcs.roles.station.http.event_stream.MOST_READERS", 1)
    async with stage() as at:
        first = await at.call("/api/events")
        await events(first, 5)
        assert (await at.call("/api/events")).status == 503
