"""A slow line to a whiteboard: a TCP proxy on loopback that delivers every byte late, in both directions.

The delay can be changed while connections are open. The bytes of a connection keep their order.
"""

import asyncio
import threading
from collections import deque


class SlowLine:
    """Runs in a thread of its own, so that a test can wait for processes meanwhile. Use as a context manager."""

    def __init__(self, socket: str, round_trip_s: float = 0.0) -> None:
        """`socket`: the unix socket of the server."""
        self._socket = socket
        self.round_trip_s = round_trip_s
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        """The whiteboard behind the line, for --space."""
        return f"redis://127.0.0.1:{self.port}"

    def __enter__(self) -> "SlowLine":
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self.round_trip_s)  # the handshake of TCP
        try:
            there, back = await asyncio.open_unix_connection(self._socket)
        except OSError:  # the server is away
            writer.close()
            return
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._carry(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Deliver what comes, each piece half a round trip after it came."""
        waiting: deque[tuple[float, bytes]] = deque()
        news = asyncio.Event()

        async def deliver() -> None:
            while True:
                while not waiting:
                    news.clear()
                    await news.wait()
                due_at, piece = waiting.popleft()
                await asyncio.sleep(max(0.0, due_at - self._loop.time()))
                if not piece:
                    return
                sink.write(piece)
                await sink.drain()

        delivery = asyncio.create_task(deliver())
        try:
            while True:
                piece = await source.read(1 << 16)
                waiting.append((self._loop.time() + self.round_trip_s / 2, piece))
                news.set()
                if not piece:
                    await delivery
                    return
        except OSError:  # the other side has gone
            pass
        finally:
            delivery.cancel()
            sink.close()
