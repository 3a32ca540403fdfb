"""`gcs station`: the page, the API and the metrics of a running crawl."""

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import click

from gcs import events as logging
from gcs.cli.control import at_crawl, locate
from gcs.cli.loop import run_loop
from gcs.core.access import LEAST_CHARACTERS, SECRET_BYTES, Role, entry, new_token
from gcs.core.tuples import Access
from gcs.errors import UsageError
from gcs.ports.space import SpaceSettings, open_space
from gcs.roles.station import Address, Station

#: where the station listens unless told otherwise
LISTEN = "127.0.0.1:8642"
#: seconds of patience with a whiteboard that is away: an answer that comes later is of no use to a browser
PATIENCE_S = 5.0


@click.command()
@at_crawl
@click.option(
    "--listen", envvar="GCS_STATION_LISTEN", default=LISTEN, show_default=True, metavar="HOST:PORT",
    help="Where to listen. Any address but loopback needs a token even to look.",
)  # fmt: skip
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

    Tokens: `gcs token create`, or the variables GCS_STATION_VIEW_TOKEN, GCS_STATION_CONTROL_TOKEN and
    GCS_STATION_HELPER_TOKEN.
    """
    logging.set_up(log_level, log_json)
    address = Address.parse(listen)
    keys = keys_of(os.environ)
    run_loop(_serve(output, url, crawl, address, keys, names))
    return 0


async def _serve(
    output: Path, url: str | None, crawl: str | None, address: Address, keys: list[Access], names: tuple[str, ...]
) -> None:
    place, crawl = await locate(output, url, crawl)
    space = await open_space(place, crawl=crawl, name="station", settings=SpaceSettings(patience_s=PATIENCE_S))
    token, key = fresh_key()
    serving = Station(space, crawl, address, keys=[*keys, key], names=names)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await serving.startup()
        click.echo(invitation(serving.address, token), err=True)
        await ended.wait()
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


def fresh_key() -> tuple[str, Access]:
    """A control token for whoever started the station; it is kept in memory only, and ends with the process."""
    token = new_token(secrets.token_bytes(SECRET_BYTES))
    return token, entry(token, Role.CONTROL, label="operator", created_at=time.time())


def invitation(address: Address, token: str) -> str:
    """What the terminal says. The token stands behind #, so that no server and no log ever sees it."""
    return f"station: {address.url}#token={token}"
