"""The intake: links that belong to the crawl, into our frontier or on their way to their owners.

    recorder.links, gifts ─► queue ─► (team: ours?) ─► insert ─► frontier ─► window, statistics

Invariant: whatever is new in the frontier is offered to the window and counted, once.
"""

import msgspec

from gcs.core.ordering import GIFT
from gcs.core.page.values import PageRecord
from gcs.ports.frontier import Entry, Frontier
from gcs.roles.gatherer.fetch.dispatcher import Dispatcher
from gcs.roles.gatherer.membership import Membership
from gcs.roles.gatherer.record.meter import Meter
from gcs.roles.gatherer.record.recorder import Recorder


class Intake:
    """Where one gatherer takes URLs in."""

    def __init__(
        self,
        frontier: Frontier,
        team: Membership | None,
        recorder: Recorder,
        dispatcher: Dispatcher,
        meter: Meter,
        host_pages: int,
    ) -> None:
        """`host_pages`: the most that the user wants of one host; 0 for no limit."""
        self._frontier, self._team, self._recorder, self._dispatcher = frontier, team, recorder, dispatcher
        self._meter, self._host_pages = meter, host_pages

    def links(self) -> None:
        """Take in what was linked to since the last time, and what those links are worth."""
        recorder = self._recorder
        links, gifts = recorder.links, recorder.gifts
        recorder.links, recorder.gifts = [], {}
        if gifts:
            links = [msgspec.structs.replace(entry, worth=gifts.pop(entry.url, 0.0)) for entry in links]
            links += [Entry(url, depth=GIFT, worth=gift) for url, gift in gifts.items() if gift]
        if links:
            self.queue(links)

    def replay(self, record: PageRecord) -> None:
        """Apply a record that the log holds beyond the last checkpoint."""
        self._recorder.replay(record)
        self.links()

    def seeds(self, urls: list[str]) -> None:
        """Take in where the crawl begins."""
        worth, ledger = self._frontier.order.seed, self._frontier.ledger
        new = [Entry(url, worth=worth) for url in urls if self._frontier.mark(url) is None]
        ledger.issued += worth * len(new)
        self.queue(new)

    def queue(self, entries: list[Entry]) -> None:
        """Links that were admitted: ours into the frontier, the others' on their way."""
        self.insert(self._team.route(entries) if self._team else entries)

    def insert(self, entries: list[Entry]) -> None:
        """Entries that are ours."""
        new = self._frontier.insert(entries, self._host_pages)
        self._meter.explored.known(len(new))
        self._dispatcher.queued(new)
        if self._team:
            self._team.queued(new)
