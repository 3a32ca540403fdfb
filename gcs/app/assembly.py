"""Assembly: makes gatherers and the parts of helpers from settings, and runs a crawl by one gatherer.

This is the only place that names the concrete parts. To add a fetch engine: write it in `ports/fetch`, name
it in `FetchSettings.engine`, and list it in ENGINES below.
"""

import asyncio
import functools
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gcs.app.crawl_dir import by_list
from gcs.app.crawl_input import CrawlRun
from gcs.app.progress import Progress
from gcs.app.solo_control import STATES, obey
from gcs.app.terminal import Outcome
from gcs.core.malloc import keep_arena
from gcs.core.ordering import ORDERS, Ordering, Scored
from gcs.core.page.values import Request, Result
from gcs.core.queues.contract import Queue
from gcs.core.report import report
from gcs.core.url.admission import Admission, Recent
from gcs.core.url.canonical import UrlRules
from gcs.core.url.scope import Scope
from gcs.errors import SettingsError, UsageError
from gcs.ports.fetch import Fetcher, FetchSettings, connect_time
from gcs.ports.fetch.request_signing import FILE_VARIABLE, RequestSigner, signing_keys
from gcs.ports.frontier import Frontier, FrontierSettings
from gcs.ports.own_code import load_named
from gcs.ports.plugins import Plugin, Plugins
from gcs.ports.reader import Reader, Summarisers
from gcs.ports.records.layout import check_names
from gcs.ports.records.reading import read_records, rows, warn
from gcs.ports.records.record_log import BEGINNING
from gcs.ports.records.record_store import Store
from gcs.ports.space.port import Space
from gcs.ports.summarise import Options, SummarySettings
from gcs.ports.summarise.text_pool import TextPool
from gcs.ports.system import process
from gcs.ports.system.control_socket import answering
from gcs.ports.system.process import use_one_heap
from gcs.ports.system.watchdog import LIMIT_S, Watchdog
from gcs.roles.gatherer import Dependencies, Gatherer, GathererState, Outlet
from gcs.roles.gatherer.helpers.lending import Lending, LendingContext, LendingPort
from gcs.roles.gatherer.membership import GathererPort, MemberContext, Membership
from gcs.roles.gatherer.record.checkpoints import last_position
from gcs.roles.gatherer.record.recrawl import LastVisit, Recrawl
from gcs.settings import Settings, with_user_agent

#: group of entry points by which an installed package offers orders
ENTRY_POINTS = "gcs.orders"
#: the same for plug-ins
PLUGIN_GROUP = "gcs.plugins"
#: the queue setting under which each host has its own queue
HOSTS = "hosts"
#: keys in a block of the queue: small, because a crawl extracts some hundreds at a time
BLOCK_KEYS = 4096
#: seconds between two redraws of the progress
REFRESH_S = 0.25

T = TypeVar("T")
Sink = Callable[[Result], None]
FetchEngine = Callable[[FetchSettings, Sink], Fetcher]


