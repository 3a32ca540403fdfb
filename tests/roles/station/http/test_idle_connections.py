"""Idle connections are closed, those with a request under way are not."""

import asyncio

import pytest

from gcs.roles.station.http import idle_connections
from gcs.roles.station.http.idle_connections import IdleConnections
from tests.roles.station.stage import Stage, stage

#: a request whose head never ends, and none at all
TORN, SILENT = b"GET /healthz HTTP/1.1\r\nHost: 127", b""


async def connect(at: Stage, said: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", at.station.address.port)
    writer.write(said)
    return reader, writer


async def test_station_answers_though_somebody_holds_all_the_connections_that_he_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idle_connections, "MOST_IDLE", 4)
    monkeypatch.setattr(idle_connections, "CHECK_S", 0.01)
    async with stage() as at:
        events = await at.call("/api/events")
        held = [await connect(at, said) for said in (TORN, SILENT) * 6]
        async with asyncio.timeout(20):
            await asyncio.gather(*(reader.read() for reader, _ in held[:8]))  # the oldest are closed
        assert await at.get("/api/status")
        assert (await events.content.readline()).startswith(b"retry:")
        assert not events.content.at_eof() and len(at.station._connections()) <= 4 + 2
        for _, writer in held:
            writer.close()


async def test_porter_shows_out_who_asks_for_nothing_for_long() -> None:
    now = 0.0

    class Guest:
        shown_out = False

        def force_close(self) -> None:
            self.shown_out = True

    first, second = Guest(), Guest()
    watching = IdleConnections(lambda: now)
    watching.close_idle([first])
    now = idle_connections.IDLE_S - 1
    watching.close_idle([first, second])
    assert not first.shown_out
    now = idle_connections.IDLE_S
    watching.close_idle([first, second])
    assert first.shown_out and not second.shown_out
