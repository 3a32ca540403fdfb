"""`gcs merge`: what the machines of a team have stored, in one directory."""

from pathlib import Path

import click
import msgspec

from gcs.app.merge import merge as merge_parts
from gcs.app.say import say
from gcs.errors import UsageError
from gcs.ports.transfer.taking_in import take_in


@click.command()
@click.argument("into", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.argument("parts", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PART…")
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def merge(into: Path, parts: tuple[Path, ...], as_json: bool) -> None:
    """Bring the directories of a team's gatherers together in DIR: copy the PARTs here first (rsync -a), then merge.

    Each gatherer on a machine of its own keeps what it stores there. DIR may be new, or the directory of gcs crawl.

    Or apply transfers (files of gcs export --changed) to DIR, which is new or was made so, in their order.
    """
    transfers = [part for part in parts if part.is_file()]
    if transfers:
        if len(transfers) < len(parts):
            raise UsageError("give either directories or transfers")
        notes = [take_in(into, transfer) for transfer in transfers]
        records = sum(note.records for note in notes)
        if as_json:
            say(msgspec.json.encode({"transfers": len(notes), "records": records, "directory": str(into)}))
        else:
            say(f"{records:,} records of {len(notes):,} transfers are in {into}/")
        return
    files, size = merge_parts(into, list(parts))
    if as_json:
        say(msgspec.json.encode({"files": files, "bytes": size, "directory": str(into)}))
    else:
        say(f"{files:,} files, {size / 1e6:,.1f} MB copied to {into}/; the parts are as they were")
