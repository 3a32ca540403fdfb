"""`gcs station`: the page, the API and the metrics of crawls: one, or all of a folder."""

import asyncio
import signal
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import click

from gcs.app.assembly import run_loop
from gcs.app.crawl_dir import is_crawl
from gcs.app.crawl_input import Number, log_options
from gcs.app.find_crawl import CrawlAddress
from gcs.app.processes.station_process import StationSpec, serving, serving_folder, serving_one
from gcs.app.station.crawl_supervisor import SupervisorSpec
from gcs.app.station.directory_source import DirectorySource
from gcs.app.station.new_crawl import CrawlLimits
from gcs.app.station.store_source import StoreSource
from gcs.errors import UsageError
from gcs.ports.records.reading import is_url
from gcs.ports.space.embedded_server import address_of


@click.command()
@click.argument("place", required=False, metavar="[DIR]")
@click.option("--crawl", help="Name of the crawl, with --space. [the only one there]")
@click.option(
    "--space",
    "url",
    envvar="GCS_SPACE",
    metavar="URL",
    help="Its whiteboard, if not in DIR; where DIR is a folder of crawls: the whiteboard of the team that crawls them.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), hidden=True)
@click.option(
    "--listen",
    envvar="GCS_STATION_LISTEN",
    default="127.0.0.1:8642",
    show_default=True,
    metavar="HOST:PORT",
    help="Where the station listens. On any address but loopback, even to look needs a token.",
)
@click.option("--name", "names", multiple=True, metavar="HOST", help="Host name that a proxy on loopback asks for.")
@click.option(
    "--at-once",
    type=click.IntRange(1, 1000),
    default=2,
    show_default=True,
    metavar="N",
    help="Crawls of a folder that run at a time; the others wait in the queue.",
)
@click.option(
    "--connections",
    type=click.IntRange(1, 100_000),
    default=256,
    show_default=True,
    metavar="N",
    help="Connections of all crawls that run here, together: each has its share.",
)
@click.option(
    "--user-crawls",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    metavar="N",
    help="Crawls that a token of the role crawl may have running or waiting at a time.",
)
@click.option(
    "--user-pages",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Pages of each such crawl, at most.",
)
@click.option(
    "--user-share",
    type=Number(min=0.01, max=100),
    default=1.0,
    show_default=True,
    metavar="S",
    help="Share of each such crawl, at most.",
)
@log_options
def station(
    place: str | None,
    crawl: str | None,
    url: str | None,
    output: Path | None,
    listen: str,
    names: tuple[str, ...],
    at_once: int,
    connections: int,
    user_crawls: int,
    user_pages: int,
    user_share: float,
) -> int:
    """Serve the page on which crawls are watched, read, begun and controlled, its API (/openapi.json) and /metrics.

    DIR is a crawl, running or not; a folder of crawls, where new ones can be begun (role crawl or control); or the URL
    of a store (s3://...). Without it: ./crawl if that is one, else the folder where you are.

    To act needs a token, everywhere: the link that is printed holds one, `gcs token create` makes others, and the
    variables GCS_STATION_VIEW_TOKEN, GCS_STATION_CRAWL_TOKEN, GCS_STATION_CONTROL_TOKEN and GCS_STATION_HELPER_TOKEN
    may bring them.
    """
    limits = CrawlLimits(user_crawls, user_pages, user_share)
    directory = Path(place or output or ("crawl" if is_crawl(Path("crawl")) or url else "."))
    spec = StationSpec.of(listen, names)
    if place and is_url(place):
        run_loop(_until_signal(serving_one(StoreSource(place), spec)))
    elif (url and not place) or crawl or address_of(directory / "state" / "space"):
        run_loop(_serve_whiteboard(CrawlAddress(directory, url, crawl), spec))
    elif is_crawl(directory):
        run_loop(_until_signal(serving_one(DirectorySource(directory.absolute().name, directory), spec)))
    elif directory.is_dir():
        folder = SupervisorSpec(directory.absolute(), at_once, connections, url or "", limits)
        run_loop(_until_signal(serving_folder(folder, spec)))
    else:
        raise UsageError(f"{directory}: there is no such folder; give the DIR of a crawl, or a folder of crawls")
    return 0


async def _serve_whiteboard(at: CrawlAddress, spec: StationSpec) -> None:
    await _until_signal(serving(*await at.locate(), spec, at.output))


async def _until_signal(serving: AbstractAsyncContextManager[None]) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with serving:
        await ended.wait()
