"""`gcs pause / resume / stop / rebalance / seed`: control of a running crawl, by one or by a team."""

import click
import msgspec

from gcs.app.crawl_dir import is_crawl
from gcs.app.crawl_input import read_lines
from gcs.app.find_crawl import CrawlAddress, at_crawl, split_dir, visit
from gcs.app.say import say
from gcs.core.messages.tuples import CrawlState
from gcs.errors import UsageError
from gcs.ports.space import crawl_control
from gcs.ports.system.control_socket import ControlAnswer, ControlOrder, ask

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")


def _order(at: CrawlAddress, verb: str, state: CrawlState, text: str, as_json: bool) -> None:
    if _alone(at, ControlOrder(verb)) is None:
        visit(at, lambda space: crawl_control.order(space, state, "user"))
    _say({"state": str(state)}, text, as_json)


def _alone(at: CrawlAddress, order: ControlOrder) -> ControlAnswer | None:
    """Give the order to the crawl by one gatherer; None if a team is meant."""
    if at.url or (at.output / "state" / "space" / "address").exists():
        return None
    answer = ask(at.output, order)
    if answer is None and is_crawl(at.output):
        raise UsageError(f"{at.output}: this crawl does not run; to go on with it: gcs crawl -o {at.output}")
    return answer


def _say(done: dict[str, object], text: str, as_json: bool) -> None:
    say(msgspec.json.encode(done) if as_json else text)


@click.command()
@at_crawl
@as_json_option
def pause(at: CrawlAddress, as_json: bool) -> None:
    """Pause a running crawl: it starts no more fetches until it is resumed."""
    _order(at, "pause", CrawlState.PAUSED, "paused: nothing more is started until gcs resume", as_json)


@click.command()
@at_crawl
@as_json_option
def resume(at: CrawlAddress, as_json: bool) -> None:
    """Let a paused crawl go on."""
    _order(at, "resume", CrawlState.RUNNING, "running", as_json)


@click.command()
@at_crawl
@as_json_option
def stop(at: CrawlAddress, as_json: bool) -> None:
    """Stop a running crawl; its state is kept."""
    text = "stopping: what is in flight is stored; gcs crawl on its directory goes on with it"
    _order(at, "stop", CrawlState.STOPPING, text, as_json)


@click.command()
@at_crawl
@as_json_option
def rebalance(at: CrawlAddress, as_json: bool) -> None:
    """Ask the leader of a running crawl to share the work anew."""
    _alone(at, ControlOrder("rebalance"))  # a crawl by one gatherer refuses it
    visit(at, lambda space: crawl_control.call_rebalance(space, "user"))
    _say({"called": "rebalance"}, "the leader is asked to share the work anew: see gcs status", as_json)


@click.command()
@click.argument("words", nargs=-1, metavar="[DIR] [URL]…")
@click.option("--seeds", "seeds_file", metavar="FILE", help="More seeds, one URL a line; - for standard input.")
@at_crawl(with_dir=False)
@as_json_option
def seed(words: tuple[str, ...], seeds_file: str | None, at: CrawlAddress, as_json: bool) -> None:
    """Add seeds to a running crawl, and show them as they are understood."""
    at, words = split_dir(at, words)
    urls = [*words, *read_lines(seeds_file)]
    if not urls:
        raise UsageError("no seeds: give URLs, or a file of them with --seeds FILE")
    answer = _alone(at, ControlOrder("seed", urls))
    added = answer.seeds if answer else visit(at, lambda space: crawl_control.add_seeds(space, urls))
    _say({"seeds": added}, "\n".join(f"added: {url}" for url in added), as_json)
