"""`gcs seed-server`: keeps every URL of a crawl and hands them out, to gatherers that know nobody else (WEB-SAILOR)."""

import asyncio
import csv
import signal
import time
from pathlib import Path

import click
import msgspec

from gcs import events as logging
from gcs.app.assembly import load_order
from gcs.app.local_crawl import run_loop
from gcs.app.member_process import tenacious
from gcs.cli.gatherer import CHARTER_S
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter
from gcs.core.plan.seed_domains import Word
from gcs.errors import SpaceError
from gcs.ports.records.layout import check_names
from gcs.ports.space.address import SpaceSettings, shown
from gcs.ports.space.redis_space import open_space
from gcs.ports.url_registry import UrlRegistry
from gcs.roles.seedserver.seed_server import SeedServer, SeedServerConfig
from gcs.settings import Settings

#: the name of the only server, or of the top one
NAME = "seed-server"


@click.command("seed-server")
@click.option("--space", "url", envvar="GCS_SPACE", required=True, metavar="URL", help="The whiteboard of the crawl.")
@click.option("--crawl", default="crawl", show_default=True, help="Name of the crawl.")
@click.option("--name", default=NAME, show_default=True, help="Our name: gatherers give it with --server.")
@click.option("--parent", default="", help="The server above us: links outside of our domains go to it.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
    help="Our disk: the registry of URLs, and pace.csv, what was said to whom.",
)  # fmt: skip
@click.option(
    "--log", "log_level", type=click.Choice(logging.LEVELS), default="info", show_default=True, help="What is logged."
)
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
def seed_server(url: str, crawl: str, name: str, parent: str, output: Path, log_level: str, log_json: bool) -> int:
    """Keep the URLs of a crawl and hand them out (settings: [seed_server]; gatherers: --set team.coordination=…)."""
    logging.set_up(log_level, log_json)
    check_names(name)
    return run_loop(_serve(url, crawl, name, parent, output / "state" / name))


async def _serve(url: str, crawl: str, name: str, parent: str, directory: Path) -> int:
    space = await open_space(url, crawl=crawl, name=name, settings=tenacious(SpaceSettings()))
    charter = await space.read(template(Charter), timeout_s=CHARTER_S)
    if charter is None:
        await space.close()
        raise SpaceError(
            f"there is no crawl '{crawl}' at {shown(url)}: start it with gcs crawl --space, or look at the name"
        )
    settings = msgspec.json.decode(charter.settings, type=Settings)
    registry = UrlRegistry(directory / "registry", load_order(settings.seed_server.order), settings.frontier.fsync)
    config = SeedServerConfig(
        name=name,
        rules=settings.seed_server,
        team=settings.team,
        parent=parent,
        session=charter.session,
        pause_s=settings.politeness.max_crawl_delay_s if registry.counts() else 0.0,
    )
    server = SeedServer(config, space, registry, clock=time.monotonic, wall=time.time)
    with (directory / "pace.csv").open("a", newline="") as file:
        write = csv.writer(file).writerow

        def note(client: str, word: Word, connections: int, held: int) -> None:
            write((f"{time.time():.3f}", client, word, connections, held))

        server.on_word = note
        serving = asyncio.ensure_future(server.run())
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            return 130
    return 0
