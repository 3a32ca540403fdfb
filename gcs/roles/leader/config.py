"""What a leader is given: one value, passed from the process to the leader, its terms and its rebalance rounds."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from gcs.core.messages.tuples import Charter, Control, PlanPosted
from gcs.core.plan.expression import Expression
from gcs.core.plan.host_limits import HostLimits
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.plan.triggers import NAMES

#: runs a dead gatherer as a ghost in this process; False if its directory cannot be reached or is in use
Ghost = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderConfig:
    """What a leader goes by. Equal in all processes of a crawl, but for the callables, which reach the own gatherer."""

    settings: TeamSettings
    ghost: Ghost
    random: Random
    #: the user's reason to rebalance, besides those of the paper; SettingsError if it cannot be read
    trigger: Expression | None = field(init=False)
    #: how many members the first plan waits for
    expected: int = 1
    #: the session to crawl, and the encoded Blueprint that was made ahead for it, if there is one
    session: int = 1
    blueprint: bytes = b""
    #: pages that the team may store in a session; 0 for no limit
    max_pages: int = 0
    #: the plan that this process's gatherer has, from its disk or from the board
    known_plan: Callable[[], PlanPosted | None] = lambda: None
    #: the crawl as this process's gatherer knows it, for a board that has forgotten it
    known_crawl: Callable[[], tuple[Charter, Control | None] | None] = lambda: None
    #: the connections of a gatherer, by the settings of the crawl; delays come with the statistics
    limits: HostLimits = field(default_factory=HostLimits)

    def __post_init__(self) -> None:
        trigger = self.settings.trigger
        object.__setattr__(self, "trigger", Expression(trigger, NAMES) if trigger else None)
