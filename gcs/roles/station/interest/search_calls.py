"""The search of the station: by the index of a crawl, in threads of its own, or by those of its gatherers elsewhere."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gcs.core.search.query import parse
from gcs.core.search.results import Asked, SearchResults
from gcs.errors import UsageError
from gcs.ports.records.reading import is_url
from gcs.ports.search.find_pages import IndexView, find_pages
from gcs.ports.search.index_place import index_of
from gcs.ports.search.team_search import NoLibrarianError
from gcs.roles.station.http.endpoint import CrawlCall, Endpoint
from gcs.roles.station.http.problems import NotHereError
from gcs.roles.station.interest.interest_schemas import SearchQuery

#: searches at a time, and those that may wait for their turn
_THREADS, _MOST_WAITING = 2, 16


class SearchCalls:
    """The call `search`."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "search")
        self._asked = 0

    def endpoints(self) -> list[Endpoint]:
        about = "Pages that match a query, with excerpts and facets"
        return [Endpoint("GET", "search", about, SearchResults, self._search, SearchQuery)]

    async def _search(self, call: CrawlCall, query: SearchQuery) -> SearchResults:
        try:
            node = parse(query.q)
        except UsageError as error:  # every text is a query by the description: one that says nothing finds nothing
            raise NotHereError(f"no page can match: {error}") from error
        asked = Asked(node, query.most, query.skip, fold=not query.all)
        if self._asked >= _THREADS + _MOST_WAITING:
            raise UsageError("too many searches at once: try again")
        self._asked += 1
        try:
            return await self._found(call, asked, query.q)
        finally:
            self._asked -= 1

    async def _found(self, call: CrawlCall, asked: Asked, query: str) -> SearchResults:
        """By the index that is here, or else by those of its gatherers."""
        source = call.crawl.source
        if source.place is not None and not is_url(source.place) and index_of(Path(source.place)):
            view = IndexView(str(source.place))
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, lambda: find_pages(asked, [view]))
        try:
            return await source.find(asked, query)
        except NoLibrarianError as error:
            place = place_of(call)  # to look at all pages would hold everybody up
            advice = f"gcs index {place} makes one (gcs crawl --index keeps one)"
            raise UsageError(f"this crawl has no index: {advice}") from error


def place_of(call: CrawlCall) -> Path:
    """The directory of a crawl; NotHereError if that is elsewhere."""
    place = call.crawl.source.place
    if place is None or is_url(place):
        raise NotHereError("the directory of this crawl is not here: it is where its gatherers are")
    return Path(place)
