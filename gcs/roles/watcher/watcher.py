"""Matches stored pages against the profiles: follows the record logs of one crawl directory.

Invariant: what was found in a batch, what its pages say, and its positions are kept in one transaction. So a watcher
that was killed finds the same matches again, under the same ids, and none is missed.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from gcs.core.page.change import Change
from gcs.core.page.values import PageRecord
from gcs.core.search.searchable import Searchable
from gcs.core.watch.page_matches import Profiles
from gcs.core.watch.profile import GONE, Match
from gcs.events import Events
from gcs.ports.records.follower import RecordFollower, SessionReader
from gcs.ports.records.record_log import Position
from gcs.ports.search.index_follower import searchable
from gcs.ports.watch.watch_store import WatchStore

#: records of a transaction
_BATCH = 256
_SAME = str(Change.SAME)
events = Events("watch")


class Watcher:
    """Matches the pages that one crawl directory gets with its profiles."""

    def __init__(
        self,
        directory: Path,
        store: WatchStore,
        on_match: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._directory, self._store, self._on_match, self._clock = directory, store, on_match, clock
        self._reader = SessionReader([directory], store.positions(), directory)
        self._profiles = Profiles()
        self._version = -1
        #: matches found
        self.found = 0

    def step(self) -> bool:
        """Match some records, if there are new ones; whether there were any."""
        self._reload()
        records = [record for _, record in self._reader.read(_BATCH)]
        if not records:
            return False
        matches: list[Match] = []
        said: dict[str, tuple[int, Searchable]] = {}
        for record in records:
            if record.change in ("", _SAME) or record.noindex or record.source:
                continue
            self._match(record, matches, said)
        pages = said.values() if self._profiles.needs_past else ()
        if found := self._store.commit(matches, pages, self._reader.positions, self._clock()):
            self.found += found
            self._on_match()
        return True

    def close(self) -> None:
        self._reader.close()

    def _match(self, record: PageRecord, matches: list[Match], said: dict[str, tuple[int, Searchable]]) -> None:
        if not len(self._profiles):
            return
        page = searchable(record)
        past = None
        if self._profiles.needs_past:
            past = said[record.url][1] if record.url in said else self._store.past(record.url)
            if record.change != GONE and record.is_page:
                said[record.url] = record.session, msgspec.structs.replace(page)  # without the words that it caches
        matches.extend(self._profiles.matches(record, page, past))

    def _reload(self) -> None:
        """Take up profiles that others have added, changed or removed."""
        if (version := self._store.version()) == self._version:
            return
        self._version = version
        self._profiles.replace(self._store.profiles())
        if self._profiles.needs_past and not self._store.has_past():
            self._store.fill_past(self._read_before())

    def _read_before(self) -> Iterator[tuple[int, Searchable]]:
        """What was read already, for a profile that asks what pages said before."""
        for gatherer, (file, records) in self._reader.positions.items():
            end = Position(file, records)
            follower = RecordFollower(self._directory, gatherer)
            while follower.position < end and (found := follower.read(_BATCH)):
                for record, position in found:
                    if position <= end and record.is_page and not record.noindex and not record.held_at_us:
                        yield record.session, searchable(record)
            follower.close()
