"""The browser engine: a page as a reader sees it, after its scripts have run. Headless Chromium, driven by Playwright.

    engine     the fetch port's contract around it: fetch, render what is HTML, answer
    chromium   the browser process: found, started with no way to the network, started again when it dies
    tab        one page at a time: what it may ask for, when it is ready

Chromium itself never opens a connection. Whatever a page asks for, its scripts and their requests too, is intercepted
and fetched by another engine of this port, so that the address guard, the limits and the request heads are the same for
everything; what is not intercepted (web sockets, WebRTC) meets a proxy that is not there.
"""

from gcs.ports.fetch.browser.browser_engine import BrowserFetcher
from gcs.ports.fetch.browser.chromium import BrowserSettings

__all__ = ["BrowserFetcher", "BrowserSettings"]
