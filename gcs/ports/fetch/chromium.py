"""The browser of the browser engine: its process, and its tabs, each of which renders one page at a time.

The process is found, started with no way to the network, and started again when it has died or grown.

A tab renders an answer that is already here. What the page asks for while it renders comes to `Tab._answer`: scripts,
styles and data by GET are fetched by the engine below, and the page is not ready before they are here; pictures and
fonts say nothing to a crawler and are refused, unless a picture of the page is wanted. So are sound, and everything
that is not a GET: a crawler must change nothing in the world. A script that sends its reader elsewhere stays where it
is, and where it wanted to go is one more link.

Invariants
- Nothing that runs in the browser can reach an address by itself. Requests are answered by us; what cannot be
  intercepted goes to a proxy on a port where nobody listens, loopback included, and no name is resolved.
- `Tab.render` ends within load_s and PROMPT_S, whatever the page does; a tab that hangs is thrown away.
"""

import asyncio
import contextlib
import html
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gcs.core.page.values import THUMBNAIL_LENGTH, Request, Response, Result
from gcs.core.url.canonical import canonical
from gcs.errors import SettingsError, UsageError
from gcs.events import Events
from gcs.ports.fetch import one_line

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page, Playwright, Route, WebSocketRoute

#: browsers to look for
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync", "--disable-component-update"),
    *("--disable-background-networking", "--disable-domain-reliability", "--no-pings"),
    # port 9 is "discard": nobody listens there
    *("--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND"),
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
START_S, STOP_S = 30.0, 5.0

#: what a page may load
WANTED = frozenset(("script", "stylesheet", "xhr", "fetch"))
#: … and where a picture of it is taken
SHOWN = frozenset((*WANTED, "image", "font"))
#: pixels of the window, the bounds of a picture of it and its quality
WIDTH, HEIGHT, LARGEST, QUALITY = 1280, 720, 512, 60
#: headers that describe the message as it was sent, not as we hand it on; cookies are not kept
_DROPPED = frozenset(("content-encoding", "content-length", "transfer-encoding", "set-cookie", "connection"))
#: seconds for what a healthy tab does at once
PROMPT_S = 3.0

_SOURCE = "limit => { const text = document.documentElement.outerHTML; return text.length > limit ? null : text }"

Fetch = Callable[[Request], Awaitable[Result]]

events = Events("browser")
_tasks: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """Bounds of what one page may do to us. Time and size of each request are those of the fetch settings."""

    #: the browser to start; empty: the first of chromium, chromium-browser, google-chrome on PATH
    executable: str = ""
    #: pages rendered at once; more do not make one machine faster
    tabs: int = 2
    #: seconds for a page to load; then it counts as it stands
    load_s: float = 15.0
    #: a page that has loaded is ready when it has asked for nothing for so many seconds…
    quiet_s: float = 0.2
    #: …or, if it never rests, after so many
    settle_s: float = 3.0
    #: requests of one page, its scripts and theirs; further ones are refused
    max_requests: int = 100
    #: bytes of scripts and styles kept for the next page that asks for them
    cache_bytes: int = 32 << 20
    #: pages after which the browser is started anew, because it grows
    pages_per_browser: int = 1000
    #: longest side, in pixels, of the picture that is taken of each page; 0: none is taken, and no pictures are loaded
    picture: int = 0

    def __post_init__(self) -> None:
        for name in ("tabs", "load_s", "max_requests", "pages_per_browser"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"browser: {name} must be above 0, not {getattr(self, name)}")


def executable(settings: BrowserSettings) -> str:
    """The browser to start. UsageError: there is none."""
    names = (settings.executable,) if settings.executable else NAMES
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        raise UsageError(
            f"no browser: {' or '.join(names)} is not on PATH; install it (Debian: apt-get install chromium)"
        )
    return found


