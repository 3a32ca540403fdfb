"""`gcs pause / resume / stop / rebalance / seed`: control of a running crawl, from its directory or its whiteboard."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from gcs.app.find_crawl import at_crawl, visit
from gcs.core.messages.tuples import CrawlState
from gcs.ports.space import crawl_control
from gcs.ports.space.port import Space


def _ordering(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that gives an order."""
    return at_crawl(click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")(command))


def _order(state: CrawlState, text: str, as_json: bool, where: tuple[Path, str | None, str | None]) -> None:
    asyncio.run(visit(*where, lambda space: crawl_control.order(space, state, "user")))
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
    asyncio.run(visit(output, url, crawl, lambda space: crawl_control.call_rebalance(space, "user")))
    _say({"called": "rebalance"}, "the leader is asked to share the work anew: see gcs status", as_json)


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@_ordering
def seed(urls: tuple[str, ...], output: Path, url: str | None, crawl: str | None, as_json: bool) -> None:
    """Add seeds to a running crawl."""
    added: list[str] = []

    async def add(space: Space) -> None:
        added.extend(await crawl_control.add_seeds(space, urls))

    asyncio.run(visit(output, url, crawl, add))
    _say({"seeds": added}, f"added: {' '.join(added)}", as_json)
