"""The herald: tells people what a gatherer does, by a Bulletin on the board every few seconds.

Nothing in the crawl depends on it. What it keeps is bounded: a dozen pages (of a fast crawl, spread over the time of
a bulletin), some hosts with failures, a sample of the URL tree. Cost: a fraction of a microsecond a page, and a few
milliseconds a bulletin.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from gcs.core.messages.tuples import Bulletin, HostFailures, RecentPage, SuperpagePatch
from gcs.core.page.values import PageRecord
from gcs.core.report.estimate import Estimate
from gcs.core.report.report import Share
from gcs.core.url.join import host
from gcs.ports.reader import clipped

#: seconds between two bulletins, and between two samples of the tree; and for which a bulletin hangs
BULLETIN_S, TREE_S, BULLETIN_TTL_S = 2.0, 8.0, 30.0
#: pages and hosts that a bulletin shows, hosts that are kept, points of the tree
PAGES, TROUBLES, HOSTS, POINTS = 12, 25, 500, 400
#: seconds between two pages that are kept, once there are enough
PAGE_S = BULLETIN_S / PAGES
#: characters of a text that are shown
TITLE_CHARACTERS, SUMMARY_CHARACTERS, URL_CHARACTERS = 120, 240, 500


@dataclass(frozen=True, slots=True)
class BulletinSource:
    """What a gatherer has to show; asked for only when a bulletin is due."""

    epoch: int
    share: Callable[[], Share]
    explored: Callable[[], Estimate]
    #: URLs sent to each of the others
    sent: Mapping[str, int]
    #: the URL tree in at most so many points
    sample: Callable[[int], list[SuperpagePatch]]


class BulletinWriter:
    """filled by: recorded; emptied by: nobody, it forgets by itself."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._recent: deque[tuple[PageRecord, float]] = deque(maxlen=PAGES)
        self._troubles: dict[str, HostFailures] = {}
        self._patches: list[SuperpagePatch] = []
        self._epoch = 0
        self._due_at = self._tree_due_at = self._kept_at = 0.0

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        """A URL is dealt with."""
        if record.failure:
            self._trouble(record)
        elif record.is_page and (len(self._recent) < PAGES or abs(record.fetched_at - self._kept_at) >= PAGE_S):
            self._kept_at = record.fetched_at
            self._recent.append((record, elapsed_s))

    def bulletin(self, now: float, work: BulletinSource) -> Bulletin | None:
        """The bulletin, if it is time for one."""
        if now < self._due_at:
            return None
        self._due_at = now + BULLETIN_S
        if now >= self._tree_due_at or work.epoch != self._epoch:
            self._tree_due_at, self._epoch, self._patches = now + TREE_S, work.epoch, work.sample(POINTS)
        explored = work.explored()
        worst = sorted(self._troubles.values(), key=lambda trouble: (-trouble.failed, trouble.host))[:TROUBLES]
        return Bulletin(
            gatherer=self._me,
            epoch=work.epoch,
            share=msgspec.msgpack.encode(work.share()),
            explored=(explored.fraction, explored.low, explored.high),
            sent=dict(work.sent),
            recent=[_glance(*each) for each in self._recent],
            troubles=worst,
            patches=self._patches,
        )

    def _trouble(self, record: PageRecord) -> None:
        name = host(record.url)
        before = self._troubles.pop(name, None)
        failed = before.failed + 1 if before else 1
        self._troubles[name] = HostFailures(
            name, failed, record.failure, record.url[:URL_CHARACTERS], record.fetched_at
        )
        if len(self._troubles) > HOSTS:  # the one with the fewest goes, of these the one that is oldest
            del self._troubles[min(self._troubles, key=lambda each: self._troubles[each].failed)]


def _glance(record: PageRecord, elapsed_s: float) -> RecentPage:
    return RecentPage(
        url=record.url[:URL_CHARACTERS],
        title=clipped(record.title, TITLE_CHARACTERS),
        summary=clipped(record.summary, SUMMARY_CHARACTERS),
        status=record.status,
        bytes=record.bytes,
        fetched_at=record.fetched_at,
        elapsed_s=round(elapsed_s, 4),
        depth=record.depth,
        outlinks=len(record.outlinks),
        language=record.language,
        helper=record.helper,
    )
