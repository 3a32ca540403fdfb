"""The values of the calls about search and profiles. Times are seconds since the epoch."""

from typing import Annotated

import msgspec
from msgspec import Meta

from gcs.core.search.query import MOST_CHARACTERS
from gcs.core.watch.profile import CHANGED, NEW, Match

#: pages of an answer, matches of an answer, receivers of a profile, characters of an address
MOST_PAGES, MOST_MATCHES, MOST_RECEIVERS, MOST_ADDRESS = 50, 200, 10, 2_000
_Name = Annotated[str, Meta(max_length=64)]
_Query = Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS)]


class SearchQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is searched for: `q` is in the language of gcs search."""

    q: _Query
    most: Annotated[int, Meta(ge=1, le=MOST_PAGES)] = 10
    skip: Annotated[int, Meta(ge=0, le=1_000)] = 0
    #: show pages that are nearly the same one by one
    all: bool = False


class ReceiverRow(msgspec.Struct, frozen=True):
    """Where matches go, without what may be secret, and how that stands."""

    to: str
    kind: str
    waiting: int
    failures: int
    problem: str


class ProfileRow(msgspec.Struct, frozen=True):
    """A profile."""

    name: str
    query: str
    on: list[str]
    least_words: int
    with_diff: bool
    receivers: list[ReceiverRow]


class ProfileList(msgspec.Struct, frozen=True):
    """The profiles of a crawl."""

    profiles: list[ProfileRow]


class NewProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A profile that is added, or changed if there is one of that name."""

    name: _Name
    query: _Query
    on: Annotated[list[str], Meta(min_length=1, max_length=3)] = msgspec.field(default_factory=lambda: [NEW, CHANGED])
    least_words: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    with_diff: bool = False
    #: webhooks at public addresses; receivers of other kinds are added by gcs profile
    webhooks: Annotated[list[Annotated[str, Meta(max_length=MOST_ADDRESS)]], Meta(max_length=MOST_RECEIVERS)] = []


class AddedProfile(msgspec.Struct, frozen=True):
    """The profile is there. The secret signs what goes to its new webhooks; it is shown this once."""

    name: str
    secret: str


class ProfileName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which profile."""

    name: _Name


class MatchesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The newest matches, of one profile or of all."""

    profile: _Name = ""
    most: Annotated[int, Meta(ge=1, le=MOST_MATCHES)] = 50


class FoundMatch(msgspec.Struct, frozen=True):
    """A match, its number, and when it was found."""

    seq: int
    at: float
    match: Match


class FoundMatches(msgspec.Struct, frozen=True):
    """Matches, the newest first."""

    matches: list[FoundMatch]
