"""The station of a crawl, in the crawl's process or in its own: its tokens and its address."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from gcs.app.crawl_dir import is_crawl
from gcs.app.processes.station_watches import station_watches
from gcs.app.say import say
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
from gcs.roles.station.crawls.shelf import OneCrawl
from gcs.roles.station.crawls.source import WhiteboardSource
from gcs.roles.station.gateway import Gateway
from gcs.roles.station.http.auth import is_loopback
from gcs.roles.station.http.prometheus import figures
from gcs.roles.station.interest.profile_calls import interest_endpoints
from gcs.roles.station.station import ListenAddress, Station, StationAccess

#: seconds to wait for a whiteboard that is away: a browser does not wait longer
PATIENCE_S = 5.0
#: seconds between two looks at the figures, for a collector of OpenTelemetry
TELL_S = 2.0

events = Events("station")


@asynccontextmanager
async def serving(
    place: str, crawl: str, listen: str, names: tuple[str, ...] = (), directory: Path | None = None
) -> AsyncIterator[None]:
    """Run a station during the `async with` block, and print its address. `directory`: where its records are."""
    address, keys = ListenAddress.parse(listen), keys_of(os.environ)
    token = ""
    if is_loopback(address.host):  # elsewhere others may read what is printed, for example in the logs of a cluster
        token = new_token(secrets.token_bytes(SECRET_BYTES))
        keys.append(entry(token, Role.CONTROL, label="operator", created_at=time.time()))
    space = await open_space(place, crawl=crawl, name="station", settings=SpaceSettings(patience_s=PATIENCE_S))
    signing = signing_keys(os.environ)
    access = StationAccess(keys, names, partial(space.scan, template(Access)))
    source = WhiteboardSource(space, crawl, directory if directory and is_crawl(directory) else None)
    async with station_watches() as watch:
        serving = Station(
            partial(OneCrawl, source),
            address,
            access=access,
            gateway=Gateway(space),
            directory=KeyDirectory(signing) if signing else None,
            more=interest_endpoints(watch),
        )
        try:
            await serving.startup()
            # the token stands behind #, so that no server and no log of one ever sees it
            say(f"station: {serving.address.url}{f'#token={token}' if token else ''}", err=True)
            if not keys:
                say("station: on that address even to look needs a token: gcs token create view (or control)", err=True)
            with figure_sender(os.environ) as sender:
                sending = [asyncio.create_task(_tell(serving, sender))] if sender else []
                try:
                    yield
                finally:
                    await end(sending)
        finally:
            await serving.shutdown()
            await space.close()


async def _tell(station: Station, sender: FigureSender) -> None:
    """Give the sender the figures as they are, again and again."""

    async def tell() -> None:
        sender.update(figures((desk.poller.status(), desk.poller.age_s()) for desk in station.shelf.open_desks()))

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
