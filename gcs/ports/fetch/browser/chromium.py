"""The browser process: found, started with no way to the network, started again when it has died or grown.

Invariant: nothing that runs in it can reach an address by itself. Requests are answered by us (`tab`); what cannot be
intercepted goes to a proxy on a port where nobody listens, loopback included, and no name is resolved.
"""

import asyncio
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gcs.errors import SettingsError, UsageError
from gcs.events import Events
from gcs.ports.fetch import one_line

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright


# -- How pages are rendered.


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

    def __post_init__(self) -> None:
        for name in ("tabs", "load_s", "max_requests", "pages_per_browser"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"browser: {name} must be above 0, not {getattr(self, name)}")


NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync", "--disable-component-update"),
    *("--disable-background-networking", "--disable-domain-reliability", "--no-pings"),
    # port 9 is "discard": nobody listens there
    *("--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND"),
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
START_S, STOP_S = 30.0, 5.0

events = Events("browser")


def executable(settings: BrowserSettings) -> str:
    """The browser to start. UsageError: there is none."""
    found = (
        shutil.which(settings.executable) if settings.executable else next(filter(None, map(shutil.which, NAMES)), None)
    )
    if not found:
        wanted = settings.executable or " or ".join(NAMES)
        raise UsageError(f"no browser: {wanted} is not on PATH; install it (Debian: apt-get install chromium)")
    return found


class Chromium:
    """One browser with one context, which all pages share: a context of its own would cost a page tenfold."""

    def __init__(self, settings: BrowserSettings, user_agent: str) -> None:
        self._settings = settings
        self._user_agent = user_agent
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
        """End the browser."""
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
            handle_sigint=False,  # who started us ends us, and we end it
            handle_sigterm=False,
            handle_sighup=False,
        )
        self._context = await self._browser.new_context(
            user_agent=self._user_agent or None, service_workers="block", accept_downloads=False
        )

    async def _stop(self) -> None:
        browser, self._browser, self._context = self._browser, None, None
        if browser and browser.is_connected():
            try:
                async with asyncio.timeout(STOP_S):
                    await browser.close()
            except TimeoutError:
                events.warning("browser-does-not-end")
