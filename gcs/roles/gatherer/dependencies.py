"""The parts from which a gatherer is built, and the states of a crawl."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gcs.core.page.values import Request, Result
from gcs.core.url.admission import Admission
from gcs.ports.fetch import Fetcher
from gcs.ports.frontier import Frontier
from gcs.ports.plugins import Plugins
from gcs.ports.reader import Reader
from gcs.ports.records.record_store import Store
from gcs.ports.system.watchdog import Watchdog
from gcs.roles.gatherer.helpers.lending import Lending, LendingPort
from gcs.roles.gatherer.membership import GathererPort, Membership
from gcs.roles.gatherer.record.recrawl import Recrawl


class GathererState(StrEnum):
    """Whether a crawl runs, or how it ended; the words stand in the report."""

    RUNNING = "running"
    DONE = "done"
    LIMIT = "limit"
    STOPPED = "stopped"
    #: everybody waited for messages that nobody could read or deliver
    STUCK = "stuck"
    FAILED = "failed"


class Outlet(Protocol):
    """Where the records go on to, for whoever takes them and may be slower than the crawl."""

    def room(self) -> int:
        """How many more records may be stored before some of them are taken."""
        ...

    def stored(self) -> None:
        """A record was stored. It can be read after the next `flushed`."""
        ...

    def flushed(self) -> None:
        """All that was stored can be read."""
        ...


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The parts that a gatherer works with. Made by `gcs.app.assembly`, closed by the gatherer."""

    frontier: Frontier
    store: Store
    admission: Admission
    reader: Reader
    make_fetcher: Callable[[Callable[[Result], None]], Fetcher]
    recrawl: Recrawl
    watchdog: Watchdog
    #: makes the membership in a team or at a seed-server; None for a gatherer alone
    make_team: Callable[[GathererPort], Membership] | None = None
    #: makes the part that lends pages to helpers; None if no page is lent
    make_lending: Callable[[LendingPort], Lending] | None = None
    #: where the records go on to; None if nobody waits for them
    outlet: Outlet | None = None
    #: the user's own code; None if there is none
    plugins: Plugins | None = None
    #: signs the requests of the own engine; None if they are not signed
    sign: Callable[[Request], Request] | None = None
