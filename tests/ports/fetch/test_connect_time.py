"""The way to a host is measured by a connection, which the address guard must allow."""

import asyncio

from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.connect_time import round_trip

ALLOWED = FetchSettings(allow_private=True)


async def test_round_trip_is_measured_without_a_request():
    received: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = await reader.read()
        writer.close()
        await writer.wait_closed()
        received.append(heard)

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    seconds = await round_trip(f"http://127.0.0.1:{port}", ALLOWED)
    assert seconds is not None and 0 < seconds < 1
    named = FetchSettings(allow_private=True, resolve=(f"far.example:{port}:127.0.0.1",))
    assert await round_trip(f"http://far.example:{port}", named) is not None
    while len(received) < 2:  # the server hears of the ends later
        await asyncio.sleep(0.01)
    server.close()
    await server.wait_closed()
    assert received and not any(received)


async def test_what_cannot_or_must_not_be_reached_has_no_round_trip():
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    assert await round_trip(f"http://127.0.0.1:{port}", FetchSettings()) is None, "a private address"
    assert await round_trip(f"http://127.0.0.1:{port}", FetchSettings(allow_private=True, proxy="http://p:1")) is None
    server.close()
    await server.wait_closed()
    assert await round_trip(f"http://127.0.0.1:{port}", ALLOWED) is None, "nobody is there any more"
