"""Assembly: puts the concrete parts of a gatherer together. The only place that names them."""

import importlib
from dataclasses import dataclass
from pathlib import Path

from gcs.cli.orders import load_order, queue_maker
from gcs.cli.parts import ENGINES, make_fetcher, make_reader
from gcs.core.admission import Admission
from gcs.core.malloc import keep_arena
from gcs.core.recent import Recent
from gcs.core.scope import Scope
from gcs.ports import slices
from gcs.ports.frontier import Frontier
from gcs.ports.records.layout import check_names
from gcs.ports.records.reading import read_records, rows
from gcs.ports.records.store import Store
from gcs.ports.space.port import Space
from gcs.roles.gatherer import Gatherer, Parts
from gcs.roles.gatherer.company import Company
from gcs.roles.gatherer.lending import Lending
from gcs.roles.gatherer.renewal import FIELDS, Renewal
from gcs.settings import Settings, with_user_agent

#: a gatherer alone does without it, and it is slow to load
TEAM = "gcs.roles.gatherer.team"


@dataclass(frozen=True, slots=True)
class Membership:
    """How a gatherer works with others."""

    #: their whiteboard, in its name
    space: Space
    #: it hands over what a dead gatherer of its name left behind, and fetches nothing
    ghost: bool = False
    #: which helpers work for it
    place: str = ""
    #: who hands it URLs, where a seed-server does
    server: str = ""
    #: the session to be crawled
    session: int = 1


def gatherer(
    directory: Path, name: str, settings: Settings, seeds: list[str], membership: Membership | None = None
) -> Gatherer:
    """A gatherer that works in this directory, alone or with others. Needs a running event loop."""
    keep_arena()
    slices.take_long()
    settings = with_user_agent(settings)
    crawl = settings.crawl
    check_names(name)  # first: a bad one would be a path elsewhere
    scope = Scope(crawl.scope, tuple(seeds), crawl.include, crawl.exclude)
    info = {"http-header-user-agent": settings.fetch.user_agent, "operator": crawl.contact}
    by_server = membership is not None and settings.team.coordination == "seed-server"
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
    team, lending = _company(directory, name, settings, frontier, membership) if membership else (None, None)
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


def _company(
    directory: Path, name: str, settings: Settings, frontier: Frontier, membership: Membership
) -> tuple[Company, Lending | None]:
    """Its side at the whiteboard, and the helpers' side of it."""
    space, place, session = membership.space, membership.place, membership.session
    team: Company
    if settings.team.coordination == "seed-server":
        client = importlib.import_module("gcs.roles.gatherer.client")
        team = client.Client(name, space, membership.server, settings.team, frontier, session)
    else:
        records, ghost = lambda: read_records(directory), membership.ghost
        team = importlib.import_module(TEAM).Team(name, space, settings.team, frontier, records, ghost, place, session)
    if not settings.helpers.lend:
        return team, None
    return team, Lending(space, name, place, settings.helpers, settings.politeness, settings.store.warc)


def load(settings: Settings) -> None:
    """Load what gatherers of a team with these settings need, and would load when they start."""
    for module in (ENGINES[settings.fetch.engine][0], TEAM, "redis.asyncio", "uvloop"):
        importlib.import_module(module)
