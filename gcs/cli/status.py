"""`gcs status`: how a crawl stands, from its directory, while it runs or after it."""

from pathlib import Path

import click
import msgspec

from gcs.cli.output import summary
from gcs.core import report
from gcs.core.report import Report
from gcs.core.tally import Tally
from gcs.errors import UsageError
from gcs.ports.frontier import glance


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=Path("crawl"), metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def status(directory: Path, as_json: bool) -> None:
    """Show how the crawl in DIR stands (its last checkpoint, at most a few seconds old)."""
    figures = read_status(directory)
    click.echo(msgspec.json.encode(figures) if as_json else summary(figures))


def read_status(directory: Path) -> Report:
    """The report as it would be now."""
    frontiers = sorted(directory.glob("state/*/frontier/data.mdb"))
    if not frontiers:
        raise UsageError(f"{directory}: there is no crawl here; give the DIR of `gcs crawl -o DIR`")
    shares, running = [], False
    for file in frontiers:
        seen = glance(file.parent)
        tally = Tally.decode(seen.notes.get("tally"))
        fraction = (seen.known - seen.queued) / seen.known if seen.known else 0.0
        shares.append(report.Share(file.parent.parent.name, tally, seen.known, seen.queued, tally.pages, fraction))
        running |= seen.running
    state = "running" if running else "stopped" if any(share.queued for share in shares) else "done"
    return report.build(directory.name, state, shares)
