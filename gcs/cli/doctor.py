"""`gcs doctor`: whether a crawl can run here, and what to do where it cannot."""

import asyncio
import time
from pathlib import Path

import click
import msgspec

from gcs.app.say import say
from gcs.app.terminal import columns
from gcs.ports.space.address import SpaceSettings, parse
from gcs.ports.space.redis_connection import connect
from gcs.ports.system.checkup import PROBLEM, findings


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=Path("crawl"), metavar="[DIR]")
@click.option("--space", "url", envvar="GCS_SPACE", metavar="URL", help="Look at this whiteboard, too.")
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def doctor(directory: Path, url: str | None, as_json: bool) -> int:
    """Look at what a crawl in DIR would need: packages, Redis, Chromium, disk, limits, clocks. Changes nothing.

    Exit code: 0 nothing is wrong, 1 there is a problem; each comes with its remedy.
    """
    found = list(findings(directory, (lambda: asyncio.run(_skew(url))) if url else None))
    if as_json:
        say(msgspec.json.encode(found))
    else:
        cells = [(each.state, each.what, each.detail) for each in found]
        for each, line in zip(found, columns(cells, left=3), strict=True):
            say(line.rstrip() + (f": {each.remedy}" if each.remedy else ""))
    return int(any(each.state == PROBLEM for each in found))


async def _skew(url: str) -> float:
    """Seconds by which the clock of the whiteboard is ahead."""
    connection = await connect(parse(url), SpaceSettings(open_s=3.0).open_s)
    try:
        seconds, micros = await connection.command("TIME")
        return float(int(seconds) + int(micros) / 1e6 - time.time())
    finally:
        await connection.close()
