"""Indexes: full-text engines behind one small port, and the follower that fills them from the record log.

An engine keeps one document for each URL, as the page was found last, and with the same commit the positions up to
which the record logs are in it. So an index that was killed goes on where it was, and misses nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from gcs.core.search.results import Asked, EngineAnswer
from gcs.core.search.searchable import Searchable

#: position in a record log: number of the file, records of it
Place = tuple[int, int]


class IndexEngine(Protocol):
    """A full-text engine with one index. One process writes at a time; any number may search meanwhile."""

    #: tantivy or sqlite
    name: str

    def positions(self) -> dict[str, Place]:
        """What `write` has kept last, by name of the log."""

    def write(self, pages: Sequence[Searchable], gone: Sequence[str], positions: Mapping[str, Place]) -> None:
        """Put pages in the place of what is there under their URLs, forget others: all of it, or nothing."""

    def search(self, asked: Asked) -> EngineAnswer:
        """The pages that match, as of the last `write` of any process; best first, as many as `asked.window`."""

    def pages(self) -> int:
        """How many pages there are."""

    def close(self) -> None:
        """Release the files."""
