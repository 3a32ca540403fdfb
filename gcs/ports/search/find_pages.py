"""Finds pages: in the index of a crawl, in several at once, or by a look at all records where there is no index."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gcs.core.page.values import PageRecord
from gcs.core.search.results import Asked, EngineAnswer, SearchResults, present
from gcs.core.search.scan import Scan
from gcs.core.search.searchable import Searchable
from gcs.errors import UsageError
from gcs.ports.records.follower import SessionReader
from gcs.ports.records.reading import is_url, latest
from gcs.ports.search.index_follower import searchable
from gcs.ports.search.index_place import index_of, open_index, read_card

#: columns that a search without an index reads
_FIELDS = (
    "url", "title", "summary", "text", "fields", "language", "content_type", "published", "modified", "fetched_at",
    "depth", "change", "simhash", "noindex",
)  # fmt: skip


class IndexView:
    """One place that is searched."""

    def __init__(self, place: str, scan: bool = False) -> None:
        self.place = place
        self._folder = None if is_url(place) else index_of(Path(place))
        if scan and self._folder == Path(place):
            raise UsageError(f"{place} is an index: give the crawl's directory for --scan")
        if scan:
            self._folder = None

    def answer(self, asked: Asked) -> EngineAnswer:
        if self._folder is None:
            return _scan(self.place, asked)
        engine = open_index(self._folder)
        try:
            return engine.search(asked)
        finally:
            engine.close()

    def is_behind(self) -> bool:
        """Whether the index misses pages that are stored."""
        if self._folder is None:
            return False
        engine = open_index(self._folder)
        place = Path(self.place)
        sources = [Path(source) for source in read_card(self._folder).sources] or [place]
        reader = SessionReader(sources, engine.positions(), place)
        try:
            return bool(reader.read(1, ahead=1))
        finally:
            reader.close()
            engine.close()


def find_pages(asked: Asked, views: Sequence[IndexView]) -> SearchResults:
    """The answers of all places as one."""
    return present(asked, [view.answer(asked) for view in views])


def searchables(place: str) -> Iterator[Searchable]:
    """Each page of a crawl as it was found last, none that asks not to be indexed."""
    for row in latest(place, _FIELDS):
        told = dict(zip(_FIELDS, row))
        if not told["noindex"]:
            yield searchable(PageRecord(parent="", status=200, gatherer="", **told))


def _scan(place: str, asked: Asked) -> EngineAnswer:
    scan = Scan(asked)
    for page in searchables(place):
        scan.add(page)
    return scan.answer()
