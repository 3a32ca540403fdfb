"""`gcs verify`: checks the files of a crawl against one another, and repairs what can be derived."""

from pathlib import Path

import click
import msgspec

from gcs.app import crawl_check
from gcs.app.crawl_check import Verification
from gcs.app.say import say
from gcs.events import set_up_log


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=Path("crawl"), metavar="[DIR]")
@click.option("--repair", is_flag=True, help="Repair what can be derived; damaged files are kept as FILE.cut.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def verify(directory: Path, repair: bool, as_json: bool) -> int:
    """Check record log, WARC and Parquet files, frontiers and settings of the crawl in DIR against one another.

    Everything is read once. The crawl must not be running. Exit code: 0 all is sound, or is repaired; 1 something is
    damaged or missing; 2 there is no crawl in DIR, or it runs.
    """
    set_up_log("error", as_json=False)  # what is found is printed below
    found = crawl_check.verify(directory, repair)
    say(msgspec.json.encode(found) if as_json else _text(found))
    return 0 if found.is_sound else 1


def _text(found: Verification) -> str:
    lines = []
    for problem in found.problems:
        advice = f"; {problem.advice}" if problem.advice else ""
        lines.append(f"{'repaired' if problem.repaired else 'damaged'}: {problem.file}: {problem.what}{advice}")
    lines.append(
        f"{found.directory}: {found.records:,} records of {found.gatherers} gatherers, {found.parquet_files:,} Parquet"
        f" files, {found.warc_records:,} WARC records in {found.warc_files:,} files: "
        + ("sound" if found.is_sound else "damaged; to repair what can be: gcs verify --repair")
    )
    return "\n".join(lines)
