"""`gcs index`: the full-text index of what crawls have stored."""

import time
from pathlib import Path

import click
import msgspec

from gcs.app.crawl_dir import running_gatherers
from gcs.app.crawl_input import log_options
from gcs.app.processes.beside import attended
from gcs.app.say import say
from gcs.errors import UsageError
from gcs.ports.records.reading import check_crawl
from gcs.ports.search.index_follower import IndexFollower
from gcs.ports.search.index_place import ENGINES, INDEX, begin_anew, make_index, take_place

#: seconds between two looks at a crawl that runs
_LOOK_S = 0.5


@click.command()
@click.argument("directories", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR…")
@click.option(
    "--to", "place", type=click.Path(path_type=Path), metavar="FOLDER",
    help=f"Folder of the index; needed for several crawls.  [DIR/{INDEX}]",
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(ENGINES), help="tantivy: fast (gcs-crawler[search]); sqlite: nothing to install."
)
@click.option("--rebuild", is_flag=True, help="Make it anew from the records; searches see the old one until then.")
@click.option("--follow", is_flag=True, help="Go on while a crawl runs in DIR.")
@click.option("--attend", is_flag=True, hidden=True)  # go on until standard input ends
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@log_options
def index(
    directories: tuple[Path, ...],
    place: Path | None,
    engine: str | None,
    rebuild: bool,
    follow: bool,
    attend: bool,
    as_json: bool,
) -> int:
    """Index the text of the pages in DIR for gcs search: what is new since the last time, and what has changed.

    Can be killed at any time: the next run goes on.
    """
    if len(directories) > 1 and place is None:
        raise UsageError("an index of several crawls has a folder of its own: give it with --to")
    if not attend:
        for directory in directories:
            check_crawl(directory)
    folder = place or directories[0] / INDEX
    target = begin_anew(folder) if rebuild else folder
    sources = tuple(directory.absolute() for directory in directories) if place else ()
    home = directories[0] if place is None else folder
    begun = time.monotonic()
    made = make_index(target, engine or "", sources)
    follower = IndexFollower(sources or directories, home, made)
    try:
        while True:
            # looked at first: what is read then is all
            is_live = attended() if attend else follow and any(map(running_gatherers, directories))
            while follower.step(hurry=not is_live):
                pass
            if not is_live:
                break
            time.sleep(_LOOK_S)
        pages = made.pages()
    finally:
        follower.close()
    if rebuild:
        take_place(target, folder)
    if as_json:
        told = {"index": str(folder), "engine": made.name, "indexed": follower.indexed, "pages": pages}
        say(msgspec.json.encode(told | {"seconds": round(time.monotonic() - begun, 3)}))
    else:
        say(f"{follower.indexed:,} pages indexed; {folder} ({made.name}) holds {pages:,}")
    return 0
