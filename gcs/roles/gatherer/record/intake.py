"""The intake: links that belong to the crawl go into the frontier of this gatherer, or to the gatherer that owns them.

    recorder.links, gifts ─► queue ─► (team: own or foreign, `team.router`) ─► insert ─► frontier ─► window, statistics

Invariant: whatever is new in the frontier is offered to the window and counted, once.
"""

import msgspec

from gcs.core.ordering import GIFT
from gcs.core.page.values import PageRecord
from gcs.core.url.queued_url import QueuedUrl
from gcs.ports.frontier import Frontier
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher
from gcs.roles.gatherer.membership import Membership
from gcs.roles.gatherer.record.meter import Meter
from gcs.roles.gatherer.record.recorder import Recorder


class Intake:
    """Takes in the URLs of one gatherer."""

    def __init__(
        self,
        frontier: Frontier,
        team: Membership | None,
        recorder: Recorder,
        dispatcher: Dispatcher,
        meter: Meter,
        host_pages: int,
    ) -> None:
        """`host_pages`: most URLs of one host that the user wants; 0 for no limit."""
        self._frontier, self._team, self._recorder, self._dispatcher = frontier, team, recorder, dispatcher
        self._meter, self._host_pages = meter, host_pages

    def links(self) -> None:
        """Take in the links that were recorded since the last call, and the worth that they give to their targets."""
        recorder = self._recorder
        links, gifts = recorder.links, recorder.gifts
        recorder.links, recorder.gifts = [], {}
        if gifts:
            links = [msgspec.structs.replace(entry, worth=gifts.pop(entry.url, 0.0)) for entry in links]
            links += [QueuedUrl(url, depth=GIFT, worth=gift) for url, gift in gifts.items() if gift]
        if links:
            self.queue(links)

    def replay(self, record: PageRecord) -> None:
        """Apply a record that the log holds beyond the last checkpoint."""
        self._recorder.replay(record)
        self.links()

    def seeds(self, urls: list[str]) -> None:
        """Take in the seeds that are not known yet."""
        worth, ledger = self._frontier.order.seed, self._frontier.ledger
        new = [QueuedUrl(url, worth=worth) for url in urls if self._frontier.mark(url) is None]
        ledger.issued += worth * len(new)
        self.queue(new)

    def queue(self, entries: list[QueuedUrl]) -> None:
        """Queue admitted links: own ones in the frontier, foreign ones for their owners."""
        self.insert(self._team.route(entries) if self._team else entries)

    def insert(self, entries: list[QueuedUrl]) -> None:
        """Queue entries that this gatherer owns."""
        new = self._frontier.insert(entries, self._host_pages)
        self._meter.explored.known(len(new))
        self._dispatcher.queued(new)
        if self._team:
            self._team.queued(new)
