"""Dated pages: what a site's sitemaps and feeds say of its pages' dates decides which of them go first in a session.

    a sitemap or feed with dates is stored ─► each of its pages that waits gets another place in the queue of its host
    a page is asked for all the same       ─► did the claim prove true? ─► trust of the host (`core.page.site_dates`)

From the second session on: before it there is no copy that could be older than a date. A gatherer of a team heeds what
it fetched itself, for the pages that it owns. Orders that weigh links go by worth, and heed no dates.

Invariant: no page is left out; what is claimed to be as it was only waits until the others have gone.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from gcs.core.page.change import Change, chance, urgency
from gcs.core.page.site_dates import SiteTrust, believed, claim, http_proof
from gcs.core.page.values import PageRecord
from gcs.core.url.canonical import host_of_url
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier import Frontier

#: pages that get their place in one turn
PAGES_PER_STEP = 1_000
#: claims that wait to be proved, and hosts whose trust is in memory
MOST_CLAIMS, MOST_HOSTS = 200_000, 10_000


class TrustBook:
    """How far the dates of each host are believed. Kept in the frontier's notes."""

    def __init__(self, read: Callable[[str], bytes | None], write: Callable[[str, bytes], None]) -> None:
        self._read, self._write = read, write
        self._memory: OrderedDict[str, SiteTrust] = OrderedDict()

    def of(self, host: str) -> SiteTrust:
        trust = self._memory.get(host)
        if trust is None:
            packed = self._read(f"dates {host}")
            trust = msgspec.msgpack.decode(packed, type=SiteTrust) if packed else SiteTrust()
            self._memory[host] = trust
            if len(self._memory) > MOST_HOSTS:
                self._memory.popitem(last=False)
        return trust

    def changed(self, host: str) -> None:
        """Save the trust in a host, which has changed."""
        self._write(f"dates {host}", msgspec.msgpack.encode(self.of(host)))


class DatedPages:
    """The claims of sites about the pages of one gatherer."""

    def __init__(self, frontier: Frontier, trusts: TrustBook, put_back: Callable[[Iterable[str]], None]) -> None:
        """`put_back`: takes what waits of these hosts out of the window, so that its order can change."""
        self._frontier, self._trusts, self._put_back = frontier, trusts, put_back
        self._claims: OrderedDict[str, bool] = OrderedDict()
        self._dated: deque[tuple[str, str]] = deque()  # filled by heed; emptied by step

    @property
    def is_at_work(self) -> bool:
        """Whether another step is wanted."""
        return bool(self._dated)

    def heed(self, record: PageRecord) -> None:
        """A sitemap or a feed was stored."""
        if not self._frontier.order.weighs:
            self._dated.extend(pair for pair in zip(record.outlinks, record.dates) if pair[1])

    def step(self) -> None:
        """Give some of the dated pages their place."""
        if not self._dated:
            return
        pages = [self._dated.popleft() for _ in range(min(len(self._dated), PAGES_PER_STEP))]
        self._put_back({host_of_url(url) for url, _ in pages})
        for url, date in pages:
            self._frontier.reorder(url, partial(self._priority, date))

    def proved(self, entry: QueuedUrl, record: PageRecord) -> None:
        """A page that was held has been asked for: its record says what had become of it."""
        claimed = self._claims.pop(entry.url, None)
        if not entry.copy_digest or record.change not in (Change.CHANGED, Change.SAME):
            return
        host, has_changed = host_of_url(entry.url), record.change == Change.CHANGED
        trust = self._trusts.of(host)
        if claimed is not None:
            trust.listed(claimed).note(claimed == has_changed)
        # a 304 is the server's word, and proves nothing of its other words
        proof = http_proof(entry.last_modified, record.last_modified, has_changed) if record.status == 200 else None
        if proof is not None:
            trust.http.note(proof)
        if claimed is not None or proof is not None:
            self._trusts.changed(host)

    def _priority(self, date: str, entry: QueuedUrl) -> int | None:
        """The place of a page with this date; None where the date says nothing."""
        has_changed = claim(date, entry.copy_at_us / 1e6) if entry.copy_at_us else None
        if has_changed is None:
            return None
        self._claims[entry.url] = has_changed
        if len(self._claims) > MOST_CLAIMS:
            self._claims.popitem(last=False)
        trust = self._trusts.of(host_of_url(entry.url)).listed(has_changed)
        return urgency(believed(chance(entry.visits, entry.changes), has_changed, trust))
