"""`gcs pause / resume / stop / rebalance / seed`: control of a running crawl, from its directory or its whiteboard."""

from collections.abc import Callable
from typing import Any

import click
import msgspec

from gcs.app.find_crawl import CrawlAddress, at_crawl, visit
from gcs.app.say import say
from gcs.core.messages.tuples import CrawlState
from gcs.ports.space import crawl_control


def _control_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return at_crawl(click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")(command))


def _order(at: CrawlAddress, state: CrawlState, text: str, as_json: bool) -> None:
    visit(at, lambda space: crawl_control.order(space, state, "user"))
    _say({"state": str(state)}, text, as_json)


def _say(done: dict[str, object], text: str, as_json: bool) -> None:
    say(msgspec.json.encode(done) if as_json else text)


@click.command()
@_control_options
def pause(at: CrawlAddress, as_json: bool) -> None:
    """Pause a running crawl: it starts no more fetches until it is resumed."""
    _order(at, CrawlState.PAUSED, "paused: nothing more is started until gcs resume", as_json)


@click.command()
@_control_options
def resume(at: CrawlAddress, as_json: bool) -> None:
    """Let a paused crawl go on."""
    _order(at, CrawlState.RUNNING, "running", as_json)


@click.command()
@_control_options
def stop(at: CrawlAddress, as_json: bool) -> None:
    """Stop a running crawl; its state is kept."""
    text = "stopping: what is in flight is stored; gcs crawl on its directory goes on with it"
    _order(at, CrawlState.STOPPING, text, as_json)


@click.command()
@_control_options
def rebalance(at: CrawlAddress, as_json: bool) -> None:
    """Ask the leader of a running crawl to share the work anew."""
    visit(at, lambda space: crawl_control.call_rebalance(space, "user"))
    _say({"called": "rebalance"}, "the leader is asked to share the work anew: see gcs status", as_json)


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@_control_options
def seed(urls: tuple[str, ...], at: CrawlAddress, as_json: bool) -> None:
    """Add seeds to a running crawl."""
    added = visit(at, lambda space: crawl_control.add_seeds(space, urls))
    _say({"seeds": added}, f"added: {' '.join(added)}", as_json)
