"""`gcs crawl`: a whole crawl on this machine."""

import asyncio
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from gcs.app import crawl_dir
from gcs.app.assembly import run_alone
from gcs.app.crawl_input import CrawlRun, log_flags, read_crawl, read_settings, setting_options
from gcs.app.processes.beside import index_and_watch, index_option
from gcs.app.processes.browser_helpers import check_browser
from gcs.app.processes.sink_processes import sink_option, sinks_beside
from gcs.app.say import say
from gcs.app.terminal import finish, save_report
from gcs.core.report.report import Report
from gcs.core.url.scope import folder_of
from gcs.core.url.sources import is_source
from gcs.errors import UsageError
from gcs.events import set_up_log
from gcs.ports.telemetry.page_traces import page_traces

#: new seeds that are shown
SEEDS_SHOWN = 10


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
@click.option(
    "--browser", "browsers", type=click.IntRange(min=0), is_flag=False, flag_value=1, default=0, metavar="[N]",
    help="Start N helpers with Chromium for this crawl (1, if no N is given): they render the pages that need it.",
)  # fmt: skip
@click.option("--station", is_flag=True, help="Serve the page from which the crawl is watched and run.")
@click.option(
    "--listen", envvar="GCS_STATION_LISTEN", default="127.0.0.1:8642", show_default=True, metavar="HOST:PORT",
    help="Where the station listens.",
)  # fmt: skip
@setting_options
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Where the report goes. [DIR/report.json]"
)
@log_flags("warning; info with --log-file")
@click.option(
    "--next", "begins", is_flag=True,
    help="Begin the next session: ask again for every page of DIR; what has not changed costs little.",
)  # fmt: skip
@click.option(
    "--run", "run_name", default="", metavar="NAME",
    help="With -n 0, for jobs that come again: a run of another name begins the next session when the last one is over;"
    " started again, it goes on. The whiteboard keeps seeds, settings and session.",
)  # fmt: skip
@click.option(
    "--plan", type=click.Path(path_type=Path), metavar="FILE",
    help="Divide the work by this plan of gcs plan. [the one in DIR for this session]",
)  # fmt: skip
@sink_option
@index_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON; no progress.")
def crawl(
    urls: tuple[str, ...],
    seeds_file: str | None,
    output: Path,
    gatherers: int,
    url: str | None,
    browsers: int,
    station: bool,
    listen: str,
    report: Path | None,
    log_level: str | None,
    log_json: bool,
    log_file: Path | None,
    begins: bool,
    run_name: str,
    plan: Path | None,
    sinks: tuple[str, ...],
    index: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Crawl from seeds on this machine; run again on the same DIR to resume.

    A seed is a URL, a folder (./docs), a database (db:./shop.sqlite, db://NAME/), a mailbox
    (mail:./inbox.mbox) or a news group (nntp://HOST/GROUP/).
    """
    log_level = log_level or ("info" if log_file else "warning")
    set_up_log(log_level, log_json, log_file)
    if not gatherers and not url:
        raise UsageError("-n 0 is for a team that is elsewhere: give its whiteboard with --space URL")
    if run_name and (gatherers or not url):
        raise UsageError("--run is for a team that is elsewhere: give -n 0 and its whiteboard with --space URL")
    if browsers:
        check_browser()
    if len(urls) == 1 and crawl_dir.is_crawl(Path(urls[0])) and _is_default("output"):  # gcs crawl --next DIR
        output, urls = Path(urls[0]), ()
    if run_name and url:
        from gcs.app.processes.named_runs import recall

        name = read_settings(dict(flags)).crawl.name
        begins = asyncio.run(recall(output, url, name, run_name)) or begins
    run = read_crawl(output, urls, seeds_file, flags, begins, names_itself=not url)
    if not (as_json or log_json):
        run = replace(run, on_begin=partial(_echo_seeds, run))
    before = crawl_dir.reports(output).get(run.session)
    coordination = run.settings.team.coordination
    with sinks_beside(output, sinks), index_and_watch(output, index, station):
        if gatherers > 1 or url or station or browsers or coordination == "seed-server" or _was_team(output):
            # the whiteboard's client is slow to load, and a crawl by one gatherer does without it
            from gcs.app.processes.local_team import TeamSpec, run_local_team

            blueprint = _blueprint(run, gatherers, plan)
            log_words = ("--log", log_level, *(("--log-file", str(log_file)) if log_file else ()))
            spec = TeamSpec(run, gatherers, url, log_words, listen if station else None, blueprint, browsers, run_name)
            outcome = run_local_team(spec, progress=not as_json)
        else:
            with page_traces(os.environ):
                outcome = run_alone(run, progress=not as_json)
        code = finish(outcome, output, as_json)
        if not as_json and before and _work(before) == _work(outcome.report) and code == 0:
            say(f"nothing was left to do; to ask again for every page: gcs crawl --next {output}")
        save_report(outcome.report, crawl_dir.report_file(output, run.session))
        # last: a place that is bad hides no result
        save_report(outcome.report, report or output / "report.json", is_named=report is not None)
    return code


def _echo_seeds(run: CrawlRun) -> None:
    """Show the seeds that are new as they are understood, and what the scope makes of a path."""
    known = frozenset(run.saved.seeds if run.saved else ())
    new = [seed for seed in run.seeds if seed not in known]
    for seed in new[:SEEDS_SHOWN]:
        say(f"seed: {seed}", err=True)
    if len(new) > SEEDS_SHOWN:
        say(f"and {len(new) - SEEDS_SHOWN:,} seeds more", err=True)
    folders = {folder_of(seed) for seed in new if not is_source(seed)}
    if run.settings.crawl.scope == "host" and len(folders) == 1 and (folder := folders.pop()) != "/":
        say(f"the whole host is crawled; only what lies below {folder}: --scope prefix", err=True)


def _work(report: Report) -> tuple[int, ...]:
    """What a session has dealt with: the same before and after a run that had nothing to do."""
    return report.pages, report.revisits, report.failed, report.redirects, report.denied_by_robots


def _is_default(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is click.core.ParameterSource.DEFAULT


def _was_team(directory: Path) -> bool:
    """Whether others than the first gatherer have left something here."""
    return any(path.parent.name != "g0" for path in directory.glob("state/*/frontier"))


def _blueprint(run: CrawlRun, gatherers: int, file: Path | None) -> bytes:
    """The plan made ahead for this session, if there is one."""
    team, made = run.settings.team, crawl_dir.plan_file(run.directory, run.session)
    if team.coordination == "superpages" and not file and not made.exists():
        return b""
    from gcs.app import coordination  # it brings numpy

    return coordination.blueprint_of(run.directory, team, run.session, max(gatherers, 1), file)
