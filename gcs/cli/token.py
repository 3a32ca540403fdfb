"""`gcs token`: the tokens of the station. The whiteboard keeps their hashes; a token itself is shown once."""

import secrets
import time

import click
import msgspec

from gcs.app.crawl_dir import is_crawl
from gcs.app.crawl_input import Number
from gcs.app.find_crawl import CrawlAddress, at_crawl, visit
from gcs.app.say import say
from gcs.app.station.token_file import TokenFile
from gcs.core.helpers.access import SECRET_BYTES, Role, entry, new_token
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Access
from gcs.errors import UsageError
from gcs.ports.space.embedded_server import address_of

DAY_S = 86_400.0


@click.group()
def token() -> None:
    """Make, list and revoke tokens of the station."""


@token.command()
@click.argument("role", type=click.Choice([str(role) for role in Role]))
@click.option("--label", default="", help="Who it is for.")
@click.option(
    "--days", type=Number(min=0, max=36_500, min_open=True), metavar="N", help="Days for which it is valid. [for ever]"
)
@click.option("--place", default="", help="For a helper: the place whose gatherers it helps.")
@click.option("--trusted", is_flag=True, help="For a helper of your own: its pages are stored without a check.")
@at_crawl
def create(role: str, label: str, days: float | None, place: str, trusted: bool, at: CrawlAddress) -> None:
    """Make a token and print it. DIR is a crawl by a team, or the folder of crawls of a station.

    view may look, crawl may begin crawls in a folder and command those, control may command all, helper may help and
    nothing else.
    """
    if role != Role.HELPER and (place or trusted):
        raise UsageError("--place and --trusted are for tokens of the role helper")
    made, now = new_token(secrets.token_bytes(SECRET_BYTES)), time.time()
    until = now + days * DAY_S if days else 0.0
    key = entry(made, Role(role), label=label, created_at=now, expires_at=until, place=place, trusted=trusted)
    if file := _file(at):
        file.add(key)
    else:
        visit(at, lambda space: space.out(key, ttl_s=days * DAY_S if days else None))
    say(made)


@token.command("list")
@at_crawl
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def list_tokens(at: CrawlAddress, as_json: bool) -> None:
    """List the tokens: id, role, age and label; never the tokens themselves."""
    file = _file(at)
    found = file.read() if file else visit(at, lambda space: space.scan(template(Access)))
    keys = sorted(found, key=lambda key: key.created_at)
    if as_json:
        shown = [{name: getattr(key, name) for name in key.__struct_fields__ if name != "digest"} for key in keys]
        say(msgspec.json.encode(shown))
        return
    for key in keys:
        until = f"until {_day(key.expires_at)}" if key.expires_at else "for ever"
        more = f"{' at ' + key.place if key.place else ''}{', trusted' if key.trusted else ''}"
        say(f"{key.id}  {key.role:<8} made {_day(key.created_at)}, good {until}  {key.label}{more}")


@token.command()
@click.argument("id")
@at_crawl
def revoke(id: str, at: CrawlAddress) -> None:
    """Revoke a token; running stations refuse it within a second."""
    file = _file(at)
    if not (file.remove(id) if file else visit(at, lambda space: space.remove(template(Access, id=id)))):
        raise UsageError(f"there is no token {id}: gcs token list shows them")


def _file(at: CrawlAddress) -> TokenFile | None:
    """The tokens of a folder of crawls, if a folder is meant; None for those of a whiteboard."""
    is_folder = at.url is None and at.output.is_dir() and not is_crawl(at.output)
    return TokenFile(at.output) if is_folder and not address_of(at.output / "state" / "space") else None


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
