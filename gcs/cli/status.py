"""`gcs status`: how a crawl stands, from its directory, while it runs or after it."""

from pathlib import Path

import click
import msgspec

from gcs.app.crawl_dir import reports, stored_elsewhere
from gcs.app.crawl_list import status_of
from gcs.app.say import say
from gcs.app.terminal import summary
from gcs.core.report.estimate import STORED
from gcs.core.report.report import build, with_outlook
from gcs.ports.records.reading import is_url


@click.command()
@click.argument("place", default="crawl", metavar="[DIR]")
@click.option("--space", "url", envvar="GCS_SPACE", metavar="URL", help="Whiteboard of a team elsewhere.")
@click.option("--crawl", help="Name of the crawl there. [the only one]")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def status(place: str, url: str | None, crawl: str | None, as_json: bool) -> None:
    """Show how the crawl in DIR stands (at most a few seconds ago), and its team, live.

    DIR may be the URL of a store (s3://...).
    """
    if is_url(place):
        from gcs.app.station.store_source import StoreSource, stored_shares  # slow to load, too

        source = StoreSource(place)
        stored = build(source.id, STORED, stored_shares(place))
        say(msgspec.json.encode(stored) if as_json else summary(stored))
        return
    directory = Path(place)
    figures = None if url else status_of(directory)
    team = None
    if url or (directory / "state" / "space" / "address").exists():
        from gcs.app import team_roster  # the whiteboard's client is slow to load

        team = team_roster.read_roster(directory, url, crawl)
        if figures and figures.state == "running" and team.members:  # heartbeats are newer than checkpoints
            figures = with_outlook(figures, team.outlook)
            figures = msgspec.structs.replace(figures, state=team.crawl_state or figures.state)
    if as_json:
        report_json = msgspec.to_builtins(figures) if figures else {}
        say(msgspec.json.encode(report_json | ({"team": msgspec.to_builtins(team)} if team else {})))
        return
    if figures:
        say(summary(figures, directory))
        if away := stored_elsewhere(directory, reports(directory).get(figures.session)):
            say(away)
    if team:
        say(team_roster.table(team, with_outlook=not figures))
