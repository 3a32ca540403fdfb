"""Home: the gatherer, as its team's side sees it."""

from collections.abc import Callable
from dataclasses import dataclass

from gcs.core.admission import Admission
from gcs.core.estimate import Estimate
from gcs.core.report import Share
from gcs.core.tally import Traffic
from gcs.ports.frontier import Entry
from gcs.roles.gatherer.dispatcher import Dispatcher
from gcs.roles.gatherer.renewal import Renewal


@dataclass(frozen=True, slots=True)
class Home:
    """What the team's side asks of the gatherer that it belongs to."""

    dispatcher: Dispatcher
    admission: Admission
    #: counted by the team's side, reported by the gatherer
    traffic: Traffic
    renewal: Renewal
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
