"""`gcs gatherer`: one gatherer that joins a crawl. SIGTERM: hand over and leave. SIGINT: stop and keep the state."""

import os
import socket
from pathlib import Path
from typing import Any

import click

from gcs.app.assembly import run_loop
from gcs.app.consent import allow_option
from gcs.app.crawl_input import log_options
from gcs.app.processes.beside import AnsweredTeam, index_and_watch, index_option
from gcs.app.processes.gatherer_host import GathererHost
from gcs.app.processes.member_process import MemberSpec, run_member
from gcs.app.processes.sink_processes import sink_option, sinks_beside
from gcs.errors import UsageError
from gcs.ports.telemetry.page_traces import page_traces


@click.command()
@click.option("--space", "url", envvar="GCS_SPACE", required=True, metavar="URL", help="The whiteboard of the crawl.")
@click.option("--crawl", default="crawl", show_default=True, help="Name of the crawl.")
@click.option("--name", default=socket.gethostname, show_default="host name", help="Name of this gatherer in the team.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
    help="Directory of this gatherer. On a shared file system, other gatherers can recover it.",
)  # fmt: skip
@click.option(
    "--place",
    default="",
    help="Place of this gatherer: its helpers' place, and hosts that are near to others there are near to it.",
)
@click.option(
    "--server", default="seed-server", show_default=True, help="Seed-server of this gatherer, if the crawl has any."
)
@click.option("--coordination", metavar="NAME", help="Join only a crawl with this coordination. [any]")
@allow_option
@click.option(
    "--all", "is_host", is_flag=True,
    help="Work for all crawls of the whiteboard, until a signal comes: a process for each, in DIR/CRAWL. They share the"
    " connections and the CPU of this machine by their crawl.share.",
)  # fmt: skip
@click.option(
    "--connections", type=click.IntRange(1, 100_000), default=256, show_default=True, metavar="N",
    help="With --all: connections of all crawls together.",
)  # fmt: skip
@click.option("--share-file", type=click.Path(path_type=Path), hidden=True)
@click.option("--stay", is_flag=True, help="Wait for a crawl to begin, and after its end for the next one.")
@sink_option
@index_option
@log_options
def gatherer(
    stay: bool, sinks: tuple[str, ...], index: bool, output: Path, is_host: bool, connections: int, **member: Any
) -> int:
    """Join a crawl (see gcs crawl -n, or --space); SIGTERM hands over and leaves."""
    if is_host:
        if sinks or index:
            raise UsageError("--all: sinks and an index are of one crawl; give them where it is begun")
        spec = MemberSpec(output=output, **member)
        words = [*(("--place", spec.place) if spec.place else ()), *(f"--allow={what}" for what in spec.allow)]
        return run_loop(_host(spec, connections, words))
    spec = MemberSpec(output=output, **member)
    team = AnsweredTeam(spec.url, spec.crawl, spec.name)
    with sinks_beside(output, sinks), index_and_watch(output, index, False, team), page_traces(os.environ):
        return run_loop(run_member(spec, stay))


async def _host(spec: MemberSpec, connections: int, words: list[str]) -> int:
    return await GathererHost(spec, connections, words).run()
