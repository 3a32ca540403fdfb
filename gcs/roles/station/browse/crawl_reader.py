"""The reader of a crawl: its catalogue, its records and its frontiers, read in one thread of their own.

Each request first takes in what is new, for UPDATE_S at most: of a large crawl that is opened for the first time, the
pages that are shown are not all, and the answer says so. It must not change anything but the catalogue.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gcs.ports.catalogue import Catalogue
from gcs.ports.records.reading import is_url

T = TypeVar("T")

#: seconds that a request spends on what is new
UPDATE_S = 0.7
#: name of the catalogue in the state of a crawl directory
FILE = "catalogue.sqlite"


class CrawlReader:
    """What is stored of one crawl. Opened by the first request."""

    def __init__(self, place: Path | str) -> None:
        self.place = place
        self._thread = ThreadPoolExecutor(1, "crawl-reader")
        self._catalogue: Catalogue | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._is_complete = False

    @property
    def directory(self) -> Path | None:
        """Where the crawl is; None if it is at a store's URL."""
        return None if is_url(self.place) else Path(self.place)

    async def ask(self, read: Callable[[Catalogue, bool], T]) -> T:
        """Read something: given the catalogue, and whether all records are in it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, read)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _read(self, read: Callable[[Catalogue, bool], T]) -> T:
        if self._catalogue is None:
            self._catalogue = Catalogue(self.place, self._file())
        self._is_complete = self._catalogue.update(UPDATE_S)
        return read(self._catalogue, self._is_complete)

    def _file(self) -> Path:
        """Beside the records, if one may write there; otherwise for as long as the station runs."""
        if self.directory and os.access(self.directory / "state", os.W_OK):
            return self.directory / "state" / FILE
        self._folder = tempfile.TemporaryDirectory(prefix="gcs-catalogue-")
        return Path(self._folder.name) / FILE

    def _close(self) -> None:
        if self._catalogue:
            self._catalogue.close()
            self._catalogue = None
        if self._folder:
            self._folder.cleanup()
