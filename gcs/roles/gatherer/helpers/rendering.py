"""Rendering: which pages are for a helper with a browser.

By rule (`helpers.browser`), and where a plain fetch found an empty shell. If no browser comes for such a page, it is
fetched plainly and stored as it is: nothing waits for a browser for ever. Where it may wait for the first browser to
come (`helpers.browser_wait_s`), the clock starts with the first such page: all links of a site may be behind it.
"""

import re

from gcs.core.helpers.pools import HelperSettings


class Rendering:
    """The pages of one gatherer that want a browser."""

    def __init__(self, settings: HelperSettings) -> None:
        self._rules = tuple(map(re.compile, settings.browser))
        self._heeds_shells = settings.shells
        self._wait_s, self._wait_until = settings.browser_wait_s, 0.0
        self._shells: set[str] = set()  # filled by reserve; left when they are lent
        self._missed: set[str] = set()  # that no browser came for; left when they are stored as they are

    def wants(self, url: str) -> bool:
        """Whether this page shall be lent to a browser."""
        return url in self._shells or any(rule.search(url) for rule in self._rules)

    def wait_until(self, url: str, is_shell: bool, now: float) -> float | None:
        """Let this page, fetched plainly, wait for a browser to come, and until when; None if it does not wait."""
        if url in self._shells:  # it has waited
            self._shells.discard(url)
            return None
        if not self._wait_s or not ((is_shell and self._heeds_shells) or self.wants(url)):
            return None
        self._wait_until = self._wait_until or now + self._wait_s
        if now >= self._wait_until:
            return None
        self._shells.add(url)
        return self._wait_until

    def begun(self, url: str) -> None:
        """It is lent to one."""
        self._shells.discard(url)

    def missed(self, url: str) -> None:
        """No browser came for it."""
        self._missed.add(url)

    def reserve(self, url: str) -> bool:
        """Keep an empty shell for a browser; False where none came for it before, or shells are stored as they are."""
        if url in self._missed:
            self._missed.discard(url)
            return False
        if self._heeds_shells:
            self._shells.add(url)
        return self._heeds_shells
