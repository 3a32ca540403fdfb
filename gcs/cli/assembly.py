"""Assembly: puts the concrete parts of a gatherer together. The only place that names them."""

from collections.abc import Callable
from pathlib import Path

from gcs.core.admission import Admission
from gcs.core.page import Result
from gcs.core.recent import Recent
from gcs.core.scope import Scope
from gcs.ports.fetch import Fetcher
from gcs.ports.fetch.aio import AioFetcher
from gcs.ports.fetch.curl import CurlFetcher
from gcs.ports.frontier import Frontier
from gcs.ports.records import Store
from gcs.ports.summarise import Options, TextPool
from gcs.ports.summarise.malloc import keep_arena
from gcs.roles.gatherer import Gatherer, Parts, Reader
from gcs.settings import Settings, fetch_settings

ENGINES: dict[str, type[CurlFetcher] | type[AioFetcher]] = {"curl": CurlFetcher, "aiohttp": AioFetcher}


def gatherer(directory: Path, name: str, settings: Settings, seeds: list[str]) -> Gatherer:
    """A gatherer that works in this directory, alone."""
    keep_arena()
    state = directory / "state" / name
    frontier = Frontier(state / "frontier", settings.frontier)
    try:
        store = Store.open(directory, settings.store, crawl=settings.crawl.name, gatherer=name)
    except BaseException:
        frontier.close()
        raise
    crawl = settings.crawl
    scope = Scope(crawl.scope, tuple(seeds), crawl.include, crawl.exclude)
    fetching = fetch_settings(settings)

    def make_fetcher(sink: Callable[[Result], None]) -> Fetcher:
        return ENGINES[fetching.engine](fetching, sink)

    summary = settings.summary
    options = Options(agent=fetching.robots_token, images=summary.images, max_links=summary.max_links)
    return Gatherer(
        name,
        settings,
        Parts(
            frontier=frontier,
            store=store,
            admission=Admission(scope, settings.traps, Recent(settings.frontier.recent_urls)),
            reader=Reader(settings.urls, options, summary.depth, settings.politeness.nofollow),
            make_fetcher=make_fetcher,
            texts=TextPool(summary.workers) if summary.depth == "full" else None,
        ),
    )
