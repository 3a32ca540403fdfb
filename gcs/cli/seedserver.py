"""`gcs seed-server`: keeps every URL of a crawl and hands them out, to gatherers that know nobody else (WEB-SAILOR)."""

import asyncio
import csv
import signal
import time
from pathlib import Path

import click

from gcs.app import consent
from gcs.app.assembly import load_order, run_loop
from gcs.app.crawl_input import log_options
from gcs.app.find_crawl import read_charter
from gcs.app.processes.member_process import tenacious
from gcs.core.plan.seed_domains import Word
from gcs.errors import GcsError
from gcs.ports.dset_registries import open_registry
from gcs.ports.records.layout import check_names
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.clock import lease_time
from gcs.ports.space.redis_space import open_space
from gcs.ports.system.own_file import own_stream
from gcs.roles.seedserver.seed_server import SeedServer, SeedServerConfig
from gcs.settings import of_charter

#: the name of the only server, or of the top one
NAME = "seed-server"


@click.command("seed-server")
@click.option("--space", "url", envvar="GCS_SPACE", required=True, metavar="URL", help="The whiteboard of the crawl.")
@click.option("--crawl", default="crawl", show_default=True, help="Name of the crawl.")
@click.option("--name", default=NAME, show_default=True, help="Name of this server: gatherers give it with --server.")
@click.option(
    "--parent", default="", help="The server above this one: it gets the links outside of this server's domains."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
    help="Directory of this server: the registry of URLs, and pace.csv with its orders to hurry up or slow down.",
)  # fmt: skip
@consent.allow_option
@log_options
def seed_server(url: str, crawl: str, name: str, parent: str, output: Path, allow: tuple[str, ...]) -> int:
    """Keep the URLs of a crawl and hand them out (settings: [seed_server]; gatherers: --set team.coordination=…)."""
    check_names(name)
    return run_loop(_serve(url, crawl, name, parent, output / "state" / name, allow))


async def _serve(url: str, crawl: str, name: str, parent: str, directory: Path, allow: tuple[str, ...]) -> int:
    space = await open_space(url, crawl=crawl, name=name, settings=tenacious(SpaceSettings()))
    try:
        charter = await read_charter(space, crawl, url)
        settings = of_charter(charter.settings)
        consent.check(settings, allow, ["order"])  # it fetches nothing and stores no page
    except GcsError:
        await space.close()
        raise
    order, rules, fsync = load_order(settings.seed_server.order), settings.seed_server, settings.frontier.fsync
    registry = open_registry(directory / "registry", order, rules, fsync)
    config = SeedServerConfig(
        name=name,
        rules=settings.seed_server,
        team=settings.team,
        parent=parent,
        session=charter.session,
        pause_s=settings.politeness.max_crawl_delay_s if registry.counts() else 0.0,
    )
    with own_stream(directory / "pace.csv", "a", newline="") as file:
        write = csv.writer(file).writerow

        def note(client: str, word: Word, connections: int, held: int) -> None:
            write((f"{time.time():.3f}", client, word, connections, held))

        server = SeedServer(config, space, registry, clock=lease_time, on_word=note)
        serving = asyncio.ensure_future(server.run())
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            return 130
    return 0
