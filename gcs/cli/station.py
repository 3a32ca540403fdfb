"""`gcs station`: the page, the API and the metrics of a running crawl."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gcs import events as logging
from gcs.app.find_crawl import at_crawl, locate
from gcs.app.local_crawl import run_loop
from gcs.app.station_process import serving

#: where the station listens unless told otherwise
LISTEN = "127.0.0.1:8642"


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
