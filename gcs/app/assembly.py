"""Assembly: makes the concrete parts of gatherers and helpers from settings. The only place that names them.

To add a fetch engine: write it in `ports/fetch`, name it in `FetchSettings.engine`, and list it in ENGINES below.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gcs.core.malloc import keep_arena
from gcs.core.ordering import ORDERS, Ordering, Scored
from gcs.core.page.values import Result
from gcs.core.queues.contract import Queue
from gcs.core.url.admission import Admission, Recent
from gcs.core.url.canonical import UrlRules
from gcs.core.url.scope import Scope
from gcs.errors import SettingsError
from gcs.ports import process
from gcs.ports.fetch import Fetcher, FetchSettings
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.reader import Reader, Summarisers
from gcs.ports.records.layout import check_names
from gcs.ports.records.reading import read_records, rows
from gcs.ports.records.record_store import Store
from gcs.ports.space.port import Space
from gcs.ports.summarise import Options, SummarySettings
from gcs.ports.summarise.text_pool import TextPool
from gcs.roles.gatherer import Dependencies, Gatherer
from gcs.roles.gatherer.helpers.lending import Lending, LendingContext, LendingPort
from gcs.roles.gatherer.membership import GathererPort, MemberContext, Membership
from gcs.roles.gatherer.record.recrawl import LastVisit, Recrawl
from gcs.settings import Settings, with_user_agent

#: group of entry points by which an installed package offers orders
ENTRY_POINTS = "gcs.orders"
#: the queue setting under which each host has its own queue
HOSTS = "hosts"
#: keys in a block of the queue: small, because a crawl extracts some hundreds at a time
BLOCK_KEYS = 4096

Sink = Callable[[Result], None]
FetchEngine = Callable[[FetchSettings, Sink], Fetcher]


def load_order(name: str) -> Ordering:
    """The order of that name: a built-in one, a function `module:function`, or one that an installed package offers.

    The function is given a `gcs.core.ordering.Found` and returns a number; the larger, the sooner.
    """
    if name in ORDERS:
        return ORDERS[name]
    score = _from_module(*name.split(":", 1)) if ":" in name else _from_package(name)
    if not callable(score):
        raise SettingsError(f"order {name} is no function; write one that takes a Found and returns a number")
    return Scored(name, score)


def queue_maker(folder: Path, settings: FrontierSettings) -> Callable[[], Queue] | None:
    """What makes the queue of one order over all hosts; None where each host has its own."""
    if settings.queue == HOSTS:
        return None
    from gcs.ports.disk_queue import DiskSettings, open_scratch  # it brings numpy

    on_disk = DiskSettings(settings.queue_bytes, BLOCK_KEYS)
    return lambda: open_scratch(settings.queue, folder, on_disk)


def _from_module(module: str, function: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # a file beside the crawl, as with `python -m`
    try:
        found = importlib.import_module(module)
    except Exception as error:  # a stranger's module may raise anything
        raise SettingsError(
            f"order {module}:{function} cannot be loaded ({type(error).__name__}: {error}); "
            f"put {module}.py into this directory or install it"
        ) from error
    if not hasattr(found, function):
        raise SettingsError(f"order {module}:{function}: {found} has no {function}; write it there")
    return getattr(found, function)


def _from_package(name: str) -> object:
    from importlib.metadata import entry_points  # 30 ms

    for entry_point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            return entry_point.load()
        except Exception as error:  # a stranger's package may raise anything
            raise SettingsError(
                f"order {name} cannot be loaded from {entry_point.value} ({type(error).__name__}: {error}); "
                "install its package again, or choose another order"
            ) from error
    known = ", ".join([*ORDERS, *(each.name for each in entry_points(group=ENTRY_POINTS))])
    raise SettingsError(f"there is no order {name!r}; give one of {known}, or module:function")


def make_reader(summary: SummarySettings, urls: UrlRules, robots_token: str, heed: bool, in_processes: bool) -> Reader:
    """Reads pages; the full text in processes of its own, where the caller cannot wait for it."""
    options = Options(agent=robots_token, images=summary.images, max_links=summary.max_links)
    texts = TextPool(summary.workers, options=options) if in_processes and summary.depth == "full" else None
    return Reader(urls, Summarisers.with_plugins(), options, summary.depth, heed, texts)


def _curl() -> FetchEngine:
    from gcs.ports.fetch.curl_engine import CurlFetcher

    return CurlFetcher


def _aiohttp() -> FetchEngine:
    from gcs.ports.fetch.aio_engine import AioFetcher

    return AioFetcher


#: name in the settings → loads the class of the engine; only the engine that is chosen is loaded
ENGINES: dict[str, Callable[[], FetchEngine]] = {"curl": _curl, "aiohttp": _aiohttp}


def make_fetcher(settings: FetchSettings, sink: Sink) -> Fetcher:
    """The engine that the settings name, behind the one for folders, databases and news if the crawl has any."""
    engine = ENGINES[settings.engine]()
    if not settings.sources:
        return engine(settings, sink)
    from gcs.ports.fetch.sources.source_engine import SourceFetcher

    return SourceFetcher(settings, sink, lambda web_sink: engine(settings, web_sink))


def make_browser(settings: FetchSettings, sink: Sink) -> Fetcher:
    """The engine that renders pages, above the one that the settings name."""
    from gcs.ports.fetch.browser import BrowserFetcher, BrowserSettings  # it brings Playwright, which is an extra

    return BrowserFetcher(settings, sink, BrowserSettings(), lambda plain_sink: make_fetcher(settings, plain_sink))


@dataclass(frozen=True, slots=True)
class TeamAccess:
    """How a gatherer works with its team."""

    #: the whiteboard, opened in the gatherer's name
    space: Space
    #: the gatherer hands over what a dead gatherer of its name left behind, and fetches nothing
    ghost: bool = False
    #: the place whose helpers work for the gatherer
    place: str = ""
    #: name of the seed-server that hands out URLs, where the team has one
    server: str = ""
    #: the session to be crawled
    session: int = 1


def gatherer(
    directory: Path, name: str, settings: Settings, seeds: list[str], access: TeamAccess | None = None
) -> Gatherer:
    """A gatherer that works in this directory, alone or with others. Needs a running event loop."""
    keep_arena()
    process.take_long()
    settings = with_user_agent(settings)
    crawl = settings.crawl
    check_names(name)  # first: a bad one would be a path elsewhere
    scope = Scope(crawl.scope, tuple(seeds), crawl.include, crawl.exclude)
    info = {"http-header-user-agent": settings.fetch.user_agent, "operator": crawl.contact}
    by_server = access is not None and settings.team.coordination == "seed-server"
    folder = directory / "state" / name / "frontier"
    order = load_order(settings.seed_server.order if by_server else crawl.order)
    frontier = Frontier(folder, settings.frontier, order, queue_maker(folder, settings.frontier))
    try:
        store = Store.open(directory, settings.store, name, crawl=crawl.name, info=info)
    except BaseException:
        frontier.close()
        raise
    return Gatherer(
        name,
        settings,
        Dependencies(
            frontier=frontier,
            store=store,
            admission=Admission(scope, settings.traps, Recent(settings.frontier.recent_urls)),
            reader=make_reader(
                settings.summary, settings.urls, settings.fetch.robots_token, settings.politeness.nofollow, True
            ),
            make_fetcher=lambda sink: make_fetcher(settings.fetch, sink),
            recrawl=Recrawl(frontier, lambda since: _last_visits(directory, name, since)),
            make_team=_team_maker(directory, name, settings, frontier, access) if access else None,
            make_lending=_lending_maker(name, settings, access) if access and settings.helpers.lend else None,
        ),
    )


def _last_visits(directory: Path, name: str, since: int) -> Iterator[LastVisit]:
    """Of this gatherer's own records, from the log file of that number on."""
    return map(
        LastVisit._make,
        rows(directory, LastVisit._fields, lambda gatherer, number: gatherer == name and number >= since),
    )


def _team_maker(
    directory: Path, name: str, settings: Settings, frontier: Frontier, access: TeamAccess
) -> Callable[[GathererPort], Membership]:
    context = MemberContext(name, access.space, settings.team, frontier, access.place, access.session)
    if settings.team.coordination == "seed-server":
        from gcs.roles.gatherer.team.seed_client import SeedClient

        return lambda port: SeedClient(context, port, access.server)
    from gcs.roles.gatherer.team.team_member import TeamMember  # slow to load, and a gatherer alone does without

    return lambda port: TeamMember(context, port, lambda: read_records(directory), access.ghost)


def _lending_maker(name: str, settings: Settings, access: TeamAccess) -> Callable[[LendingPort], Lending]:
    context = LendingContext(
        access.space, name, access.place, settings.helpers, settings.politeness, settings.store.warc
    )
    return lambda port: Lending(context, port)


def load(settings: Settings) -> None:
    """Load what gatherers of a team with these settings need, before they are forked: once instead of N times."""
    import uvloop  # noqa: F401

    import gcs.roles.gatherer.team.team_member  # noqa: F401

    ENGINES[settings.fetch.engine]()
