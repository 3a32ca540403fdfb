"""How a gatherer works with others: the protocol that a team member and a client of a seed-server implement.

A gatherer alone does without both, so this module must not load them.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from gcs.core.messages.tuples import Charter, Control, PlanPosted
from gcs.core.page.values import PageRecord
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.report.counters import PhaseTimes, Traffic
from gcs.core.report.report import Share
from gcs.core.url.admission import Admission
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier import Frontier
from gcs.ports.space.port import Space
from gcs.ports.system.process import new_run
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher
from gcs.roles.gatherer.record.recrawl import Recrawl


@dataclass(frozen=True, slots=True)
class MemberContext:
    """Who a member is, and what it works with."""

    name: str
    #: the whiteboard, in the member's name
    space: Space
    settings: TeamSettings
    frontier: Frontier
    #: where it is: which helpers work for it, and whose round trips its own are like, until it has measured them
    place: str = ""
    #: the session to be crawled: nothing is fetched under a plan of an earlier one
    session: int = 1
    #: pages that the team may store in a session; 0 for no limit
    max_pages: int = 0
    run: str = field(default_factory=new_run)
    #: the seconds of a round trip to an origin, None where it cannot be reached; without one, nothing is probed
    round_trip: Callable[[str], Awaitable[float | None]] | None = None


@dataclass(frozen=True, slots=True)
class GathererPort:
    """What a member asks of its gatherer."""

    dispatcher: Dispatcher
    admission: Admission
    #: counted by the member, reported by the gatherer
    traffic: Traffic
    recrawl: Recrawl
    #: ask for a turn
    request_turn: Callable[[], None]
    #: the gatherer's clock
    clock: Callable[[], float]
    #: whether nothing is queued, in flight or being read
    is_quiet: Callable[[], bool]
    #: the gatherer's part of the report
    share: Callable[[], Share]
    #: what a heartbeat tells the others, beside the workload of this share
    figures: Callable[[Share], dict[str, float]]
    #: begin this session, under the plan of this epoch; returns URLs that may be allowed by now
    begin_session: Callable[[int, int], list[QueuedUrl]]
    #: of a team with a barrier: counted by the member, reported by the gatherer
    phases: PhaseTimes = field(default_factory=PhaseTimes)


class Notices(Protocol):
    """What the board tells everybody."""

    charter: Charter | None
    control: Control | None

    @property
    def silent_s(self) -> float:
        """Seconds since the board took a heartbeat."""


class Membership(Protocol):
    """See `team.team_member.TeamMember` and `team.seed_client.SeedClient`."""

    #: requests that may be under way at once; 0 for as many as the settings say
    connections: int

    @property
    def whiteboard(self) -> Notices:
        """What is known of the board."""

    async def startup(self) -> None:
        """Go on as the last commit left it."""

    async def shutdown(self, share: Share | None) -> None:
        """Stop listening, and account for the gatherer's work."""

    def leave(self) -> None:
        """The gatherer wants to hand over what it has, and to go."""

    async def relieved(self) -> None:
        """Returns when the gatherer wants to leave and may."""

    @property
    def epoch(self) -> int:
        """Of the plan that is followed."""

    @property
    def rebalances(self) -> int:
        """Plans before the one that is followed."""

    @property
    def superpages(self) -> int:
        """How many superpages the gatherer owns."""

    @property
    def moving(self) -> tuple[int, int]:
        """URLs on their way to their next owners, and how many of them wait."""

    @property
    def known_plan(self) -> PlanPosted | None:
        """The newest plan that is known here."""

    @property
    def has_uncommitted(self) -> bool:
        """Whether a commit would let something go out, be acked or be said."""

    @property
    def is_changing(self) -> bool:
        """Whether ranges change their owner, or will soon: others wait for the tuples that a commit here lets go."""

    def may_fetch(self) -> bool:
        """Whether requests may be started."""

    def room(self, under_way: int) -> float:
        """How many more requests may be started, by the rules of the team."""

    def begin(self, now: float) -> list[QueuedUrl]:
        """Take in new tuples of the whiteboard; returns entries for the frontier."""

    def route(self, entries: list[QueuedUrl]) -> list[QueuedUrl]:
        """Returns the entries that this gatherer owns; the others are on their way to their owners."""

    def queued(self, entries: list[QueuedUrl]) -> None:
        """Count entries that are new in the frontier."""

    def recorded(self, record: PageRecord, elapsed_s: float) -> None:
        """A record was stored; its links are about to be admitted."""

    def tell_robots(self, host: str, origin: str, status: int, body: bytes) -> None:
        """The robots.txt of a host was fetched."""

    def tell_busy(self, host: str, wait_s: float) -> None:
        """A host wants to be left alone for so long."""

    @property
    def page_cap(self) -> int | None:
        """The pages that this gatherer may store in the session; None where nobody hands out shares."""

    def turn_ended(self, pages: int, asked: int) -> None:
        """A turn is over, with so many pages stored and asked for: say at once if the gatherer is passive now."""

    def before_commit(self) -> None:
        """Put what leaves into the outbox, so that the commit holds it."""

    def after_commit(self) -> None:
        """The commit is durable."""
