"""`gcs status`: how a crawl stands, from its directory, while it runs or after it."""

import importlib
from pathlib import Path

import click
import msgspec

from gcs.cli.memory import Memory
from gcs.cli.output import summary
from gcs.core import report
from gcs.core.report import Report, Share
from gcs.errors import UsageError
from gcs.ports.frontier import glance
from gcs.settings import Settings


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=Path("crawl"), metavar="[DIR]")
@click.option("--space", "url", envvar="GCS_SPACE", metavar="URL", help="Whiteboard of a team elsewhere.")
@click.option("--crawl", help="Name of the crawl there. [the only one]")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def status(directory: Path, url: str | None, crawl: str | None, as_json: bool) -> None:
    """Show how the crawl in DIR stands (its last checkpoint, at most a few seconds old), and its team, live."""
    figures = None if url else read_status(directory)
    team = None
    if url or (directory / "state" / "space" / "address").exists():
        rosters = importlib.import_module("gcs.cli.roster")  # the whiteboard's client is slow to load
        team = rosters.read_roster(directory, url, crawl)
    if as_json:
        report_json = msgspec.to_builtins(figures) if figures else {}
        click.echo(msgspec.json.encode(report_json | ({"team": msgspec.to_builtins(team)} if team else {})))
        return
    if figures:
        click.echo(summary(figures))
    if team:
        click.echo(rosters.table(team))


def read_status(directory: Path) -> Report:
    """The report as it would be now."""
    shares, running = read_shares(directory)
    if not shares and not running:
        raise UsageError(f"{directory}: there is no crawl here; give the DIR of `gcs crawl -o DIR`")
    state = "running" if running else "stopped" if any(share.queued for share in shares) else "done"
    name = Memory.read(directory).settings.get("crawl.name", Settings().crawl.name)
    return report.build(str(name), state, shares, None if running else count_unique(directory, shares))


def count_unique(directory: Path, shares: list[Share]) -> int | None:
    """Different pages that a team has stored in its session, where records can be read here; None for one alone.

    What a gatherer has stored elsewhere counts as different from all the others'.
    """
    shares = report.current(shares)
    if len(shares) < 2:
        return None
    distinct = importlib.import_module("gcs.ports.records.distinct")  # a crawl alone does without it
    found = distinct.distinct(directory, shares[0].session, sum(share.tally.pages for share in shares))
    return int(found.unique) + sum(share.unique for share in shares if not found.stored[share.id])


def read_shares(directory: Path) -> tuple[list[Share], bool]:
    """What each gatherer whose disk is here has done, and whether one of them runs."""
    seen = [glance(file.parent) for file in sorted(directory.glob("state/*/frontier/data.mdb"))]
    packed = [each.notes["share"] for each in seen if "share" in each.notes]
    return [msgspec.msgpack.decode(each, type=Share) for each in packed], any(each.running for each in seen)


def running(directory: Path) -> list[str]:
    """The gatherers that have their disks here and run."""
    frontiers = sorted(file.parent for file in directory.glob("state/*/frontier/data.mdb"))
    return [frontier.parent.name for frontier in frontiers if glance(frontier).running]
