"""The values of the API: what it tells people and programs about a crawl. The OpenAPI description is made from them.

Times are seconds since the epoch, durations seconds, sizes bytes. Field names are a contract.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from gcs.core.report.estimate import Outlook
from gcs.core.report.report import Report
from gcs.core.report.roster import Row
from gcs.core.report.series import SeriesPoint

#: URLs that one request may add, and characters of each
MOST_SEEDS, MOST_CHARACTERS = 1_000, 4_000


class HelperStatus(msgspec.Struct, frozen=True):
    """A light-weight helper."""

    helper: str
    place: str
    means: str
    connections: int
    pages: int
    bytes: int
    pages_per_s: float
    since: float


class Status(msgspec.Struct, frozen=True):
    """How the crawl stands."""

    crawl: str
    #: running, paused, stopping, stopped, done; or waiting, while there is no gatherer
    state: str
    #: when the whiteboard was read
    at: float
    leader: str
    epoch: int
    superpages: int
    #: all that the plan moves is handed over
    committed: bool
    hot_pages: int
    mode: str
    seeds: int
    outlook: Outlook
    #: the newest point of the history
    now: SeriesPoint
    team: list[Row]
    helpers: list[HelperStatus]
    #: the figures with which the crawl would end now
    report: Report


class History(msgspec.Struct, frozen=True):
    """The figures over time; each point stands for `step_s` seconds, or more."""

    step_s: float
    points: list[SeriesPoint]


class ExchangedLinks(msgspec.Struct, frozen=True):
    """Who sent how many URLs to whom: sent[i][j] from gatherers[i] to gatherers[j]."""

    gatherers: list[str]
    sent: list[list[int]]


class RangeTransfer(msgspec.Struct, frozen=True):
    """What goes from one gatherer to another."""

    loser: str
    winner: str
    ranges: int
    places: list[str]


class Rebalance(msgspec.Struct, frozen=True):
    """A plan: when and why it was made, and what it moved."""

    epoch: int
    at: float
    reason: str
    superpages: int
    gatherers: list[str]
    moved: float
    transfers: list[RangeTransfer]
    lost: int
    #: null until all is handed over
    committed_at: float | None


class Rebalances(msgspec.Struct, frozen=True):
    """The plans of the crawl, the newest first; the last hundred."""

    rebalances: list[Rebalance]


class HostErrors(msgspec.Struct, frozen=True):
    """URLs of one host that ended without a page, and the last of them."""

    host: str
    failed: int
    kind: str
    url: str
    at: float
    gatherers: list[str]


class Errors(msgspec.Struct, frozen=True):
    """Failures by kind, and the hosts that have the most."""

    kinds: dict[str, int]
    hosts: list[HostErrors]


class ShownPage(msgspec.Struct, frozen=True):
    """A page that was stored lately."""

    gatherer: str
    url: str
    title: str
    summary: str
    status: int
    bytes: int
    fetched_at: float
    elapsed_s: float
    depth: int
    outlinks: int
    language: str
    helper: str


class RecentPages(msgspec.Struct, frozen=True):
    """Pages that were stored lately, the newest first."""

    pages: list[ShownPage]


class CrawlRow(msgspec.Struct, frozen=True):
    """A crawl in the list."""

    id: str
    name: str = ""
    #: running, paused, queued, scheduled, done, stopped…
    state: str = ""
    session: int = 0
    pages: int = 0
    queued: int = 0
    pages_per_s: float = 0.0
    #: share of the crawl that is done
    explored: float = 0.0
    #: the time left, in words
    left: str = ""
    #: when something was last stored
    changed_at: float = 0.0
    seeds: int = 0
    #: the first of them
    seed: str = ""
    #: who began it, and what share it has of the machines
    owner: str = ""
    share: float = 1.0
    #: place in the queue of crawls that wait; 0 if it does not
    place: int = 0
    #: when its next session begins, by its schedule; 0 for never
    next_at: float = 0.0
    #: why no more is known
    error: str = ""


class Crawls(msgspec.Struct, frozen=True):
    """The crawls of this station."""

    crawls: list[CrawlRow]
    #: whether new ones can be started here
    can_start: bool


class Me(msgspec.Struct, frozen=True):
    """What the caller may do."""

    name: str
    roles: list[str]


class TreeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of the URL tree."""

    #: tokens of a node, percent-encoded, between slashes; empty for the root
    path: Annotated[str, Meta(max_length=MOST_CHARACTERS, pattern="^[!-~]*$")] = ""
    levels: Annotated[int, Meta(ge=0, le=4)] = 2
    most: Annotated[int, Meta(ge=2, le=500)] = 40
    #: of a tile of others: how many larger ones are left out
    after: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class NewSeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """URLs to start from, as a person writes them."""

    urls: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS)]], Meta(min_length=1, max_length=MOST_SEEDS)
    ]


class AddedSeeds(msgspec.Struct, frozen=True):
    """The seeds as the crawl knows them."""

    seeds: list[str]


class Accepted(msgspec.Struct, frozen=True):
    """The order is on the whiteboard; the team obeys within a second or two."""

    order: str
