"""A tab: renders one page at a time from an answer that is already here.

What the page asks for while it renders comes to `_answer`: scripts, styles and data by GET are fetched by the engine
below and count for its readiness; pictures, sound and fonts say nothing to a crawler and are refused, as is
everything that is not a GET: a crawler must change nothing in the world. A script that sends its reader elsewhere
stays where it is, and where it wanted to go is one more link.

Invariant: `render` ends within load_s and PROMPT_S, whatever the page does; a tab that hangs is thrown away.
"""

import asyncio
import contextlib
import html
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from gcs.core.page.values import Request, Response, Result
from gcs.core.url.join import canonical
from gcs.ports.fetch.browser.chromium import BrowserSettings

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Route, WebSocketRoute

#: what a page may load
WANTED = frozenset(("script", "stylesheet", "xhr", "fetch"))
#: headers that describe the message as it was sent, not as we hand it on; cookies are not kept
_DROPPED = frozenset(("content-encoding", "content-length", "transfer-encoding", "set-cookie", "connection"))
#: seconds for what a healthy tab does at once
PROMPT_S = 3.0

_SOURCE = "limit => { const text = document.documentElement.outerHTML; return text.length > limit ? null : text }"

Fetch = Callable[[Request], Awaitable[Result]]


class HangsError(Exception):
    """The tab does not answer any more: throw it away."""


class _Visit:
    """One rendering: what has been asked for, and how much of it is under way."""

    def __init__(self, answer: Response) -> None:
        self.document: Response | None = answer  # until the page has it
        self.requests = 0
        self.pending = 0
        self.moved: list[str] = []  # where scripts wanted to go
        self.changed = asyncio.Event()


class Tab:
    """One page of the browser. Not for two renderings at once."""

    def __init__(self, settings: BrowserSettings, max_chars: int, fetch: Fetch) -> None:
        self._settings = settings
        self._max_chars = max_chars
        self._fetch = fetch
        self._page: Page | None = None
        self._visit: _Visit | None = None

    async def open(self, context: "BrowserContext") -> None:
        """Open the page. One that scripts open besides (window.open) is closed at once."""
        self._page = page = await context.new_page()
        await page.route("**/*", self._answer)
        await page.route_web_socket("**/*", _refuse_socket)
        page.on("popup", lambda popup: _later(popup.close()))
        page.on("dialog", lambda dialog: _later(dialog.dismiss()))

    @property
    def is_open(self) -> bool:
        """Whether there is a page that can render."""
        return self._page is not None and not self._page.is_closed()

    async def render(self, answer: Response) -> str | None:
        """The document of this answer after its scripts; None if it is too large. Raises HangsError."""
        assert self._page
        self._visit = visit = _Visit(answer)
        try:
            await self._load(self._page, visit, answer.request.url)
            async with asyncio.timeout(PROMPT_S):
                text: str | None = await self._page.evaluate(_SOURCE, self._max_chars)
                self._visit = None
                await self._page.goto("about:blank")  # its scripts have had their time
                await self._page.context.clear_cookies()
        except Exception as error:  # whatever Playwright raises: the tab is of no use any more
            raise HangsError(str(error)) from error
        finally:
            self._visit = None
        if text is None:
            return None
        links = "".join(f'<a href="{html.escape(url)}"></a>' for url in dict.fromkeys(visit.moved))
        return f"<!doctype html>{text}{links}"

    async def close(self) -> None:
        """Close the page, if it lets itself be closed."""
        page, self._page = self._page, None
        if page:
            with contextlib.suppress(Exception):  # it hangs, or is gone already: the browser will be ended
                async with asyncio.timeout(PROMPT_S):
                    await page.close()

    async def _load(self, page: "Page", visit: _Visit, url: str) -> None:
        """Until the page has loaded and asks for nothing more, or its time is over: then it counts as it stands."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._settings.load_s
        async with asyncio.timeout_at(deadline):
            await page.goto(url, wait_until="commit")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                loaded = False
                while not loaded:
                    await self._quiet(visit, clock() + self._settings.settle_s)
                    # asked for, because a script that goes elsewhere keeps Playwright from seeing the load event
                    loaded = await page.evaluate("document.readyState") == "complete"

    async def _quiet(self, visit: _Visit, deadline: float) -> None:
        """Until nothing is under way and nothing was asked for in quiet_s."""
        clock = asyncio.get_running_loop().time
        with contextlib.suppress(TimeoutError):
            while clock() < deadline:
                visit.changed.clear()
                until = deadline if visit.pending else min(deadline, clock() + self._settings.quiet_s)
                async with asyncio.timeout_at(until):
                    await visit.changed.wait()

    async def _answer(self, route: "Route") -> None:
        """What the page asks for."""
        asked, visit, page = route.request, self._visit, self._page
        try:
            if visit is None or page is None:
                return await route.abort()
            if asked.is_navigation_request():
                return await self._navigate(route, visit, page)
            visit.requests += 1
            url = canonical(asked.url)
            refused = visit.requests > self._settings.max_requests or asked.resource_type not in WANTED
            if refused or asked.method != "GET" or url is None:
                return await route.abort()
            await self._pass_on(route, visit, url)
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "playwright":
                raise
            # the page has gone on, or is closed: nobody waits for this any more

    async def _navigate(self, route: "Route", visit: _Visit, page: "Page") -> None:
        """The page itself; then a script that sends its reader elsewhere, or a frame, which is a page of its own."""
        if route.request.frame != page.main_frame:
            return await route.abort()
        answer, visit.document = visit.document, None
        if answer is not None:
            return await _fulfill(route, answer)
        visit.moved.append(route.request.url)
        return await route.fulfill(status=204)  # stay

    async def _pass_on(self, route: "Route", visit: _Visit, url: str) -> None:
        visit.pending += 1
        visit.changed.set()
        try:
            result = await self._fetch(Request(url))
            if isinstance(result, Response):
                await _fulfill(route, result)
            else:
                await route.abort()
        finally:
            visit.pending -= 1
            visit.changed.set()


async def _fulfill(route: "Route", answer: Response) -> None:
    headers = {name: value for name, value in answer.headers if name.lower() not in _DROPPED}
    await route.fulfill(status=answer.status, headers=headers, body=answer.content)


async def _refuse_socket(socket: "WebSocketRoute") -> None:
    await socket.close()


_tasks: set[asyncio.Task[None]] = set()


def _later(work: Awaitable[None]) -> None:
    """Do this beside everything else; if it fails, the page is gone, which was the aim."""

    async def do() -> None:
        with contextlib.suppress(Exception):
            await work

    task = asyncio.ensure_future(do())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
