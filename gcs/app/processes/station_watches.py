"""The watches that a station starts: `gcs watch` for each crawl to which a profile was added from the page."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from gcs.app.processes.beside import Followers
from gcs.errors import StoreError
from gcs.events import Events

events = Events("station")


@contextlib.asynccontextmanager
async def station_watches() -> AsyncIterator[Callable[[Path], None]]:
    """A function that has a crawl directory watched until the block ends. Where it is watched already, nothing is."""
    watches: dict[Path, Followers] = {}

    def watch(directory: Path) -> None:
        if directory not in watches:
            watches[directory] = Followers(directory)
            watches[directory].start("watch")

    try:
        yield watch
    finally:
        for each in watches.values():
            try:
                await asyncio.to_thread(each.__exit__)
            except StoreError as error:
                events.warning("watch-failed", reason=error)
