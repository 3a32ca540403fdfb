"""The engine in front of the others: requests for web pages go on to the web's engine, those for sources are read here.

Invariant: a source is read only if it lies below one that the user has named (`fetch.sources`), whoever asks for it.
"""

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.core.url.sources import is_below, is_source
from gcs.events import Events
from gcs.ports.fetch import Fetcher, FetchSettings, Sink
from gcs.ports.fetch.sources import Answer
from gcs.ports.fetch.sources.database import read_database
from gcs.ports.fetch.sources.database_server import read_server
from gcs.ports.fetch.sources.files import read_file
from gcs.ports.fetch.sources.imap import read_mail_server
from gcs.ports.fetch.sources.mailbox import read_mailbox
from gcs.ports.fetch.sources.news import read_news

events = Events("source")


class SourceFetcher:
    """See `gcs.ports.fetch.Fetcher`."""

    def __init__(self, settings: FetchSettings, sink: Sink, make_web: Callable[[Sink], Fetcher]) -> None:
        self._settings, self._sink, self._web = settings, sink, make_web(sink)
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = 0

    @property
    def in_flight(self) -> int:
        return self._web.in_flight + self._open

    async def open(self) -> None:
        await self._web.open()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._web.close()

    def start(self, request: Request) -> None:
        if is_source(request.url):
            self._open += 1
            task = asyncio.get_running_loop().create_task(self._answer(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._web.start(request)

    async def _answer(self, request: Request) -> None:
        started_at, begun_s = time.time(), time.monotonic()
        try:
            found = await self._read(request)
        except Exception as error:  # a damaged file may raise anything, and every request must be answered
            events.warning("failed", url=request.url, cause=error)
            found = FailureKind.PROTOCOL
        self._open -= 1  # first: the sink may look at `in_flight`
        self._sink(_result(request, found, started_at, time.monotonic() - begun_s))

    async def _read(self, request: Request) -> Answer | FailureKind:
        url, limit = request.url, self._settings.max_body_bytes
        root = next((root for root in self._settings.sources if is_below(url, root)), None)
        if root is None:
            return FailureKind.FORBIDDEN_ADDRESS
        parts = urlsplit(url)
        after = unquote(parts.query.removeprefix("after=")) if parts.query.startswith("after=") else ""
        place = Path(unquote(urlsplit(root).path))
        match parts.scheme:
            case "file":
                return await asyncio.to_thread(read_file, parts.path, after, place, request.etag or "", limit)
            case "mail" if parts.netloc != "localhost":
                settings = self._settings
                timeout_s, ca_file = settings.connect_timeout_s, settings.ca_file
                return await asyncio.to_thread(
                    read_mail_server,
                    *(parts.netloc, parts.path[1:], after, limit),
                    timeout_s=timeout_s,
                    ca_file=ca_file,
                )
            case "mail":
                inside = parts.path.removeprefix(urlsplit(root).path)
                return await asyncio.to_thread(read_mailbox, inside, after, place, limit)
            case "db" if parts.netloc != "localhost":
                return await asyncio.to_thread(read_server, parts.netloc, parts.path[1:], after, limit)
            case "db":
                inside = parts.path.removeprefix(urlsplit(root).path)
                return await asyncio.to_thread(read_database, inside, after, place, limit)
            case _:
                return await read_news(url, self._settings)


def _result(request: Request, found: Answer | FailureKind, started_at: float, elapsed_s: float) -> Result:
    if isinstance(found, FailureKind):
        return Failure(request, found, f"{request.url}: {found}", started_at, elapsed_s)
    return Response(
        request=request,
        status=found.status,
        reason="",
        http_version="",  # none was spoken
        headers=found.headers,
        body=found.body,
        content=found.body,
        request_head=b"",
        ip="",
        started_at=started_at,
        elapsed_s=elapsed_s,
        absent=None if found.status == HTTPStatus.OK else (0, ""),  # nothing to archive
    )
