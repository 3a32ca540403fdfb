"""`gcs helper`: lends this machine to a crawl, at hours and within limits that its owner sets.

Nothing is written to any disk: no state, no cache, no compiled module (with --browser, Chromium has a profile in TMPDIR
while it runs). SIGTERM, or the end of the shift, ends or gives back what is under way within seconds.
"""

from typing import Any

import click

from gcs.app.assembly import run_loop
from gcs.app.crawl_input import log_options
from gcs.app.processes.helper_process import lend, loan_options, read_loan


@click.command()
@loan_options
@click.option("--stay", is_flag=True, help="After the end of the crawl, wait for the next one.")
@log_options
def helper(stay: bool, **options: Any) -> int:
    """Lend this machine to a crawl: fetch pages for its gatherers, and keep nothing. SIGTERM ends it within seconds."""
    return run_loop(lend(*read_loan(options), stay))
