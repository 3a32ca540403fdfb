"""Helpers with a browser that a crawl starts for itself: `gcs crawl --browser N`."""

import importlib.util
from dataclasses import replace

from gcs.errors import UsageError
from gcs.ports.fetch.chromium import BrowserSettings, executable
from gcs.settings import Settings

#: seconds for which the first pages that need a browser wait until one has started
WAIT_S = 30.0


def check_browser() -> None:
    """UsageError if no browser can be started here: what is missing, and how to get it."""
    if importlib.util.find_spec("playwright") is None:
        raise UsageError("--browser: Playwright is not installed: pip install 'gcs-crawler[browser]'")
    executable(BrowserSettings())


def with_browsers(settings: Settings) -> Settings:
    """The settings under which pages wait for the helpers that are about to come."""
    helpers = settings.helpers
    return replace(
        settings,
        helpers=replace(helpers, lend=True, shells=True, browser_wait_s=helpers.browser_wait_s or WAIT_S),
    )


def helper_words(settings: Settings) -> list[str]:
    """The command line of one such helper."""
    private = ["--allow-private"] if settings.fetch.allow_private else []
    return ["--browser", "--crawl", settings.crawl.name, *private]
