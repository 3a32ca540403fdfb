"""News by NNTP (RFC 3977): a server is a list of groups, a group a list of articles, an article a page.

One connection a question: politeness puts a delay between two of them anyway. It goes only to addresses that the guard
lets pass, the very address that was checked.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote, urlsplit

from gcs.core.page.values import FailureKind
from gcs.ports.fetch import FetchSettings
from gcs.ports.fetch.guard import forbidden
from gcs.ports.fetch.sources import LISTED, MISSING, Answer, listing

_PORTS = {"nntp": 119, "nntps": 563}
#: of a line of a list; RFC 3977 says 512, servers say more
_LINE_BYTES = 1 << 16


class NewsError(Exception):
    """There is no article or list; `found` is the answer instead."""

    def __init__(self, found: Answer | FailureKind) -> None:
        super().__init__(found)
        self.found = found


async def read_news(url: str, settings: FetchSettings) -> Answer | FailureKind:
    """A list of groups or articles, or one article."""
    parts = urlsplit(url)
    group, _, number = unquote(parts.path)[1:].partition("/")
    after = unquote(parts.query.removeprefix("after=")) if parts.query.startswith("after=") else ""
    if any(ord(char) <= ord(" ") for char in group + number + after):
        return MISSING  # a line break would begin a command of its own
    try:
        async with asyncio.timeout(settings.total_timeout_s), _connection(url, settings) as server:
            if not group:
                groups = [line.split()[0] for line in await server.lines("LIST ACTIVE", "215")]
                return listing(f"{name}/" for name in sorted(groups) if f"{name}/" > after)
            low, high = (await server.ask(f"GROUP {group}", "211")).split()[2:4]
            if number:
                article = await server.block(f"ARTICLE {int(number)}", "220")
                return Answer(content_type="message/rfc822", body=article)
            first = int(after) + 1 if after else int(low)
            numbers: list[str] = []
            width = LISTED
            while first <= int(high) and len(numbers) <= LISTED:
                numbers += await server.lines(f"LISTGROUP {group} {first}-{first + width}", "211")
                first, width = first + width + 1, 2 * width  # numbers may have large gaps
            return listing(numbers)
    except (ValueError, IndexError):
        return MISSING if number or after else FailureKind.PROTOCOL
    except NewsError as error:
        return error.found
    except TimeoutError:
        return FailureKind.TIMEOUT
    except ssl.SSLError:
        return FailureKind.TLS
    except EOFError:
        return FailureKind.PROTOCOL
    except OSError:
        return FailureKind.CONNECT


class _Server:
    """An NNTP server that has greeted us."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, max_bytes: int) -> None:
        self._reader, self._writer, self._max_bytes = reader, writer, max_bytes

    async def ask(self, command: str, good: str) -> str:
        """Send a command; returns the line that answers it, if that begins with `good`."""
        if command:
            self._writer.write(f"{command}\r\n".encode())
        line = (await self._reader.readuntil(b"\n")).decode("utf-8", "replace").strip()
        if not line.startswith(good):
            # 41x, 42x, 430: there is none; else not now, or not for us
            raise NewsError(MISSING if line.startswith(("41", "42", "43")) else Answer(503))
        return line

    async def block(self, command: str, good: str) -> bytes:
        """The lines that follow the answer, as they were before they were sent."""
        await self.ask(command, good)
        lines, size_bytes = [], 0
        while (line := await self._reader.readuntil(b"\n")).rstrip(b"\r\n") != b".":
            lines.append(line[1:] if line.startswith(b"..") else line)
            size_bytes += len(line)
            if size_bytes > self._max_bytes:
                raise NewsError(FailureKind.TOO_LARGE)
        return b"".join(lines)

    async def lines(self, command: str, good: str) -> list[str]:
        """The block as lines of text, without empty lines."""
        text = (await self.block(command, good)).decode("utf-8", "replace")
        return [line.strip() for line in text.splitlines() if line.strip()]


@asynccontextmanager
async def _connection(url: str, settings: FetchSettings) -> AsyncIterator[_Server]:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    async with asyncio.timeout(settings.connect_timeout_s):
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
        address = str(found[0][4][0])
        if not settings.allow_private and forbidden(address):
            raise NewsError(FailureKind.FORBIDDEN_ADDRESS)
        context = ssl.create_default_context(cafile=settings.ca_file) if parts.scheme == "nntps" else None
        reader, writer = await asyncio.open_connection(
            address, port, ssl=context, server_hostname=host if context else None, limit=_LINE_BYTES
        )
    try:
        server = _Server(reader, writer, settings.max_body_bytes)
        await server.ask("", "20")
        yield server
        writer.write(b"QUIT\r\n")
    finally:
        writer.close()
