"""`gcs pause / resume / stop / rebalance / seed`: control of a running crawl, from its directory or its whiteboard."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click

from gcs.core.tuples import CrawlState
from gcs.errors import UsageError
from gcs.ports.space import orders
from gcs.ports.space.embedded import address_of
from gcs.ports.space.opening import crawls_at, open_space
from gcs.ports.space.port import Space
from gcs.ports.space.settings import SpaceSettings


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


async def visit(output: Path, url: str | None, crawl: str | None, do: Callable[[Space], Awaitable[object]]) -> None:
    """Do something at the whiteboard of a crawl."""
    place, crawl = await locate(output, url, crawl)
    space = await open_space(place, crawl=crawl, name="user", settings=SpaceSettings(patience_s=5.0))
    try:
        await do(space)
    finally:
        await space.close()


def _give(output: Path, url: str | None, crawl: str | None, order: Callable[[Space], Awaitable[object]]) -> None:
    asyncio.run(visit(output, url, crawl, order))


@click.command()
@at_crawl
def pause(output: Path, url: str | None, crawl: str | None) -> None:
    """Let a running crawl start nothing more until it is resumed."""
    _give(output, url, crawl, lambda space: orders.order(space, CrawlState.PAUSED, "user"))


@click.command()
@at_crawl
def resume(output: Path, url: str | None, crawl: str | None) -> None:
    """Let a paused crawl go on."""
    _give(output, url, crawl, lambda space: orders.order(space, CrawlState.RUNNING, "user"))


@click.command()
@at_crawl
def stop(output: Path, url: str | None, crawl: str | None) -> None:
    """Stop a running crawl; its state is kept."""
    _give(output, url, crawl, lambda space: orders.order(space, CrawlState.STOPPING, "user"))


@click.command()
@at_crawl
def rebalance(output: Path, url: str | None, crawl: str | None) -> None:
    """Ask the leader of a running crawl to share the work anew."""
    _give(output, url, crawl, lambda space: orders.call_rebalance(space, "user"))


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@at_crawl
def seed(urls: tuple[str, ...], output: Path, url: str | None, crawl: str | None) -> None:
    """Add seeds to a running crawl."""
    _give(output, url, crawl, lambda space: orders.add_seeds(space, urls))
