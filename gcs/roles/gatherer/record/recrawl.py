"""Recrawl: a new session begins with the URLs of the last one, and requests all of them again.

    URLs that still wait in the frontier   stay there; in a team, URLs of other owners are sent to them
    records of the last session            each URL is queued again, with the validators of the copy that is held

Nothing is fetched until both are done: a server sends a whole page again if it is requested without validators.
A recrawl takes many turns, a slice in each. After a restart it begins anew, which does no harm: a URL that is queued
already is not queued twice. Sitemaps go first, then the pages that are most likely to have changed.

Invariant: every URL that this gatherer knew in the last session is queued again, here or with its owner, unless
MOST_MISSES sessions in a row have found no page there, or the scope has become narrower. What they have missed comes
back with a page that links to it: when that page is stored again, or confirmed (304) in the same run, here.
"""

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from gcs.core.page.change import MOST_MISSES, chance, urgency
from gcs.core.page.site_dates import chance_by_age
from gcs.core.polite.politeness import seconds_of_date
from gcs.core.url.canonical import host_of_url
from gcs.core.url.queued_url import QueuedUrl, level_of, needed
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY
from gcs.ports.frontier import Frontier, Mark
from gcs.roles.gatherer.record.dated_pages import TrustBook

#: URLs that are queued again per turn, and frontier entries that are searched for URLs of other owners
SLICE_URLS, LOOK_URLS = 1_000, 10_000
#: forgotten URLs whose pages are remembered
MOST_FORGOTTEN = 100_000
NOTE = "session"


class LastVisit(NamedTuple):
    """The fields that are read of a record of the last session; see `PageRecord`."""

    url: str
    parent: str
    depth: int
    status: int
    fetched_at: float
    digest: str
    etag: str
    last_modified: str
    session: int
    visits: int
    changes: int
    misses: int
    held_at_us: int
    shell: bool = False
    source: bool = False
    requisite: int = 0


class _State(msgspec.Struct, array_like=True):
    """The state that a restart needs."""

    session: int = 1
    #: epoch of the plan with which the session began: tuples sent under an older plan are of the last session
    epoch: int = 0
    #: number of the log file in which the session began
    log: int = 1
    #: the session whose URLs are to be queued again, and the log file in which it began; 0: all are queued
    last: int = 0
    last_log: int = 1


