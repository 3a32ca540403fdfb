"""The parts from which a gatherer is built, and the states of a crawl."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from gcs.core.page.values import Result
from gcs.core.url.admission import Admission
from gcs.ports.fetch import Fetcher
from gcs.ports.frontier import Frontier
from gcs.ports.reader import Reader
from gcs.ports.records.record_store import Store
from gcs.roles.gatherer.helpers.lending import Lending, LendingPort
from gcs.roles.gatherer.membership import GathererPort, Membership
from gcs.roles.gatherer.record.recrawl import Recrawl


class GathererState(StrEnum):
    """Whether a crawl runs, or how it ended; the words stand in the report."""

    RUNNING = "running"
    DONE = "done"
    LIMIT = "limit"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The parts that a gatherer works with. Made by `gcs.app.assembly`, closed by the gatherer."""

    frontier: Frontier
    store: Store
    admission: Admission
    reader: Reader
    make_fetcher: Callable[[Callable[[Result], None]], Fetcher]
    recrawl: Recrawl
    #: makes the membership in a team or at a seed-server; None for a gatherer alone
    make_team: Callable[[GathererPort], Membership] | None = None
    #: makes the part that lends pages to helpers; None if no page is lent
    make_lending: Callable[[LendingPort], Lending] | None = None
