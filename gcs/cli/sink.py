"""`gcs sink`: bring what a crawl has stored to a file, a database or a stream."""

import time
from pathlib import Path

import click
import msgspec

from gcs.app.crawl_dir import running_gatherers
from gcs.app.crawl_input import log_options
from gcs.app.processes.beside import attended
from gcs.app.processes.sink_processes import TARGET_VARIABLE, TARGETS
from gcs.app.say import say
from gcs.errors import StoreError
from gcs.ports.records.reading import check_crawl
from gcs.ports.sinks.sink_delivery import SinkDelivery
from gcs.ports.sinks.sink_names import named_sink

#: tries of one batch before the command gives up
_TRIES = 8
#: seconds between two looks at a crawl that runs
_LOOK_S = 0.2


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--to", "target", required=True, envvar=TARGET_VARIABLE, metavar="TARGET", help=f"Where the pages go: {TARGETS}"
)
@click.option("--follow", is_flag=True, help="Go on while a crawl runs in DIR.")
@click.option("--attend", is_flag=True, hidden=True)  # go on until standard input ends
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@log_options
def sink(directory: Path, target: str, follow: bool, attend: bool, as_json: bool) -> int:
    """Bring the pages in DIR to TARGET; what it has already does not go again.

    It gets each page at least once, with an id that stays the same. Run again, it gets what is new.
    """
    if not attend:
        check_crawl(directory)
    named = named_sink(target)
    delivery, shown = SinkDelivery(directory, named), named.shown.partition("=")[2] or named.shown
    try:
        while True:
            # looked at first: what is read then is all
            is_live = attended() if attend else follow and bool(running_gatherers(directory))
            while delivery.step(hurry=not is_live):
                pass
            if not is_live and delivery.failures >= _TRIES:
                raise StoreError(f"{shown} takes nothing ({delivery.problem}): run this again; nothing is lost")
            if not is_live and not delivery.failures:
                break
            time.sleep(_LOOK_S if is_live else 0.1 * 2**delivery.failures)
    finally:
        delivery.close()
    if as_json:
        say(msgspec.json.encode({"sink": shown, "pages": delivery.delivered}))
    else:
        say(f"{delivery.delivered:,} pages delivered to {shown}")
    return 0
