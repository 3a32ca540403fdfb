"""Find a running crawl: the options that name it, its whiteboard, and a short visit there."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click

from gcs import events as logging
from gcs.errors import UsageError
from gcs.ports.space.address import SpaceSettings, shown
from gcs.ports.space.embedded_server import address_of
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import crawls_at, open_space


def at_crawl(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which crawl is meant."""
    for option in (
        click.option("--crawl", help="Name of the crawl. [the only one there]"),
        click.option("--space", "url", envvar="GCS_SPACE", metavar="URL", help="Its whiteboard, if it is not ours."),
        click.option(
            "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
            help="Directory of the crawl.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


async def locate(output: Path, url: str | None, crawl: str | None) -> tuple[str, str]:
    """The whiteboard and the name of a crawl."""
    place = url or address_of(output / "state" / "space")
    if place is None:
        raise UsageError(f"{output}: no team is crawling here; give the DIR of a running gcs crawl -n, or --space")
    if crawl is None:
        names = await crawls_at(place)
        if len(names) != 1:
            raise UsageError(f"{shown(place)} has the crawls {', '.join(names) or '(none)'}: choose with --crawl NAME")
        crawl = names[0]
    return place, crawl


async def visit(output: Path, url: str | None, crawl: str | None, do: Callable[[Space], Awaitable[object]]) -> None:
    """Do something at the whiteboard of a crawl."""
    logging.set_up("error", as_json=False)  # if it cannot be reached, our last word says so
    place, crawl = await locate(output, url, crawl)
    space = await open_space(place, crawl=crawl, name="user", settings=SpaceSettings(patience_s=5.0))
    try:
        await do(space)
    finally:
        await space.close()
