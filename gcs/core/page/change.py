"""What became of a page since the last session, and how soon the next one should ask for it again.

    new       it was not there, or not known
    changed   another payload, or it has moved
    same      confirmed by the server (304), or the same payload
    gone      404 or 410 where there was a page

Where a server does not answer, or cannot answer now (5xx, 429), the change is unknown: the copy that is held stays.

The chance that a page has changed is estimated from how often it was asked for and how often it had changed, with half
a change added: a page that is asked for the first time again counts as one that changes every other time. What the
dates of its site say can take the place of that half (`core.page.site_dates`).

Invariant: pure; a session's verdict depends on what the record before it said, and on nothing older.
"""

from enum import StrEnum

import msgspec

#: sessions in a row that find no page, after which a URL is forgotten until a page that links to it is seen again
MOST_MISSES = 3
#: steps of priority between a page that always changes and one that never does
STEPS = 8
_GONE = frozenset({404, 410})


class Change(StrEnum):
    """What a visit found, against the visit before."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    GONE = "gone"
    NOTHING = ""  # there was no page, and is none; or it is unknown, since the server does not answer


class Past(msgspec.Struct, frozen=True):
    """What earlier sessions know of a URL."""

    #: digest of the payload that is held; "" where none is
    digest: str = ""
    visits: int = 0
    changes: int = 0
    misses: int = 0


def change_of(past: Past, status: int, digest: str, failed: bool) -> Change:
    if status == 304 and not failed:
        return Change.SAME
    if failed:
        return Change.GONE if past.digest and status in _GONE else Change.NOTHING
    if 300 <= status < 400:
        return Change.CHANGED if past.digest else Change.NOTHING
    if past.digest:
        return Change.SAME if digest == past.digest else Change.CHANGED
    return Change.CHANGED if past.visits > past.misses else Change.NEW


def after(past: Past, change: Change, failed: bool) -> Past:
    """What is known after a visit, but for the digest, which the caller adds."""
    changed = past.visits > 0 and change in (Change.CHANGED, Change.GONE)
    return Past("", past.visits + 1, past.changes + changed, past.misses + 1 if failed else 0)


def chance(visits: int, changes: int, prior: float = 0.5) -> float:
    """The chance that a page has changed since it was asked for last, from visits - 1 comparisons."""
    return min((changes + prior) / max(visits, 1), 1.0)


def urgency(chance: float) -> int:
    """Priority of a page in the next session, smaller goes first: those that are most likely to have changed.

    0 is for what says which pages have changed: sitemaps.
    """
    return 1 + round(STEPS * (1 - chance))
