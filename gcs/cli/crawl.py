"""`gcs crawl`: a whole crawl on this machine."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import click

from gcs import events
from gcs.app import assembly, crawl_dir, setting_options
from gcs.app.crawl_dir import SavedCrawl
from gcs.app.local_crawl import run_crawl
from gcs.app.read_seeds import read_seeds, with_sources
from gcs.app.terminal import finish, save_report
from gcs.cli import main
from gcs.core.url.canonical import is_own
from gcs.errors import UsageError
from gcs.roles.gatherer import Gatherer
from gcs.settings import Settings


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]…")
@click.option("--seeds", "seeds_file", metavar="FILE", help="More seeds, one URL a line; - for standard input.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, metavar="DIR",
    help="Directory of the crawl. Run again on it, the crawl resumes.",
)  # fmt: skip
@click.option(
    "-n", "--gatherers", type=click.IntRange(min=0), default=1, show_default=True, metavar="N",
    help="Gatherers, each a process. 0 (with --space): the team runs elsewhere; start its crawl and wait for the end.",
)  # fmt: skip
@click.option("--space", "url", envvar="GCS_SPACE", metavar="URL", help="Whiteboard of the team. [one of its own]")
@click.option("--station", is_flag=True, help="Serve the page from which the crawl is watched and run.")
@click.option(
    "--listen", envvar="GCS_STATION_LISTEN", default="127.0.0.1:8642", show_default=True, metavar="HOST:PORT",
    help="Where the station listens.",
)  # fmt: skip
@setting_options.setting_options
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Where the report goes. [DIR/report.json]"
)
@click.option(
    "--log", "log_level", type=click.Choice(events.LEVELS), default="warning", show_default=True, help="What is logged."
)
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
@click.option(
    "--next", "begins", is_flag=True,
    help="Begin the next session: ask again for every page of DIR; what has not changed costs little.",
)  # fmt: skip
@click.option(
    "--plan", type=click.Path(path_type=Path), metavar="FILE",
    help="Divide the work by this plan of gcs plan. [the one in DIR for this session]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON; no progress.")
def crawl(
    urls: tuple[str, ...],
    seeds_file: str | None,
    output: Path,
    gatherers: int,
    url: str | None,
    station: bool,
    listen: str,
    report: Path | None,
    log_level: str,
    log_json: bool,
    begins: bool,
    plan: Path | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Crawl from seeds on this machine; run again on the same DIR to resume.

    A seed is a URL, a folder (./docs), a database (db:./shop.sqlite) or a news group (nntp://HOST/GROUP/).
    """
    events.set_up(log_level, log_json)
    saved = SavedCrawl.read(output)
    delay_is_told = flags.get("politeness__delay_s") is not None
    settings = setting_options.read(flags, before=saved.settings)
    seeds = list(dict.fromkeys([*saved.seeds, *read_seeds(urls, seeds_file, settings.urls)]))
    if not seeds:
        raise UsageError("no seeds: give URLs, or a file of them with --seeds FILE")
    if begins and not saved.seeds:
        raise UsageError(f"{output}: there is no crawl here to go on from; leave --next out")
    if saved.seeds:
        _check_seed_server(output, str(saved.settings.get("team.coordination", "")), settings, begins)
    if not gatherers and not url:
        raise UsageError("-n 0 is for a team that is elsewhere: give its whiteboard with --space URL")
    settings = with_sources(ask_contact(settings, seeds), seeds, output, delay_is_told)
    begins = begins or (crawl_dir.was_barren(output) and settings.team.coordination != "seed-server")
    session = max(crawl_dir.current_session(output), 1) + begins

    def begin() -> None:  # when the directory is ours, not before: another crawl may be running here
        saved.write(output, seeds, settings)
        crawl_dir.begin_session(output, session)

    def make() -> Gatherer:
        gatherer = assembly.gatherer(output, "g0", settings, seeds)
        begin()
        return gatherer

    if gatherers > 1 or url or station or settings.team.coordination == "seed-server" or _was_team(output):
        # the whiteboard's client is slow to load, and a crawl by one gatherer does without it
        from gcs.app.local_team import LocalTeam, TeamSpec, run_local_team

        blueprint = _blueprint(output, settings, session, gatherers, plan)
        with_prediction = crawl_dir.apply_prediction(output, settings, gatherers)
        listen_at = listen if station else None
        spec = TeamSpec(output, with_prediction, seeds, gatherers, url, log_level, main, listen_at, session, blueprint)
        outcome = run_local_team(LocalTeam(spec), progress=not as_json, begin=begin)
    else:
        outcome = run_crawl(make, seeds, crawl=settings.crawl.name, progress=not as_json, session=session)
    code = finish(outcome, output, as_json)
    save_report(outcome.report, crawl_dir.report_file(output, session))
    save_report(outcome.report, report or output / "report.json")  # last: a place that is bad hides no result
    return code


def _was_team(directory: Path) -> bool:
    """Whether others than the first gatherer have left something here."""
    return any(path.parent.name != "g0" for path in directory.glob("state/*/frontier"))


def _check_seed_server(directory: Path, before: str, settings: Settings, begins: bool) -> None:
    """Refuse to go from a seed-server to another coordination, or back, while URLs would be lost.

    A seed-server knows only the URLs that it has handed out itself, and nobody else knows those that it still holds.
    """
    server, now = "seed-server", settings.team.coordination
    if server not in (before, now) or before == now:
        return
    if now == server:
        raise UsageError(f"{directory}: was not begun by a seed-server, which would know nothing of it; begin another")
    last = crawl_dir.reports(directory).get(crawl_dir.current_session(directory))
    if not begins or last is None or last.state != "done":
        raise UsageError(
            f"{directory}: its seed-server holds URLs that nobody else knows; finish the session without --coordination"
        )


def _blueprint(directory: Path, settings: Settings, session: int, gatherers: int, file: Path | None) -> bytes:
    """The plan made ahead for this session, if there is one."""
    if settings.team.coordination == "superpages" and not file and not crawl_dir.plan_file(directory, session).exists():
        return b""
    from gcs.app import coordination  # it brings numpy

    return coordination.blueprint_of(directory, settings.team, session, max(gatherers, 1), file)


def ask_contact(settings: Settings, seeds: list[str]) -> Settings:
    """A crawl of public sites says who answers for it; a crawl of our own machines need not."""
    if settings.crawl.contact or settings.fetch.user_agent or all(map(is_own, seeds)):
        return settings
    if not sys.stdin.isatty():
        raise UsageError(
            "public sites must be able to complain: give --contact you@example.org (or the page of your crawler)"
        )
    contact = click.prompt("Who may sites complain to? Your e-mail address or web page", err=True)
    return dataclasses.replace(settings, crawl=dataclasses.replace(settings.crawl, contact=contact))
