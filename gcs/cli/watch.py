"""`gcs watch`: match what a crawl has stored against the profiles, and push what matched."""

import asyncio
import signal
import threading
from pathlib import Path

import click
import msgspec

from gcs.app.crawl_input import log_options
from gcs.app.processes.beside import attended
from gcs.app.processes.watch_process import WatchOutcome
from gcs.app.processes.watch_process import watch as run_watch
from gcs.app.say import say
from gcs.errors import InUseError
from gcs.ports.records.reading import check_crawl


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--follow", is_flag=True, help="Go on until it is interrupted: a service for crawls that come and go.")
@click.option("--attend", is_flag=True, hidden=True)  # go on until standard input ends
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@log_options
def watch(directory: Path, follow: bool, attend: bool, as_json: bool) -> int:
    """Match what is new in DIR against its profiles (gcs profile), and push what matched to their receivers.

    Can be killed at any time: the next run goes on. gcs crawl runs this beside it where DIR has profiles.
    """
    if not attend:
        check_crawl(directory)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM) if follow else ():
        signal.signal(number, lambda *_: ended.set())
    is_live = attended if attend else (lambda: follow and not ended.is_set())
    try:
        outcome = asyncio.run(run_watch(directory, is_live))
    except InUseError:
        if not attend:
            raise
        outcome = WatchOutcome(0, 0, 0)  # a service does the work
    if as_json:
        say(msgspec.json.encode(outcome._asdict()))
        return 0
    say(f"{outcome.found:,} matches found, {outcome.pushed:,} pushed")
    if outcome.waiting:
        say(
            f"{outcome.waiting:,} wait for receivers that did not take them: gcs watch {directory} tries again",
            err=True,
        )
    return 0
