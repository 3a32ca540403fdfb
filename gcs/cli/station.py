"""`gcs station`: the page, the API and the metrics of a running crawl."""

import asyncio
import signal

import click

from gcs.app.assembly import run_loop
from gcs.app.crawl_input import log_options
from gcs.app.find_crawl import CrawlAddress, at_crawl
from gcs.app.processes.station_process import serving


@click.command()
@at_crawl
@click.option(
    "--listen", envvar="GCS_STATION_LISTEN", default="127.0.0.1:8642", show_default=True, metavar="HOST:PORT",
    help="Where the station listens. On any address but loopback, even to look needs a token.",
)  # fmt: skip
@click.option("--name", "names", multiple=True, metavar="HOST", help="Host name that a proxy on loopback asks for.")
@log_options
def station(at: CrawlAddress, listen: str, names: tuple[str, ...]) -> int:
    """Serve the page from which a crawl is watched and run, its API (/openapi.json) and its metrics (/metrics).

    To act needs a token, everywhere: the link that is printed holds one, `gcs token create` makes others, and the
    variables GCS_STATION_VIEW_TOKEN, GCS_STATION_CONTROL_TOKEN and GCS_STATION_HELPER_TOKEN may bring them.
    """
    run_loop(_serve(at, listen, names))
    return 0


async def _serve(at: CrawlAddress, listen: str, names: tuple[str, ...]) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with serving(*await at.locate(), listen, names, at.output):
        await ended.wait()
