"""`gcs shift`: night shifts of machines that run `gcs shift worker`."""

import dataclasses
import os
import re
from datetime import datetime
from typing import Any

import click
import msgspec

from gcs.app import consent
from gcs.app.processes.helper_process import loan_options, read_loan
from gcs.app.say import say
from gcs.app.shift_job import work
from gcs.errors import UsageError
from gcs.ports.plain_jobs import PlainWorker
from gcs.ports.shift_book import ShiftBell, ShiftBook, ShiftOrder, connect

rq_option = click.option(
    "--rq", envvar="GCS_RQ", required=True, metavar="URL", help="The plain Redis of the RQ workers: redis://host."
)


@click.group()
def shift() -> None:
    """Let machines that run `gcs shift worker` help at certain hours."""


@shift.command()
@click.argument("name")
@rq_option
@click.option("--queue", default="gcs", show_default=True, help="RQ queue that the workers listen to.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Machines that are wanted.")
@loan_options
def schedule(name: str, rq: str, queue: str, workers: int, **options: Any) -> None:
    """Save a shift under NAME: at its hours, so many workers each get a job, and stop when it ends."""
    loan, hours = read_loan(options)
    if hours is None:
        raise UsageError("no hours are given: use --shift HH:MM-HH:MM, or --days for whole days")
    now = datetime.now()
    order = ShiftOrder(name, loan, hours, queue, workers)
    if ShiftBook(connect(rq), work).add(order, now):
        say(f"{name}: {hours}; it is on: begins with the next free worker of '{queue}'")
    else:
        say(f"{name}: {hours}; begins {hours.next_begin(now):%a %H:%M}, if `gcs shift cron` runs somewhere")


@shift.command("list")
@rq_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(rq: str, as_json: bool) -> None:
    """List the shifts."""
    orders, now = ShiftBook(connect(rq), work).orders(), datetime.now()
    if as_json:
        say(msgspec.json.encode([_shown(order) for order in orders]))
        return
    for order in orders:
        ends_at = order.shift.ends_at(now)
        state = f"on until {ends_at:%a %H:%M}" if ends_at else f"begins {order.shift.next_begin(now):%a %H:%M}"
        say(f"{order.name}: {order.shift}, {state}, crawl {order.loan.crawl}, {order.workers} of '{order.queue}'")


@shift.command()
@click.argument("name")
@rq_option
def cancel(name: str, rq: str) -> None:
    """Cancel a shift; the workers on it stop within seconds."""
    if not ShiftBook(connect(rq), work).cancel(name):
        raise UsageError(f"there is no shift {name!r}: see gcs shift list")
    say(f"{name} is cancelled")


@shift.command()
@rq_option
def cron(rq: str) -> None:
    """Start the jobs of shifts at their hours (RQ's cron): run it on one machine that is always on."""
    ShiftBell(ShiftBook(connect(rq), work), lambda: datetime.now().astimezone()).ring()


@shift.command()
@click.argument("queues", nargs=-1, metavar="[QUEUE]…")
@rq_option
@click.option("--burst", is_flag=True, help="End when there is no job left.")
@click.option(
    "--allow", type=click.Choice(["private"]), multiple=True,
    help="private: a shift may ask for pages of this machine's own network.",
)  # fmt: skip
def worker(queues: tuple[str, ...], rq: str, burst: bool, allow: tuple[str, ...]) -> None:
    """Work the jobs of shifts (queue gcs) and of gcs schedule (queue gcs-sessions), and no others."""
    os.environ[consent.VARIABLE] = " ".join(allow)  # for the process of each job
    PlainWorker(list(queues) or ["gcs"], connect(rq)).work(burst=burst)


def _shown(order: ShiftOrder) -> ShiftOrder:
    """Without what is secret: the token, and a password in the URL."""
    loan = order.loan
    url = re.sub(r"//[^/@]*@", "//…@", loan.space)
    return msgspec.structs.replace(order, loan=dataclasses.replace(loan, space=url, token="…" if loan.token else ""))
