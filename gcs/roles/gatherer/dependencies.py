"""The parts that a gatherer is put together from, and the states in which it may stand."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from gcs.core.page.values import Result
from gcs.core.url.admission import Admission
from gcs.ports.fetch import Fetcher
from gcs.ports.frontier import Frontier
from gcs.ports.reader import Reader
from gcs.ports.records.record_store import Store
from gcs.roles.gatherer.helpers.lending import Lending
from gcs.roles.gatherer.membership import Membership
from gcs.roles.gatherer.record.recrawl import Recrawl


class GathererState(StrEnum):
    """How a crawl stands or ended, as the report says it."""

    RUNNING = "running"
    DONE = "done"
    LIMIT = "limit"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The concrete parts that a gatherer works with. Made by the CLI, closed by the gatherer."""

    frontier: Frontier
    store: Store
    admission: Admission
    reader: Reader
    make_fetcher: Callable[[Callable[[Result], None]], Fetcher]
    renewal: Recrawl
    #: membership in a team, or a place at a seed-server; None for a gatherer alone
    team: Membership | None = None
    #: the helpers' side of it
    lending: Lending | None = None
