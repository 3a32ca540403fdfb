"""The browser engine: a page as a reader sees it, after its scripts have run. Headless Chromium, driven by Playwright.

Chromium itself never opens a connection. Whatever a page asks for, its scripts and their requests too, is intercepted
(`chromium`) and fetched by another engine of this port, so that the address guard, the limits and the request heads are
the same for everything; what is not intercepted (web sockets, WebRTC) meets a proxy that is not there.

The answer is the one that the server sent, with its status, headers, body and request head; only `content`, from
which links and text are read, is the document after its scripts have run, in UTF-8 behind a byte order mark (which
goes before whatever charset the header names). A page that cannot be rendered is answered as it was sent.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gcs.core.page.recognise import Format, recognise
from gcs.core.page.values import Request, Response, Result
from gcs.events import Events
from gcs.ports.fetch import Fetcher, FetchSettings, Sink, one_line
from gcs.ports.fetch.chromium import BrowserSettings, Chromium, HangsError, Tab

__all__ = ["BrowserFetcher", "BrowserSettings"]

BOM = b"\xef\xbb\xbf"

events = Events("browser")


class BrowserFetcher:
    """Fetches and renders. The contract stands in `gcs.ports.fetch`."""

    def __init__(
        self, settings: FetchSettings, sink: Sink, browser: BrowserSettings, below: Callable[[Sink], Fetcher]
    ) -> None:
        self._settings, self._sink = settings, sink
        self._below = below(self._arrive)
        self._chromium = Chromium(browser, settings.user_agent)
        self._tabs = [Tab(browser, settings.max_content_bytes, self._fetch) for _ in range(browser.tabs)]
        self._idle: asyncio.Queue[Tab] = asyncio.Queue()
        self._cache = _Cache(browser.cache_bytes)
        self.in_flight = 0
        self._closed = False
        self._rendering: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Raises UsageError where there is no browser, or the engine below will not do."""
        await self._chromium.open()
        await self._below.open()
        for tab in self._tabs:
            self._idle.put_nowait(tab)

    def start(self, request: Request) -> None:
        self.in_flight += 1
        self._below.start(request)

    async def close(self) -> None:
        self._closed = True
        for task in self._rendering:
            task.cancel()
        await asyncio.gather(*self._rendering, return_exceptions=True)
        await self._below.close()
        await self._chromium.close()

    def _arrive(self, result: Result) -> None:
        """The sink of the engine below: what a tab waits for, or a page."""
        waiting = result.request.tag
        if type(waiting) is _Wanted:
            if not waiting.future.done():
                waiting.future.set_result(result)
        elif isinstance(result, Response) and _is_page(result):
            task = asyncio.get_running_loop().create_task(self._render(result))
            self._rendering.add(task)
            task.add_done_callback(self._rendering.discard)
        else:
            self._answer(result)

    def _answer(self, result: Result) -> None:
        self.in_flight -= 1
        if not self._closed:
            self._sink(result)

    async def _render(self, answer: Response) -> None:
        tab = await self._idle.get()
        begun_s = asyncio.get_running_loop().time()
        try:
            if not tab.is_open:
                await tab.open(await self._chromium.context())
            page = await tab.render(answer)
        except HangsError as error:
            events.info("not-rendered", url=answer.request.url, reason=one_line(str(error)))
            page = None
            await tab.close()
        except Exception as error:  # Playwright's, of a browser that does not come back: a page is owed an answer
            events.warning("no-browser", reason=one_line(str(error)))
            page = None
            await tab.close()
        finally:
            self._idle.put_nowait(tab)
        if page is not None:
            answer = msgspec.structs.replace(
                answer,
                content=BOM + page.text.encode("utf-8", "replace"),
                elapsed_s=answer.elapsed_s + asyncio.get_running_loop().time() - begun_s,
                asked_for=page.asked_for,
                picture=page.picture,
            )
        self._answer(answer)

    async def _fetch(self, request: Request) -> Result:
        """A request of a page that is being rendered."""
        if cached := self._cache.get(request.url):
            return cached
        wanted = _Wanted(asyncio.get_running_loop().create_future())
        self._below.start(msgspec.structs.replace(request, tag=wanted))
        result = await wanted.future
        if isinstance(result, Response):
            self._cache.put(request.url, result)
        return result


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Tag of a request that a tab waits for."""

    future: "asyncio.Future[Result]"


class _Cache:
    """Scripts and styles that the next page of a site will ask for again. Filled by tabs; the oldest leave first."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._kept: OrderedDict[str, Response] = OrderedDict()

    def get(self, url: str) -> Response | None:
        return self._kept.get(url)

    def put(self, url: str, answer: Response) -> None:
        control = (answer.header("cache-control") or "").lower()
        kind = recognise(answer.header("content-type") or "", answer.content)
        if answer.status != 200 or kind is not Format.CODE or "no-store" in control or url in self._kept:
            return
        self._kept[url] = answer
        self._size_bytes += len(answer.content)
        while self._size_bytes > self._limit_bytes:
            self._size_bytes -= len(self._kept.popitem(last=False)[1].content)


def _is_page(answer: Response) -> bool:
    if not 200 <= answer.status < 300 or not answer.content:
        return False
    return recognise(answer.header("content-type") or "", answer.content) is Format.HTML
