"""`gcs librarian`: answers the searches of a team from the index in a directory."""

import asyncio
import contextlib
import signal
import socket
from pathlib import Path

import click

from gcs.app.crawl_input import log_options
from gcs.app.processes.beside import attended
from gcs.ports.records.layout import check_names
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.redis_space import open_space
from gcs.ports.system.tasks import end
from gcs.roles.librarian.librarian import KeptIndex

#: seconds between two looks whether it shall end
_LOOK_S = 0.5


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--space", "url", envvar="GCS_SPACE", required=True, metavar="URL", help="The whiteboard of the crawl.")
@click.option("--crawl", default="crawl", show_default=True, help="Name of the crawl.")
@click.option("--name", default=socket.gethostname, show_default="host name", help="Name of this index in the team.")
@click.option("--attend", is_flag=True, hidden=True)  # go on until standard input ends
@log_options
def librarian(directory: Path, url: str, crawl: str, name: str, attend: bool) -> int:
    """Answer the searches of a team (gcs search --space) from the index in DIR, until a signal comes.

    gcs gatherer --index does so beside its crawl; this goes on after it.
    """
    check_names(name)
    asyncio.run(_answer(directory, url, crawl, name, attend))
    return 0


async def _answer(directory: Path, url: str, crawl: str, name: str, attend: bool) -> None:
    space = await open_space(url, crawl=crawl, name=name, settings=SpaceSettings())
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    answering = asyncio.create_task(KeptIndex(space, directory).run())
    try:
        while not (attend and not attended()) and not answering.done():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), _LOOK_S)
                break
    finally:
        await end([answering])
        await space.close()
