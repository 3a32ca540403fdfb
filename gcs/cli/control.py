"""`gcs pause / resume / stop / rebalance / seed`: control of a running crawl, from its directory or its whiteboard."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from gcs import events as logging
from gcs.core.tuples import CrawlState
from gcs.errors import UsageError
from gcs.ports.space import orders
from gcs.ports.space.address import shown
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


def _ordering(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that gives an order."""
    return at_crawl(click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")(command))


def _order(state: CrawlState, text: str, as_json: bool, where: tuple[Path, str | None, str | None]) -> None:
    asyncio.run(visit(*where, lambda space: orders.order(space, state, "user")))
    _say({"state": str(state)}, text, as_json)


def _say(done: dict[str, object], text: str, as_json: bool) -> None:
    click.echo(msgspec.json.encode(done) if as_json else text)


@click.command()
@_ordering
def pause(output: Path, url: str | None, crawl: str | None, as_json: bool) -> None:
    """Let a running crawl start nothing more until it is resumed."""
    _order(CrawlState.PAUSED, "paused: nothing more is started until gcs resume", as_json, (output, url, crawl))


@click.command()
@_ordering
def resume(output: Path, url: str | None, crawl: str | None, as_json: bool) -> None:
    """Let a paused crawl go on."""
    _order(CrawlState.RUNNING, "running", as_json, (output, url, crawl))


@click.command()
@_ordering
def stop(output: Path, url: str | None, crawl: str | None, as_json: bool) -> None:
    """Stop a running crawl; its state is kept."""
    text = "stopping: what is in flight is stored; gcs crawl on its directory goes on with it"
    _order(CrawlState.STOPPING, text, as_json, (output, url, crawl))


@click.command()
@_ordering
def rebalance(output: Path, url: str | None, crawl: str | None, as_json: bool) -> None:
    """Ask the leader of a running crawl to share the work anew."""
    asyncio.run(visit(output, url, crawl, lambda space: orders.call_rebalance(space, "user")))
    _say({"called": "rebalance"}, "the leader is asked to share the work anew: see gcs status", as_json)


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@_ordering
def seed(urls: tuple[str, ...], output: Path, url: str | None, crawl: str | None, as_json: bool) -> None:
    """Add seeds to a running crawl."""
    added: list[str] = []

    async def add(space: Space) -> None:
        added.extend(await orders.add_seeds(space, urls))

    asyncio.run(visit(output, url, crawl, add))
    _say({"seeds": added}, f"added: {' '.join(added)}", as_json)
