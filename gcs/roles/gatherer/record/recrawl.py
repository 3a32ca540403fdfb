"""Recrawl: a session begins with what the last one left behind, and asks for all of it again.

    URLs that still wait in the frontier   go on waiting; in a team, those of other owners are sent to them
    records of the last session            each URL is queued again, with the validators of the copy that is held

Nothing is fetched until both are through: a page that is asked for without its validators is sent once more. It takes
many turns, a slice in each. After a restart it begins anew, which does no harm: a URL that is queued already is known.

Invariant: every URL that this gatherer knew in the last session waits again, here or with its owner, unless session
after session has found nothing there.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from gcs.core.page.change import MOST_MISSES, urgency
from gcs.core.url.sortkey import FIRST_KEY, LAST_KEY
from gcs.ports.frontier import Entry, Frontier

#: URLs that are taken up again per turn, and looked at in search of them
SLICE_URLS, LOOK_URLS = 1_000, 10_000
NOTE = "session"


class LastVisit(NamedTuple):
    """What is read of a record of the last session; see the fields of `PageRecord`."""

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


class _State(msgspec.Struct, array_like=True):
    """What a restart has to know."""

    session: int = 1
    #: epoch of the plan with which it began: whatever was sent under an older one is of the last session
    epoch: int = 0
    #: number of the log file in which it began
    log: int = 1
    #: the session whose records are to be taken up, and the log file in which it began; 0: all is taken up
    last: int = 0
    last_log: int = 1


class Recrawl:
    """How one gatherer goes from session to session."""

    def __init__(self, frontier: Frontier, visits: Callable[[int], Iterator[LastVisit]]) -> None:
        """`visits`: those of this gatherer's own records, from the log file of that number on."""
        self._frontier, self._visits = frontier, visits
        packed = frontier.note(NOTE)
        self._state = msgspec.msgpack.decode(packed, type=_State) if packed else _State()
        #: where the search for what is another's goes on; None when it is over
        self._at: bytes | None = FIRST_KEY
        self._rest: Iterator[LastVisit] | None = None

    @property
    def session(self) -> int:
        """The session that is under way here."""
        return self._state.session

    @property
    def epoch(self) -> int:
        """Of the plan with which the session began; 0 without a team."""
        return self._state.epoch

    @property
    def is_done(self) -> bool:
        """Whether everything of the last session is taken up."""
        return not self._state.last

    def begin(self, session: int, log: int, epoch: int = 0) -> list[str]:
        """Begin a session; `log` is the file that records go to. Returns the URLs that robots.txt refused before."""
        before = self._state
        last, last_log = (before.session, before.log) if self.is_done else (before.last, before.last_log)
        self._state = _State(session, epoch, log, last, last_log)
        self._at, self._rest = FIRST_KEY, None
        self._note()
        return self._frontier.renew()

    def step(self, is_ours: Callable[[bytes], bool] = lambda _: True) -> list[Entry]:
        """Take up some of what is left. In a team, `is_ours` tells by its key whether this gatherer owns a page."""
        if self._at is not None:
            piece = self._frontier.moving.take_out(self._at, LAST_KEY, is_ours, SLICE_URLS, LOOK_URLS)
            self._at = piece.next
            return piece.entries
        if self._rest is None:
            self._rest = self._visits(self._state.last_log)
        visits = list(islice(self._rest, SLICE_URLS))
        if not visits:
            self._state.last, self._rest = 0, None
            self._note()
        worth = self._frontier.order.seed
        expected = (visit for visit in visits if visit.session == self._state.last and visit.misses < MOST_MISSES)
        entries = [_again(visit, worth) for visit in expected]
        self._frontier.ledger.issued += worth * len(entries)
        return entries

    def _note(self) -> None:
        self._frontier.set_note(NOTE, msgspec.msgpack.encode(self._state))


def _again(visit: LastVisit, worth: float) -> Entry:
    """The entry that asks again for the URL of a record, with the validators of the copy if one is held."""
    entry = Entry(
        url=visit.url,
        parent=visit.parent,
        depth=visit.depth,
        priority=urgency(visit.visits, visit.changes),
        visits=visit.visits,
        changes=visit.changes,
        misses=visit.misses,
        worth=worth,
    )
    if not visit.digest or not (200 <= visit.status < 300 or visit.status in (0, 304) or visit.held_at_us):
        return entry
    return msgspec.structs.replace(
        entry,
        etag=visit.etag,
        last_modified=visit.last_modified,
        copy_digest=visit.digest,
        copy_at_us=visit.held_at_us or round(visit.fetched_at * 1e6),
    )
