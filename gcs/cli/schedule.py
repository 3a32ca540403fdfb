"""`gcs schedule`: periodic crawling. RQ's cron queues jobs, and a `gcs shift worker` beside the directory crawls."""

import subprocess
import sys
from pathlib import Path

import click

from gcs.app import crawl_dir
from gcs.app.say import say
from gcs.cli.shift import rq_option
from gcs.errors import UsageError
from gcs.ports.plain_jobs import PlainCron
from gcs.ports.shift_book import connect

#: exit codes of a session that was crawled, or stopped by a limit of the user
DONE, LIMIT = 0, 3


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, resolve_path=True), default=Path("crawl"), metavar="[DIR]")
@rq_option
@click.option("--cron", "expression", metavar="EXPR", help='When: five fields, such as "0 3 * * *" for three at night.')
@click.option("--every", "every_s", type=click.IntRange(min=1), metavar="S", help="Or: seconds between two sessions.")
@click.option("--queue", default="gcs-sessions", show_default=True, help="RQ queue of the worker.")
@click.option("-n", "--gatherers", type=click.IntRange(min=1), default=1, show_default=True, help="As in gcs crawl.")
def schedule(directory: Path, rq: str, expression: str | None, every_s: int | None, queue: str, gatherers: int) -> None:
    """Crawl the next session of DIR again and again; runs until stopped. `gcs shift worker gcs-sessions` works."""
    if (expression is None) == (every_s is None):
        raise UsageError('no time is given: use either --cron "0 3 * * *" or --every SECONDS')
    if not crawl_dir.current_session(directory):
        raise UsageError(f"{directory}: there is no crawl here to go on from; begin it with gcs crawl -o {directory}")
    cron = PlainCron(connect(rq))
    when = {"cron": expression} if expression else {"interval": every_s}
    try:
        cron.register(next_session, queue, args=(str(directory), gatherers), job_timeout=-1, **when)
    except ValueError as error:
        raise UsageError(f"--cron {expression!r} is no time: {error}") from None
    say(f"{directory}: the next session {expression or f'every {every_s} s'}, by `gcs shift worker {queue}`")
    cron.start()  # type: ignore[no-untyped-call]


def next_session(directory: str, gatherers: int = 1) -> int:
    """The job of the worker: one session, to its end. A session under way is continued.

    A job that was queued while the last session was crawled does nothing, so that jobs do not pile up.
    """
    from rq import get_current_job  # slow to load, as above

    command = [sys.executable, "-m", "gcs", "crawl", "-o", directory, "-n", str(gatherers), "--json"]
    number = crawl_dir.current_session(Path(directory))
    before = crawl_dir.reports(Path(directory)).get(number)
    if before is not None and before.state in ("done", "limit"):
        ended_at = crawl_dir.report_file(Path(directory), number).stat().st_mtime
        job = get_current_job()
        if job is not None and job.enqueued_at is not None and job.enqueued_at.timestamp() < ended_at:
            return number
        command.append("--next")
    code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if code not in (DONE, LIMIT):
        raise RuntimeError(f"gcs crawl ended with code {code}")
    return crawl_dir.current_session(Path(directory))