class Recrawl:
    """Leads one gatherer from session to session."""

    def __init__(
        self,
        frontier: Frontier,
        visits: Callable[[int], Iterator[LastVisit]],
        covers: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`visits`: reads this gatherer's own records, from the log file of the given number on.

        `covers`: the scope, which may be narrower than that of the last session.
        """
        self._frontier, self._visits, self._covers = frontier, visits, covers
        #: how far the dates of hosts are believed
        self.trusts = TrustBook(frontier.note, frontier.set_note)
        packed = frontier.note(NOTE)
        self._state = msgspec.msgpack.decode(packed, type=_State) if packed else _State()
        #: key at which the search for URLs of other owners goes on; None when the search is over
        self._search_at: bytes | None = FIRST_KEY
        self._visits_left: Iterator[LastVisit] | None = None
        #: page → URLs found there that are not asked for any more; filled by step, emptied by linked_from
        self._forgotten: dict[str, list[QueuedUrl]] = {}
        self._forgotten_urls = 0

    @property
    def session(self) -> int:
        return self._state.session

    @property
    def epoch(self) -> int:
        """Epoch of the plan with which the session began; 0 without a team."""
        return self._state.epoch

    @property
    def is_done(self) -> bool:
        """Whether all URLs of the last session are queued again."""
        return not self._state.last

    def begin(self, session: int, log: int, epoch: int = 0) -> list[str]:
        """Begin a session; `log` is the file that records go to. Returns the URLs that robots.txt refused before.

        URLs that wait or were refused, and are out of scope by now, are refused: a wider scope brings them back.
        """
        before = self._state
        last, last_log = (before.session, before.log) if self.is_done else (before.last, before.last_log)
        self._state = _State(session, epoch, log, last, last_log)
        self._search_at, self._visits_left = FIRST_KEY, None
        self._note()
        frontier, covers = self._frontier, self._covers
        waiting = frontier.entries(FIRST_KEY, LAST_KEY)
        outside = [entry.url for entry in waiting if not level_of(entry.depth) and not covers(entry.url)]
        refused = frontier.renew()
        for url in (*outside, *(url for url in refused if not covers(url))):
            frontier.finish(url, Mark.REFUSED)
        return [url for url in refused if covers(url)]

    def go_back(self, session: int) -> None:
        """The frontier is made anew from the records: the last session that all records are of is this one."""
        self._state = _State(session)

    def step(self, is_own: Callable[[bytes], bool] = lambda _: True) -> list[QueuedUrl]:
        """The next URLs to queue again. In a team, `is_own` tells by its key whether this gatherer owns a page."""
        if self._search_at is not None:
            piece = self._frontier.range_moves.take_out(self._search_at, LAST_KEY, is_own, SLICE_URLS, LOOK_URLS)
            self._search_at = piece.next
            return piece.entries
        if self._visits_left is None:
            self._visits_left = self._visits(self._state.last_log)
        visits = list(islice(self._visits_left, SLICE_URLS))
        if not visits:
            self._state.last, self._visits_left = 0, None
            self._note()
        worth = self._frontier.order.seed
        known = [visit for visit in visits if visit.session == self._state.last]
        expected = (visit for visit in known if visit.misses < MOST_MISSES)
        for visit in known:
            if visit.misses >= MOST_MISSES and visit.parent and self._covers(visit.url):
                self._forget(visit)
        # what a page needs may be out of scope
        entries = [self._entry_of(visit, worth) for visit in expected if visit.requisite or self._covers(visit.url)]
        self._frontier.ledger.issued += worth * len(entries)
        return entries

    def linked_from(self, url: str) -> list[QueuedUrl]:
        """The forgotten URLs that were found on this page, which is there as it was: they are asked for again."""
        return self._forgotten.pop(url, [])

    def _forget(self, visit: LastVisit) -> None:
        if self._forgotten_urls < MOST_FORGOTTEN:
            self._forgotten_urls += 1
            self._forgotten.setdefault(visit.parent, []).append(self._entry_of(visit, 0.0))

    def _note(self) -> None:
        self._frontier.set_note(NOTE, msgspec.msgpack.encode(self._state))

    def _entry_of(self, visit: LastVisit, worth: float) -> QueuedUrl:
        """The entry that requests the URL of a record again, with the validators of the copy if one is held."""
        copy_at_us = visit.held_at_us or round(visit.fetched_at * 1e6)
        entry = QueuedUrl(
            url=visit.url,
            parent=visit.parent,
            depth=needed(visit.depth, visit.requisite),
            # what says which pages have changed goes first
            priority=0 if visit.source else urgency(self._chance(visit, copy_at_us / 1e6)),
            visits=visit.visits,
            changes=visit.changes,
            misses=visit.misses,
            worth=worth,
        )
        if not visit.digest or not (200 <= visit.status < 300 or visit.status in (0, 304) or visit.held_at_us):
            return entry
        return msgspec.structs.replace(
            entry,
            # an empty shell is asked for in full: it may change in nothing, and this time a browser may be there
            etag="" if visit.shell else visit.etag,
            last_modified="" if visit.shell else visit.last_modified,
            copy_digest=visit.digest,
            copy_at_us=copy_at_us,
        )

    def _chance(self, visit: LastVisit, copy_at_s: float) -> float:
        """The chance that a page has changed, by its earlier visits and its Last-Modified."""
        modified_s = seconds_of_date(visit.last_modified) if visit.last_modified else None
        by_age = None if modified_s is None else chance_by_age(modified_s, copy_at_s, time.time())
        if by_age is None:
            return chance(visit.visits, visit.changes)
        belief = self.trusts.of(host_of_url(visit.url)).http.belief
        return chance(visit.visits, visit.changes, prior=belief * by_age + (1 - belief) / 2)