def run_alone(run: CrawlRun, progress: bool) -> Outcome:
    """Crawl with one gatherer in this process. The first Ctrl-C keeps the state and ends soon, the second at once."""
    return run_loop(_run_alone(run, progress))


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on uvloop, with a heap and a garbage collector tuned for a crawl."""
    import uvloop

    use_one_heap()
    # a page makes thousands of objects and no cycles: looking for cycles every 700 objects costs a tenth of the crawl
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    return uvloop.run(main)


async def _run_alone(run: CrawlRun, progress: bool) -> Outcome:
    alone = gatherer(run.directory, "g0", run.settings, run.seeds)
    run.begin()  # not before: now the directory is locked
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        if interrupted:
            if bar:
                bar.stop()  # the terminal gets its cursor back
            os._exit(130)  # everything stored is in the log already; the next run replays it
        interrupted = True
        print("ending: waiting for pages in flight (Ctrl-C again to end at once)", file=sys.stderr)
        alone.stop()

    loop = asyncio.get_running_loop()
    with Progress() if progress else nullcontext() as bar:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
        display = asyncio.create_task(_show(alone, bar)) if bar else None
        try:
            async with answering(run.directory, functools.partial(obey, run, alone)):
                state = await alone.run(run.seeds, run.session)
        finally:
            if display:
                display.cancel()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
    figures = report.build(run.settings.crawl.name, state, [alone.final_share])
    if expected := run.settings.crawl.expected:
        figures = by_list(figures, run.directory, expected, run.settings.urls)
    return Outcome(figures, interrupted and state is not GathererState.DONE)


async def _show(alone: Gatherer, bar: Progress) -> None:
    while True:
        await asyncio.sleep(REFRESH_S)
        if alone.state is not GathererState.RUNNING:
            return
        work = alone.share().work
        bar.update([work], STATES.get(work.holds, "running"))


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
    directory: Path,
    name: str,
    settings: Settings,
    seeds: list[str],
    access: TeamAccess | None = None,
    outlet: Outlet | None = None,
    plugins: Sequence[Plugin] = (),
) -> Gatherer:
    """A gatherer that works in this directory, alone or with others. Needs a running event loop.

    With an outlet it is a guest in a user's program, which no timer may end. Its plug-ins are those of the
    settings, and `plugins`.
    """
    keep_arena()
    process.take_long()
    settings = with_user_agent(settings)
    crawl = settings.crawl
    check_names(name)  # first: a bad one would be a path elsewhere
    plugins, sign = [*load_plugins(crawl.plugins), *plugins], request_signer(settings.fetch)
    scope = Scope(crawl.scope, tuple(seeds), crawl.include, crawl.exclude)
    info = {"http-header-user-agent": settings.fetch.user_agent, "operator": crawl.contact}
    by_server = access is not None and settings.team.coordination == "seed-server"
    folder = directory / "state" / name / "frontier"
    order = load_order(settings.seed_server.order if by_server else crawl.order)
    make_frontier = functools.partial(
        Frontier, folder, settings.frontier, order, queue_maker(folder, settings.frontier)
    )
    frontier = make_frontier()
    known = last_position(frontier)
    try:
        store = Store.open(directory, settings.store, name, crawl=crawl.name, info=info, known=known or BEGINNING)
    except BaseException:
        frontier.close()
        raise
    if store.is_damaged or (known is None and frontier.known()):  # the latter: interrupted while it was made anew
        try:
            frontier.clear()
            frontier = make_frontier()
        except BaseException:
            store.close()
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
            recrawl=Recrawl(frontier, lambda since: _last_visits(directory, name, since), scope.covers),
            watchdog=Watchdog(folder.parent, None if outlet else LIMIT_S),
            make_team=_team_maker(directory, name, settings, frontier, access) if access else None,
            make_lending=_lending_maker(name, settings, access) if access and settings.helpers.lend else None,
            outlet=outlet,
            plugins=Plugins(plugins) if plugins else None,
            sign=sign,
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
    round_trip = functools.partial(connect_time.round_trip, settings=settings.fetch)
    context = MemberContext(
        name,
        access.space,
        settings.team,
        frontier,
        access.place,
        access.session,
        settings.crawl.max_pages,
        round_trip=round_trip,
    )
    if settings.team.coordination == "seed-server":
        from gcs.roles.gatherer.team.seed_client import SeedClient

        return lambda port: SeedClient(context, port, access.server)
    from gcs.roles.gatherer.team.team_member import TeamMember  # slow to load, and a gatherer alone does without

    return lambda port: TeamMember(context, port, lambda: read_records(directory, on_damage=warn), access.ghost)


def _lending_maker(name: str, settings: Settings, access: TeamAccess) -> Callable[[LendingPort], Lending]:
    selects = bool(settings.crawl.plugins)
    wants_body = (settings.store.warc and settings.helpers.payload) or selects or bool(settings.crawl.purpose)
    context = LendingContext(
        access.space, name, access.place, settings.helpers, settings.politeness, wants_body, selects
    )
    return lambda port: Lending(context, port)


def load_order(name: str) -> Ordering:
    """The order of that name: a built-in one, a function `module:function`, or one that an installed package offers.

    The function is given a `gcs.core.ordering.Found` and returns a number; the larger, the sooner.
    """
    if name in ORDERS:
        return ORDERS[name]
    score = load_named("order", ENTRY_POINTS, name, ORDERS)
    if not callable(score):
        raise SettingsError(f"order {name} is no function; write one that takes a Found and returns a number")
    return Scored(name, score)


def load_plugins(names: Sequence[str]) -> list[Plugin]:
    """The plug-ins of these names: `module:object`, or those that installed packages offer."""
    return [Plugin.of(load_named("plug-in", PLUGIN_GROUP, name), name) for name in names]


def queue_maker(folder: Path, settings: FrontierSettings) -> Callable[[], Queue] | None:
    """What makes the queue of one order over all hosts; None where each host has its own."""
    if settings.queue == HOSTS:
        return None
    from gcs.ports.frontier.disk_queue import DiskSettings, open_forest, open_scratch  # it brings numpy

    threads = settings.queue_threads
    on_disk = DiskSettings(settings.queue_bytes // threads, BLOCK_KEYS)
    if threads == 1:
        return lambda: open_scratch(settings.queue, folder, on_disk)
    return lambda: open_forest(folder, on_disk, threads)


def make_reader(summary: SummarySettings, urls: UrlRules, robots_token: str, heed: bool, in_processes: bool) -> Reader:
    """Reads pages; documents and the full text in processes of its own, where the caller cannot wait for them."""
    options = Options(
        agent=robots_token,
        images=summary.images,
        max_links=summary.max_links,
        thumbnails=summary.thumbnails,
        anchors=summary.anchors,
        more_links=summary.more_links,
    )
    texts = TextPool(summary.workers, options=options) if in_processes else None
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


def request_signer(settings: FetchSettings) -> Callable[[Request], Request] | None:
    """What signs requests as the settings ask, with the key of this machine; None if they are not signed."""
    if not settings.signature_agent:
        return None
    keys = signing_keys(os.environ)
    if not keys:
        raise UsageError(
            f"fetch.signature_agent = {settings.signature_agent}: requests are signed with a key, and there is none: "
            f"set {FILE_VARIABLE} to its file"
        )
    return RequestSigner(settings.signature_agent, keys[0]).signed


def make_browser(settings: FetchSettings, sink: Sink, picture: int = 0) -> Fetcher:
    """The engine that renders pages, above the one that the settings name; `picture`: pixels of one of each page."""
    from gcs.ports.fetch.browser import BrowserFetcher, BrowserSettings  # it brings Playwright, which is an extra

    return BrowserFetcher(
        settings, sink, BrowserSettings(picture=picture), lambda plain_sink: make_fetcher(settings, plain_sink)
    )


def load(settings: Settings) -> None:
    """Load what gatherers of a team with these settings need, before they are forked: once instead of N times."""
    import uvloop  # noqa: F401

    import gcs.roles.gatherer.team.team_member  # noqa: F401

    ENGINES[settings.fetch.engine]()
