"""Bulletins: every few seconds a Bulletin on the board shows people what a gatherer does.

Nothing in the crawl depends on bulletins. The memory is bounded: a dozen pages (in a fast crawl, spread over the time
between two bulletins), some hosts with failures, a sample of the URL tree. The cost: a fraction of a microsecond per
page, and a few milliseconds per bulletin.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from gcs.core.messages.tuples import Bulletin, HostFailures, RecentPage, SuperpagePatch
from gcs.core.page.values import PageRecord
from gcs.core.report.report import Share
from gcs.core.report.workload import SlowHost
from gcs.core.url.canonical import host_of_url
from gcs.ports.reader import clipped

#: seconds between two bulletins; between two samples of the tree; and that a bulletin stays on the board
BULLETIN_S, TREE_S, BULLETIN_TTL_S = 2.0, 8.0, 30.0
#: pages and hosts in a bulletin, hosts that are remembered, points of the tree
PAGES, TROUBLES, HOSTS, POINTS = 12, 25, 500, 400
#: seconds between two pages that are kept, once there are enough
PAGE_S = BULLETIN_S / PAGES
#: characters that are shown
TITLE_CHARACTERS, SUMMARY_CHARACTERS, URL_CHARACTERS = 120, 240, 500


@dataclass(frozen=True, slots=True)
class BulletinSource:
    """The contents of a bulletin; the functions are called only when a bulletin is due."""

    epoch: int
    share: Callable[[], Share]
    #: URLs sent to each other gatherer
    sent: Mapping[str, int]
    #: the URL tree in at most so many points
    sample: Callable[[int], list[SuperpagePatch]]
    #: hosts that keep it waiting
    hosts: Callable[[], list[SlowHost]] = list


class BulletinWriter:
    """Writes the bulletins of one gatherer."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._recent: deque[tuple[PageRecord, float]] = deque(maxlen=PAGES)  # filled by recorded; newer replace older
        self._failures: dict[str, HostFailures] = {}  # by host; filled and bounded by _note_failure
        self._patches: list[SuperpagePatch] = []
        self._epoch = 0
        self._due_at = self._tree_due_at = self._kept_at = 0.0

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        if record.failure:
            self._note_failure(record)
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
        share = work.share()
        worst = sorted(self._failures.values(), key=lambda host: (-host.failed, host.host))[:TROUBLES]
        return Bulletin(
            gatherer=self._me,
            epoch=work.epoch,
            share=msgspec.msgpack.encode(share),
            explored=share.workload.explored,
            sent=dict(work.sent),
            recent=[_recent_page(*each) for each in self._recent],
            troubles=worst,
            patches=self._patches,
            hosts=work.hosts(),
        )

    def _note_failure(self, record: PageRecord) -> None:
        name, url = host_of_url(record.url), record.url[:URL_CHARACTERS]
        before = self._failures.pop(name, None)
        failed = before.failed + 1 if before else 1
        self._failures[name] = HostFailures(name, failed, record.failure, url, record.fetched_at)
        if len(self._failures) > HOSTS:  # forget the host with the fewest failures, the oldest of several
            del self._failures[min(self._failures, key=lambda each: self._failures[each].failed)]


def _recent_page(record: PageRecord, elapsed_s: float) -> RecentPage:
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
