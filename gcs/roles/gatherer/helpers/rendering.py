"""Rendering: which pages are lent to a helper with a browser.

These are pages that match a rule (`helpers.browser`), and pages of which a plain fetch found an empty shell. If no
browser takes such a page, it is fetched plainly and stored as it is: no page waits for a browser for ever. Pages may
wait for the first browser of a crawl (`helpers.browser_wait_s` from the first such page on): all links of a site may
be on them.
"""

import re

from gcs.core.helpers.pools import HelperSettings


class Rendering:
    """The pages of one gatherer that want a browser."""

    def __init__(self, settings: HelperSettings) -> None:
        self._rules = tuple(map(re.compile, settings.browser))
        self._renders_shells = settings.shells
        self._wait_s, self._wait_until = settings.browser_wait_s, 0.0
        self._shells: set[str] = set()  # filled by reserve and wait_until; emptied by begun and wait_until
        self._waiting: set[str] = set()  # of these, what waits for the first browser; filled by wait_until
        self._missed: set[str] = set()  # pages that no browser took; filled by missed, emptied by reserve

    def wants(self, url: str) -> bool:
        """Whether this page is to be lent to a browser."""
        return url in self._shells or any(rule.search(url) for rule in self._rules)

    def wait_until(self, url: str, is_shell: bool, now: float) -> float | None:
        """Let this page, fetched plainly, wait for the first browser; returns until when. None: it is not to wait."""
        if url in self._shells:  # the page has waited already
            self._shells.discard(url)
            self._waiting.discard(url)
            return None
        if not self._wait_s or not ((is_shell and self._renders_shells) or self.wants(url)):
            return None
        self._wait_until = self._wait_until or now + self._wait_s
        if now >= self._wait_until:
            return None
        self._shells.add(url)
        self._waiting.add(url)
        return self._wait_until

    def woken(self) -> set[str]:
        """The first browser has come: the pages that waited for it, each once."""
        woken, self._waiting = self._waiting, set()
        return woken

    def begun(self, url: str) -> None:
        """The page is lent to a browser."""
        self._shells.discard(url)

    def missed(self, url: str) -> None:
        """No browser took the page."""
        self._missed.add(url)

    def reserve(self, url: str) -> bool:
        """Keep an empty shell for a browser; False if no browser took it before, or shells are stored as they are."""
        if url in self._missed:
            self._missed.discard(url)
            return False
        if self._renders_shells:
            self._shells.add(url)
        return self._renders_shells
