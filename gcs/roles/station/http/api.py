"""The API: one table of endpoints (see `endpoint`), about the crawls and about the station itself.

Invariant: endpoints take and give values of `view.schemas` only, so that the description is always true.
"""

from collections.abc import Callable

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.core.messages.tuples import CrawlState
from gcs.core.page.values import PageRecord
from gcs.core.report.series import SeriesPoint
from gcs.core.report.treemap import Tile
from gcs.ports.catalogue import Catalogue
from gcs.roles.station.crawls.station_crawls import StationCrawls
from gcs.roles.station.http.auth import CALLER, ROLES
from gcs.roles.station.http.endpoint import CrawlCall, Endpoint, Handle
from gcs.roles.station.view import schemas
from gcs.roles.station.view.poller import Poller
from gcs.roles.station.view.views import MOST_HOSTS

#: points of the history from which on it is shown as it was seen; points that are made of records
SEEN_POINTS, REST_POINTS = 30, 120
#: pages of a crawl that rests, and of each the fields that are shown
REST_PAGES = 8
PAGE_FIELDS = (
    *("url", "parent", "title", "summary", "status", "bytes", "fetched_at", "depth", "outlinks", "language"),
    *("gatherer", "helper"),
)


class Api:
    """The endpoints of one station."""

    def __init__(self, crawls: StationCrawls) -> None:
        self._crawls = crawls

    def endpoints(self) -> list[Endpoint]:
        accepted = schemas.Accepted
        pause, resume, stop = map(_order, (CrawlState.PAUSED, CrawlState.RUNNING, CrawlState.STOPPING))
        plans = "The plans of the crawl, and what they moved"
        recent = "Pages stored lately, with their summaries"
        return [
            Endpoint("GET", "me", "What the caller may do", schemas.Me, _me, of_crawl=False),
            Endpoint("GET", "crawls", "The crawls that are here", schemas.Crawls, self._list, of_crawl=False),
            Endpoint("GET", "status", "How the crawl stands", schemas.Status, _shows(Poller.status)),
            Endpoint("GET", "history", "The figures over time", schemas.History, _history),
            Endpoint("GET", "tree", "A part of the URL tree, and who owns it", Tile, _tree, schemas.TreeQuery),
            Endpoint("GET", "links", "Who sends links to whom", schemas.ExchangedLinks, _shows(Poller.links)),
            Endpoint("GET", "rebalances", plans, schemas.Rebalances, _shows(Poller.rebalances)),
            Endpoint("GET", "errors", "Failures by kind and by host", schemas.Errors, _errors),
            Endpoint("GET", "pages", recent, schemas.RecentPages, _recent),
            Endpoint("POST", "pause", "Start nothing more until resumed", accepted, pause),
            Endpoint("POST", "resume", "Go on", accepted, resume),
            Endpoint("POST", "stop", "End; the state is kept", accepted, stop),
            Endpoint("POST", "rebalance", "Ask the leader to share the work anew", accepted, _rebalance),
            Endpoint("POST", "seeds", "Add seeds", schemas.AddedSeeds, _seeds, schemas.NewSeeds),
        ]

    async def _list(self, _: web.Request, __: None) -> schemas.Crawls:
        return await self._crawls.listed()


async def _me(request: web.Request, _: None) -> schemas.Me:
    roles: frozenset[Role] = request[ROLES]
    return schemas.Me(request[CALLER], sorted(roles))


async def _history(call: CrawlCall, _: None) -> schemas.History:
    """As the station has seen it; of a crawl that rests, as its records tell it."""
    seen, board = call.crawl.poller.history(), call.crawl.poller.board
    if board.at_work or call.crawl.reader is None or len(seen.points) >= SEEN_POINTS:
        return seen
    spans = await call.crawl.reader.ask(lambda catalogue, _: catalogue.pace(REST_POINTS))
    pages, points = 0, list[SeriesPoint]()
    for begin, (end, count, size) in zip([spans[0][0] - 1.0 if spans else 0.0, *(span[0] for span in spans)], spans):
        pages, seconds = pages + count, max(end - begin, 1e-3)
        rates = round(count / seconds, 2), round(size / seconds, 1)
        points.append(SeriesPoint(end, *rates, pages=pages, known=pages))
    return schemas.History(seen.step_s, points or seen.points)


async def _recent(call: CrawlCall, _: None) -> schemas.RecentPages:
    """As the gatherers tell it; of a crawl that rests, as its records do."""
    seen = call.crawl.poller.pages()
    if seen.pages or call.crawl.poller.board.at_work or call.crawl.reader is None:
        return seen

    def read(catalogue: Catalogue, _complete: bool) -> schemas.RecentPages:
        newest = catalogue.find({"kind": "page"}, "", "newest", 0, REST_PAGES)[1]
        records = (catalogue.record(row.url, 0, PAGE_FIELDS) for row in newest)
        return schemas.RecentPages([_shown(record) for record in records if record])

    return await call.crawl.reader.ask(read)


def _shown(record: PageRecord) -> schemas.ShownPage:
    return schemas.ShownPage(
        gatherer=record.gatherer,
        url=record.url,
        title=record.title,
        summary=record.summary,
        status=record.status,
        bytes=record.bytes,
        fetched_at=record.fetched_at,
        elapsed_s=0.0,
        depth=record.depth,
        outlinks=len(record.outlinks),
        language=record.language,
        helper=record.helper,
    )


async def _errors(call: CrawlCall, _: None) -> schemas.Errors:
    """The same, of failures."""
    seen = call.crawl.poller.errors()
    if seen.hosts or call.crawl.poller.board.at_work or call.crawl.reader is None:
        return seen
    worst = await call.crawl.reader.ask(lambda catalogue, _: catalogue.failing_hosts(MOST_HOSTS))
    return schemas.Errors(seen.kinds, [schemas.HostErrors(*each, []) for each in worst])


async def _tree(call: CrawlCall, query: schemas.TreeQuery) -> Tile:
    return call.crawl.poller.tree(query.path, query.levels, query.most, query.after)


async def _rebalance(call: CrawlCall, _: None) -> schemas.Accepted:
    await call.crawl.source.rebalance(call.by)
    return schemas.Accepted("rebalance")


async def _seeds(call: CrawlCall, given: schemas.NewSeeds) -> schemas.AddedSeeds:
    return schemas.AddedSeeds(await call.crawl.source.add_seeds(given.urls))


def _order(state: CrawlState) -> Handle:
    async def give(call: CrawlCall, _: None) -> schemas.Accepted:
        await call.crawl.source.order(state, call.by)
        return schemas.Accepted(str(state))

    return give


def _shows(value: Callable[[Poller], msgspec.Struct]) -> Handle:
    async def show(call: CrawlCall, _: None) -> msgspec.Struct:
        return value(call.crawl.poller)

    return show
