"""The company that a gatherer keeps: what it asks of its side at the whiteboard, a team's or a seed-server's.

It must not load that side: a gatherer alone does without.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gcs.core.messages.tuples import Charter, Control, PlanPosted
from gcs.core.page.values import PageRecord
from gcs.core.report.counters import Traffic
from gcs.core.report.estimate import Estimate
from gcs.core.report.report import Share
from gcs.core.url.admission import Admission
from gcs.ports.frontier import Entry
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher
from gcs.roles.gatherer.record.recrawl import Recrawl

# -- Home: the gatherer, as its team's side sees it.


@dataclass(frozen=True, slots=True)
class GathererPort:
    """What the team's side asks of the gatherer that it belongs to."""

    dispatcher: Dispatcher
    admission: Admission
    #: counted by the team's side, reported by the gatherer
    traffic: Traffic
    renewal: Recrawl
    #: ask for a turn
    wake: Callable[[], None]
    #: whether nothing is queued, in flight or being read
    is_quiet: Callable[[], bool]
    #: what the others may know of us
    figures: Callable[[], dict[str, float]]
    #: our part of the report, and how much is explored by our own evidence
    share: Callable[[], Share]
    explored: Callable[[], Estimate]
    #: begin this session, under the plan of this epoch; returns URLs that may be allowed by now
    begin_session: Callable[[int, int], list[Entry]]


class Notices(Protocol):
    """What hangs on the board for everybody, as the observer has read it."""

    charter: Charter | None
    control: Control | None


class Membership(Protocol):
    """See `team.Team` and `client.Client`."""

    #: we want to hand over what we have, and go
    leaving: bool
    #: requests that may be under way at once; 0 for as many as the settings say
    connections: int

    @property
    def observer(self) -> Notices:
        """What we know of the board."""

    async def startup(self, home: GathererPort) -> None:
        """Go on as the last commit left it."""

    async def shutdown(self, share: Share | None) -> None:
        """Stop listening, and account for what we did."""

    async def relieved(self) -> None:
        """Returns when we want to leave and may."""

    @property
    def epoch(self) -> int:
        """Of the plan that we route by."""

    @property
    def superpages(self) -> int:
        """How many we own."""

    @property
    def known_plan(self) -> PlanPosted | None:
        """The newest plan that we know of."""

    @property
    def has_uncommitted(self) -> bool:
        """Whether a commit would let something go out, be acked or be said."""

    @property
    def is_changing(self) -> bool:
        """Whether ranges change hands, or are about to: others wait for what our commits let go."""

    def may_fetch(self) -> bool:
        """Whether we may start requests."""

    def begin(self, now: float) -> list[Entry]:
        """Take in what the whiteboard brought; returns entries for our frontier."""

    def route(self, entries: list[Entry]) -> list[Entry]:
        """Those of the entries that are ours."""

    def queued(self, entries: list[Entry]) -> None:
        """These are new in our frontier."""

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        """A page of ours is done; its links are about to be admitted."""

    def tell_robots(self, host: str, origin: str, status: int, body: bytes, now: float) -> None:
        """The robots.txt of a host."""

    def tell_busy(self, host: str, until: float, now: float) -> None:
        """A host wants to be left alone until then."""

    def before_commit(self) -> None:
        """Put what leaves into the outbox, so that the commit holds it."""

    def after_commit(self) -> None:
        """The commit is durable."""
