"""Receivers of matches that can fail: what they were given is what a person would have got."""

import asyncio
import json
from typing import Any

from aiohttp import web

from gcs.core.watch.signature import signed_headers


class HookServer:
    """A webhook's server; `behave` says what the next request gets: a status, or "hang"."""

    def __init__(self, secret: str = "") -> None:
        self.taken: list[dict[str, Any]] = []
        self.tries = 0
        self.behave: Any = lambda _: 200
        self._secret, self._port = secret, 0
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> "HookServer":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/hook/{name}", self._take)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    def url(self, name: str = "a") -> str:
        return f"http://127.0.0.1:{self._port}/hook/{name}"

    async def _take(self, request: web.Request) -> web.Response:
        self.tries += 1
        body = await request.read()
        if self._secret:
            identity, at = request.headers["webhook-id"], int(request.headers["webhook-timestamp"])
            assert (
                signed_headers(self._secret, identity, at, body)["webhook-signature"]
                == request.headers["webhook-signature"]
            )
        status = self.behave(request.match_info["name"])
        if status == "hang":
            await asyncio.sleep(60)
        if status == 200:
            self.taken.append(
                {"receiver": request.match_info["name"], "id": request.headers["webhook-id"], **json.loads(body)}
            )
        return web.Response(status=status, headers={"Location": "http://127.0.0.1:9/"} if status == 302 else {})


class MailServer:
    """Enough of SMTP to take a message."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.refuses = False
        self.logins = 0

    async def __aenter__(self) -> "MailServer":
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 test\r\n")
        while line := await reader.readline():
            command = line.split()[0].upper()
            if command == b"DATA":
                writer.write(b"354 go on\r\n")
                data = await reader.readuntil(b"\r\n.\r\n")
                if not self.refuses:
                    self.messages.append(data)
                writer.write(b"451 later\r\n" if self.refuses else b"250 ok\r\n")
            elif command == b"AUTH":
                self.logins += 1
                writer.write(b"235 ok\r\n")
            elif command == b"EHLO":
                writer.write(b"250-test\r\n250 AUTH PLAIN\r\n")
            elif command == b"QUIT":
                writer.write(b"221 bye\r\n")
                break
            else:
                writer.write(b"250 ok\r\n")
        writer.close()
