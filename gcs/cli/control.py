"""`gcs pause / resume / stop / rebalance / seed`: control of a running crawl, from its directory or its whiteboard."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from gcs.cli.seeds import read_seeds
from gcs.core.template import template
from gcs.core.tuples import Charter, Control, CrawlState, RebalanceCall, Seeds, Tuple
from gcs.errors import SpaceError, UsageError
from gcs.ports.space import Holds, Space, SpaceSettings, address_of, crawls_at, open_space
from gcs.settings import Settings


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
            raise UsageError(f"{place} has the crawls {', '.join(names) or '(none)'}: choose with --crawl NAME")
        crawl = names[0]
    return place, crawl


async def visit(output: Path, url: str | None, crawl: str | None, do: Callable[[Space], Awaitable[None]]) -> None:
    """Do something at the whiteboard of a crawl."""
    place, crawl = await locate(output, url, crawl)
    space = await open_space(place, crawl=crawl, name="user", settings=SpaceSettings(patience_s=5.0))
    try:
        await do(space)
    finally:
        await space.close()


def _put(item: Tuple, output: Path, url: str | None, crawl: str | None, to: str = "") -> None:
    async def do(space: Space) -> None:
        if await space.read(template(Charter)) is None:
            raise SpaceError("there is no such crawl at this whiteboard")
        await space.out(item, to=to)

    asyncio.run(visit(output, url, crawl, do))


@click.command()
@at_crawl
def pause(output: Path, url: str | None, crawl: str | None) -> None:
    """Let a running crawl start nothing more until it is resumed."""
    _put(Control(CrawlState.PAUSED, "user"), output, url, crawl)


@click.command()
@at_crawl
def resume(output: Path, url: str | None, crawl: str | None) -> None:
    """Let a paused crawl go on."""
    _put(Control(CrawlState.RUNNING, "user"), output, url, crawl)


@click.command()
@at_crawl
def stop(output: Path, url: str | None, crawl: str | None) -> None:
    """Stop a running crawl; its state is kept."""
    _put(Control(CrawlState.STOPPING, "user", "stopped"), output, url, crawl)


@click.command()
@at_crawl
def rebalance(output: Path, url: str | None, crawl: str | None) -> None:
    """Ask the leader of a running crawl to share the work anew."""
    _put(RebalanceCall("user", "asked by a user"), output, url, crawl, to="leader")


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@at_crawl
def seed(urls: tuple[str, ...], output: Path, url: str | None, crawl: str | None) -> None:
    """Add seeds to a running crawl."""

    async def do(space: Space) -> None:
        charter = await space.read(template(Charter))
        if charter is None:
            raise SpaceError("there is no such crawl at this whiteboard")
        settings = msgspec.json.decode(charter.settings, type=Settings)
        seeds = read_seeds(urls, None, settings.urls)
        everything = list(dict.fromkeys([*charter.seeds, *seeds]))
        await space.out(Charter(charter.settings, everything, charter.gatherers), given=Holds(charter))
        await space.out(Seeds(seeds), to="seeds")

    asyncio.run(visit(output, url, crawl, do))
