"""`gcs ls`: the crawls in a folder."""

import time
from pathlib import Path

import click
import msgspec

from gcs.app.crawl_list import ListedCrawl, list_crawls
from gcs.app.say import say
from gcs.app.terminal import columns

HEADINGS = ("DIR", "STATE", "SESSION", "PAGES", "QUEUED", "LAST CHANGE", "SEEDS")


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER]…")
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def ls(folders: tuple[Path, ...], as_json: bool) -> None:
    """List the crawls in FOLDER (here, unless told) and in its folders: state, pages, queue, last change, seeds."""
    crawls = [crawl for folder in folders or (Path(),) for crawl in list_crawls(folder)]
    if as_json:
        say(msgspec.json.encode(crawls))
    elif not crawls:
        say("no crawls here; to make one: gcs crawl URL -o DIR")
    else:
        for line in columns([HEADINGS, *(_cells(crawl) for crawl in crawls if not crawl.error)], left=2):
            say(line.rstrip())
        for crawl in crawls:
            if crawl.error:
                say(f"gcs: {crawl.error}", err=True)


def _cells(crawl: ListedCrawl) -> tuple[str, ...]:
    more = f" and {len(crawl.seeds) - 1:,} more" if len(crawl.seeds) > 1 else ""
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(crawl.changed_at))
    counts = (f"{crawl.session}", f"{crawl.pages:,}", f"{crawl.queued:,}")
    return (crawl.directory, crawl.state, *counts, at, "".join(crawl.seeds[:1]) + more)
