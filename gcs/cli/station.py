"""`gcs station`: the page, the API and the metrics of a running crawl."""

import asyncio
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click

from gcs import events as logging
from gcs.cli.control import at_crawl, locate
from gcs.cli.loop import run_loop
from gcs.core.access import LEAST_CHARACTERS, SECRET_BYTES, Role, entry, new_token
from gcs.core.tuples import Access
from gcs.errors import UsageError
from gcs.ports.space.opening import open_space
from gcs.ports.space.settings import SpaceSettings
from gcs.roles.station import Address, Station, is_loopback

#: where the station listens unless told otherwise
LISTEN = "127.0.0.1:8642"
#: seconds of patience with a whiteboard that is away: an answer that comes later is of no use to a browser
PATIENCE_S = 5.0


def listen_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where a station listens."""
    return click.option(
        "--listen", envvar="GCS_STATION_LISTEN", default=LISTEN, show_default=True, metavar="HOST:PORT",
        help="Where the station listens. On any address but loopback, even to look needs a token.",
    )(command)  # fmt: skip


@click.command()
@at_crawl
@listen_option
@click.option("--name", "names", multiple=True, metavar="HOST", help="A name by which a proxy calls us on loopback.")
@click.option(
    "--log", "log_level", type=click.Choice(logging.LEVELS), default="info", show_default=True, help="What is logged."
)
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
def station(
    output: Path,
    url: str | None,
    crawl: str | None,
    listen: str,
    names: tuple[str, ...],
    log_level: str,
    log_json: bool,
) -> int:
    """Serve the page from which a crawl is watched and run, its API (/openapi.json) and its metrics (/metrics).

    To act needs a token, everywhere: the link that is printed holds one, `gcs token create` makes others, and the
    variables GCS_STATION_VIEW_TOKEN, GCS_STATION_CONTROL_TOKEN and GCS_STATION_HELPER_TOKEN may bring them.
    """
    logging.set_up(log_level, log_json)
    run_loop(_serve(output, url, crawl, listen, names))
    return 0


async def _serve(output: Path, url: str | None, crawl: str | None, listen: str, names: tuple[str, ...]) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with serving(*await locate(output, url, crawl), listen, names):
        await ended.wait()


@asynccontextmanager
async def serving(place: str, crawl: str, listen: str, names: tuple[str, ...] = ()) -> AsyncIterator[None]:
    """A station beside whatever is done meanwhile; says where it is."""
    address, keys = Address.parse(listen), keys_of(os.environ)
    token = ""
    if is_loopback(address.host):  # elsewhere, what is printed here is read by others: in the logs of a cluster
        token = new_token(secrets.token_bytes(SECRET_BYTES))
        keys.append(entry(token, Role.CONTROL, label="operator", created_at=time.time()))
    space = await open_space(place, crawl=crawl, name="station", settings=SpaceSettings(patience_s=PATIENCE_S))
    serving = Station(space, crawl, address, keys=keys, names=names)
    try:
        await serving.startup()
        # the token stands behind #, so that no server and no log of one ever sees it
        click.echo(f"station: {serving.address.url}{f'#token={token}' if token else ''}", err=True)
        if not keys:
            click.echo(
                "station: on that address even to look needs a token: gcs token create view (or control)", err=True
            )
        yield
    finally:
        await serving.shutdown()
        await space.close()


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
