"""Revisits: every URL of a crawl as an entry that asks again, with the validators of the copy that is held.

The records of a URL come in the order in which they were stored, so the last entry yielded for it is the one that
counts. It reads a few columns of each record and keeps nothing in memory.
"""

from collections.abc import Iterator
from pathlib import Path

from gcs.ports.frontier import Entry
from gcs.ports.records.reading import rows

_FIELDS = ("url", "parent", "depth", "status", "fetched_at", "digest", "etag", "last_modified", "failure")


def revisits(directory: Path) -> Iterator[Entry]:
    """An entry for each record, oldest first."""
    for url, parent, depth, status, fetched_at, digest, etag, last_modified, failure in rows(directory, _FIELDS):
        if status == 304:
            continue  # it confirms the copy that an earlier record names
        if failure or not 200 <= status < 300:
            yield Entry(url, parent, depth, depth)
        else:
            held_at_us = round(fetched_at * 1e6)
            yield Entry(url, parent, depth, depth, 0, 0, etag, last_modified, digest, held_at_us)
