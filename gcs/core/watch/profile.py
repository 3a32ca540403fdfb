"""A profile: what a person wants to hear of, and where it goes; and a match, which is what they get.

    query         in the language of search
    on            what must have become of the page: new, changed, gone
    least_words   of a changed page: so many words at least that came or went
    with_diff     a changed page comes with what has changed

A page that was changed or is gone is matched by what it said before, too: so the last word of a page reaches those who
waited for it.
"""

import re

import msgspec

from gcs.core.page.change import Change
from gcs.core.search.query import parse
from gcs.errors import UsageError

NEW, CHANGED, GONE = str(Change.NEW), str(Change.CHANGED), str(Change.GONE)
EVENTS = (NEW, CHANGED, GONE)
#: a name is a part of URLs and of a terminal's line
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MOST_PROFILES = 100_000


class Profile(msgspec.Struct, frozen=True):
    """A standing interest."""

    name: str
    query: str
    on: tuple[str, ...] = (NEW, CHANGED)
    least_words: int = 0
    with_diff: bool = False

    def check(self) -> "Profile":
        """The profile itself; raises UsageError if it cannot be used."""
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"profile {self.name!r}: a name has small letters, digits, dots, dashes; at most 64")
        parse(self.query)
        if not self.on or set(self.on) - set(EVENTS):
            raise UsageError(f"profile {self.name}: --on is one or several of {', '.join(EVENTS)}")
        if not 0 <= self.least_words <= 1_000_000:
            raise UsageError(f"profile {self.name}: words that must have changed are a number from 0 on")
        return self

    @property
    def needs_past(self) -> bool:
        """Whether it can be matched only by who knows what the page said before."""
        return self.with_diff or self.least_words > 0 or GONE in self.on


class Match(msgspec.Struct, frozen=True):
    """A page that a profile waited for: what is pushed, as JSON."""

    #: the same when the match comes again
    id: str
    profile: str
    #: new, changed or gone
    event: str
    url: str
    title: str
    #: where the words of the query stand
    excerpt: str
    language: str
    session: int
    #: seconds since the epoch
    fetched_at: float
    #: of a changed page: words that came, words that went
    words_added: int = 0
    words_removed: int = 0
    #: what has changed, a line each that begins with "+ ", "- " or "  "; if the profile asks for it
    diff: str = ""
