"""Assembly: puts the concrete parts of a gatherer together. The only place that names them."""

import importlib
from pathlib import Path

from gcs.cli.orders import load_order, queue_maker
from gcs.cli.parts import ENGINES, make_fetcher, make_reader
from gcs.core.admission import Admission
from gcs.core.malloc import keep_arena
from gcs.core.recent import Recent
from gcs.core.scope import Scope
from gcs.ports.frontier import Frontier
from gcs.ports.records.layout import check_names
from gcs.ports.records.reading import read_records, rows
from gcs.ports.records.store import Store
from gcs.ports.space.port import Space
from gcs.roles.gatherer import Gatherer, Parts
from gcs.roles.gatherer.renewal import FIELDS, Renewal
from gcs.settings import Settings, with_user_agent

#: a gatherer alone does without it, and it is slow to load
TEAM = "gcs.roles.gatherer.team"


def gatherer(
    directory: Path,
    name: str,
    settings: Settings,
    seeds: list[str],
    space: Space | None = None,
    ghost: bool = False,
    place: str = "",
    server: str = "",
    session: int = 1,
) -> Gatherer:
    """A gatherer that works in this directory: alone, or with others at a whiteboard. Needs a running event loop.

    A ghost hands over what a dead gatherer of that name left behind, and fetches nothing. The place says which helpers
    work for it, the server who hands it URLs where a seed-server does.
    """
    keep_arena()
    settings = with_user_agent(settings)
    crawl = settings.crawl
    check_names(name, crawl.name)  # first: a bad one would be a path elsewhere
    scope = Scope(crawl.scope, tuple(seeds), crawl.include, crawl.exclude)
    info = {"http-header-user-agent": settings.fetch.user_agent, "operator": crawl.contact}
    by_server = space is not None and settings.team.coordination == "seed-server"
    folder = directory / "state" / name / "frontier"
    frontier = Frontier(
        folder,
        settings.frontier,
        load_order(settings.seed_server.order if by_server else crawl.order),
        queue_maker(folder, settings.frontier),
    )
    try:
        store = Store.open(directory, settings.store, name, crawl=crawl.name, info=info)
    except BaseException:
        frontier.close()
        raise
    team = lending = None
    if space:
        if by_server:
            Client = importlib.import_module("gcs.roles.gatherer.client").Client  # noqa: N806
            team = Client(name, space, server, settings.team, frontier, session)
        else:
            Team = importlib.import_module(TEAM).Team  # noqa: N806
            team = Team(name, space, settings.team, frontier, lambda: read_records(directory), ghost, place, session)
        if settings.helpers.lend:
            Lending = importlib.import_module("gcs.roles.gatherer.lending").Lending  # noqa: N806
            lending = Lending(space, name, place, settings.helpers, settings.politeness, settings.store.warc)
    return Gatherer(
        name,
        settings,
        Parts(
            frontier=frontier,
            store=store,
            admission=Admission(scope, settings.traps, Recent(settings.frontier.recent_urls)),
            reader=make_reader(
                settings.summary, settings.urls, settings.fetch.robots_token, settings.politeness.nofollow, True
            ),
            make_fetcher=lambda sink: make_fetcher(settings.fetch, sink),
            renewal=Renewal(
                frontier,
                lambda since: rows(directory, FIELDS, lambda whose, number: whose == name and number >= since),
            ),
            team=team,
            lending=lending,
        ),
    )


def load(settings: Settings) -> None:
    """Load what gatherers of a team with these settings need, and would load when they start."""
    for module in (ENGINES[settings.fetch.engine][0], TEAM, "redis.asyncio", "uvloop"):
        importlib.import_module(module)
