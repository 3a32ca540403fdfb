"""Parts that gatherers and helpers have in common, made from settings: how to fetch, and how to read."""

import importlib
from collections.abc import Callable

from gcs.core.page import Result
from gcs.core.urls import Rules
from gcs.ports.fetch import Fetcher, FetchSettings
from gcs.ports.reader import Reader
from gcs.ports.summarise import Options, Registry, SummarySettings, TextPool

#: engine → its class; loaded when it is chosen, because the other one is not needed then
ENGINES = {"curl": ("gcs.ports.fetch.curl", "CurlFetcher"), "aiohttp": ("gcs.ports.fetch.aio", "AioFetcher")}


def make_reader(summary: SummarySettings, urls: Rules, robots_token: str, heed: bool, in_processes: bool) -> Reader:
    """Reads pages; the full text in processes of its own, where the caller cannot wait for it."""
    options = Options(agent=robots_token, images=summary.images, max_links=summary.max_links)
    texts = TextPool(summary.workers, options=options) if in_processes and summary.depth == "full" else None
    return Reader(urls, Registry.with_plugins(), options, summary.depth, heed, texts)


def make_fetcher(settings: FetchSettings, sink: Callable[[Result], None]) -> Fetcher:
    """The engine that the settings name."""
    module, name = ENGINES[settings.engine]
    engine: Callable[..., Fetcher] = getattr(importlib.import_module(module), name)
    if not settings.sources:
        return engine(settings, sink)
    sources = importlib.import_module("gcs.ports.fetch.sources")  # few crawls have any
    made: Fetcher = sources.SourceFetcher(settings, sink, lambda s: engine(settings, s))
    return made


def make_browser(settings: FetchSettings, sink: Callable[[Result], None]) -> Fetcher:
    """The engine that renders pages, above the one that the settings name."""
    browser = importlib.import_module("gcs.ports.fetch.browser")  # it brings Playwright, which is an extra
    made: Fetcher = browser.BrowserFetcher(
        settings, sink, browser.BrowserSettings(), lambda s: make_fetcher(settings, s)
    )
    return made
