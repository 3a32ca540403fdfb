"""The station of a crawl, in the crawl's process or in its own: its tokens and its address."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gcs.app.crawl_dir import is_crawl
from gcs.app.processes.station_watches import station_watches
from gcs.app.say import say
from gcs.app.station.crawl_supervisor import SupervisorSpec
from gcs.app.station.directory_source import TeamSource
from gcs.app.station.folder_crawls import FolderCrawls
from gcs.app.station.token_file import TokenFile
from gcs.core.helpers.access import LEAST_CHARACTERS, SECRET_BYTES, Role, entry, new_token
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Access
from gcs.errors import UsageError
from gcs.events import Events
from gcs.ports.fetch.request_signing import KeyDirectory, signing_keys
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.redis_space import open_space
from gcs.ports.system.tasks import end, repeat
from gcs.ports.telemetry.figure_sender import FigureSender, figure_sender
from gcs.roles.station.crawls.source import CrawlSource
from gcs.roles.station.crawls.station_crawls import OneCrawl, StationCrawls
from gcs.roles.station.gateway import Gateway
from gcs.roles.station.http.auth import Authenticator, is_loopback
from gcs.roles.station.http.prometheus import figures
from gcs.roles.station.interest.profile_calls import interest_endpoints
from gcs.roles.station.station import ListenAddress, Station, StationAccess

#: seconds to wait for a whiteboard that is away: a browser does not wait longer
PATIENCE_S = 5.0
#: seconds between two looks at the figures, for a collector of OpenTelemetry
TELL_S = 2.0

events = Events("station")


@dataclass(frozen=True, slots=True)
class StationSpec:
    """How a station is reached, and by whom."""

    address: ListenAddress
    names: tuple[str, ...] = ()
    #: the tokens that the environment names
    keys: tuple[Access, ...] = ()

    @classmethod
    def of(cls, listen: str, names: tuple[str, ...] = ()) -> "StationSpec":
        """From the command line and the environment; UsageError if one of them is wrong."""
        return cls(ListenAddress.parse(listen), names, tuple(keys_of(os.environ)))


@asynccontextmanager
async def serving(place: str, crawl: str, spec: StationSpec, directory: Path | None = None) -> AsyncIterator[None]:
    """Run a station of the crawl at a whiteboard, and print its address. `directory`: where its records are."""
    space = await open_space(place, crawl=crawl, name="station", settings=SpaceSettings(patience_s=PATIENCE_S))
    try:
        here = directory if directory and is_crawl(directory) else None
        posted = partial(space.scan, template(Access))
        make = partial(OneCrawl, TeamSource(space, crawl, place, here))
        async with _serving(make, spec, posted, gateway=Gateway(space)):
            yield
    finally:
        await space.close()


@asynccontextmanager
async def serving_one(source: CrawlSource, spec: StationSpec) -> AsyncIterator[None]:
    """Run a station of one crawl, wherever that is."""
    async with _serving(partial(OneCrawl, source), spec):
        yield


@asynccontextmanager
async def serving_folder(supervisor: SupervisorSpec, spec: StationSpec) -> AsyncIterator[None]:
    """Run a station of a folder of crawls, which begins crawls, too."""
    tokens = TokenFile(supervisor.folder)

    async def posted() -> list[Access]:
        return tokens.read()

    async with _serving(partial(FolderCrawls, supervisor), spec, posted):
        yield


@asynccontextmanager
async def _serving(
    make_crawls: Callable[[Authenticator], StationCrawls],
    spec: StationSpec,
    posted: Callable[[], Awaitable[Iterable[Access]]] | None = None,
    gateway: Gateway | None = None,
) -> AsyncIterator[None]:
    address, keys = spec.address, list(spec.keys)
    token = ""
    if is_loopback(address.host):  # elsewhere others may read what is printed, for example in the logs of a cluster
        token = new_token(secrets.token_bytes(SECRET_BYTES))
        keys.append(entry(token, Role.CONTROL, label="operator", created_at=time.time()))
    signing = signing_keys(os.environ)
    async with station_watches() as watch:
        station = Station(
            make_crawls,
            address,
            access=StationAccess(keys, spec.names, posted),
            gateway=gateway,
            directory=KeyDirectory(signing) if signing else None,
            more=interest_endpoints(watch),
        )
        try:
            await station.startup()
            # the token stands behind #, so that no server and no log of one ever sees it
            say(f"station: {station.address.url}{f'#token={token}' if token else ''}", err=True)
            if not keys:
                say("station: on that address even to look needs a token: gcs token create view (or control)", err=True)
            with figure_sender(os.environ) as sender:
                sending = [asyncio.create_task(_tell(station, sender))] if sender else []
                try:
                    yield
                finally:
                    await end(sending)
        finally:
            await station.shutdown()


async def _tell(station: Station, sender: FigureSender) -> None:
    """Give the sender the figures as they are, again and again."""

    async def tell() -> None:
        sender.update(
            figures((opened.poller.status(), opened.poller.age_s()) for opened in station.crawls.open_crawls())
        )

    await repeat(tell, TELL_S, events, "figures-failed")


def keys_of(environment: Mapping[str, str]) -> list[Access]:
    """The tokens that the environment names."""
    keys = []
    for role in Role:
        variable = f"GCS_STATION_{role.upper()}_TOKEN"
        if token := environment.get(variable, "").strip():
            if len(token) < LEAST_CHARACTERS:
                raise UsageError(f"{variable}: a token has at least {LEAST_CHARACTERS} characters; make one at random")
            keys.append(entry(token, role, label=f"{role} (environment)"))
    return keys