class Chromium:
    """One browser with one context, which all pages share: a context of its own would cost a page tenfold."""

    def __init__(self, settings: BrowserSettings, user_agent: str) -> None:
        self._settings, self._user_agent = settings, user_agent
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._context: BrowserContext | None = None
        self._starting = asyncio.Lock()
        #: pages opened since the start
        self.pages = 0

    async def open(self) -> None:
        """Start. UsageError: it cannot be started here."""
        path = executable(self._settings)
        try:
            from playwright.async_api import async_playwright
        except ImportError:
            raise UsageError("Playwright is not installed: pip install 'gcs-crawler[browser]'") from None
        self._playwright = await async_playwright().start()
        try:
            await self._start(path)
        except Exception as error:
            await self.close()
            raise UsageError(f"{path} does not start: {one_line(str(error))}") from None

    async def context(self) -> "BrowserContext":
        """A context to open a page in: a new browser's if the old one is dead, or has shown enough pages."""
        async with self._starting:
            worn = self.pages >= self._settings.pages_per_browser
            if self._browser is None or not self._browser.is_connected() or worn:
                events.info("browser-restarts", pages=self.pages, worn=worn)
                await self._stop()
                await self._start(executable(self._settings))
            self.pages += 1
            assert self._context
            return self._context

    async def close(self) -> None:
        await self._stop()
        if self._playwright:
            await self._playwright.stop()
            self._playwright = None

    async def _start(self, path: str) -> None:
        assert self._playwright
        self.pages = 0
        self._browser = await self._playwright.chromium.launch(
            executable_path=path,
            args=list(FLAGS),
            timeout=START_S * 1000,
            chromium_sandbox=os.geteuid() != 0,  # it refuses to run as root
            handle_sigint=False,  # this process ends the browser when it is ended itself
            handle_sigterm=False,
            handle_sighup=False,
        )
        self._context = await self._browser.new_context(
            user_agent=self._user_agent or None,
            service_workers="block",
            accept_downloads=False,
            viewport={"width": WIDTH, "height": HEIGHT},
        )

    async def _stop(self) -> None:
        browser, self._browser, self._context = self._browser, None, None
        if browser and browser.is_connected():
            try:
                async with asyncio.timeout(STOP_S):
                    await browser.close()
            except TimeoutError:
                events.warning("browser-does-not-end")


class HangsError(Exception):
    """The tab does not answer any more: throw it away."""


class _Visit:
    """One rendering: what has been asked for, and how much of it is under way."""

    def __init__(self, answer: Response) -> None:
        self.document: Response | None = answer  # until the page has it
        self.requests = 0
        self.pending = 0
        self.moved: list[str] = []  # where scripts wanted to go
        self.asked_for: list[str] = []  # what was loaded
        self.changed = asyncio.Event()


class RenderedPage(NamedTuple):
    """What came of a rendering."""

    #: the document after its scripts
    text: str
    #: canonical URLs that it loaded besides
    asked_for: tuple[str, ...] = ()
    #: a data URL
    picture: str = ""


class Tab:
    """One page of the browser. Not for two renderings at once."""

    def __init__(self, settings: BrowserSettings, max_chars: int, fetch: Fetch) -> None:
        self._settings, self._max_chars, self._fetch = settings, max_chars, fetch
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

    async def render(self, answer: Response) -> RenderedPage | None:
        """The document of this answer after its scripts; None if it is too large. Raises HangsError."""
        picture = ""
        assert self._page
        self._visit = visit = _Visit(answer)
        try:
            await self._load(self._page, visit, answer.request.url)
            async with asyncio.timeout(PROMPT_S):
                text: str | None = await self._page.evaluate(_SOURCE, self._max_chars)
                if self._settings.picture:
                    picture = await self._picture(self._page)
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
        return RenderedPage(f"<!doctype html>{text}{links}", tuple(dict.fromkeys(visit.asked_for)), picture)

    async def _picture(self, page: "Page") -> str:
        """What the window shows, made small; empty if it is too large all the same."""
        scale = min(self._settings.picture, LARGEST) / max(WIDTH, HEIGHT)
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": scale}
        session = await page.context.new_cdp_session(page)
        try:
            shot = await session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY, "clip": clip})
        finally:
            await session.detach()
        url = f"data:image/webp;base64,{shot['data']}"
        return url if len(url) <= THUMBNAIL_LENGTH else ""

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
        asked, visit, page = route.request, self._visit, self._page
        try:
            if visit is None or page is None:
                return await route.abort()
            if asked.is_navigation_request():
                return await self._navigate(route, visit, page)
            visit.requests += 1
            url = canonical(asked.url)
            wanted = SHOWN if self._settings.picture else WANTED
            refused = visit.requests > self._settings.max_requests or asked.resource_type not in wanted
            if refused or asked.method != "GET" or url is None:
                return await route.abort()
            visit.asked_for.append(url)
            await self._pass_on(route, visit, url)
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "playwright":
                raise
            # the page has gone on, or is closed: it does not wait for this answer any more

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


def _later(work: Awaitable[None]) -> None:
    """Do this beside everything else; if it fails, the page is gone, which was the aim."""

    async def do() -> None:
        with contextlib.suppress(Exception):
            await work

    task = asyncio.ensure_future(do())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
