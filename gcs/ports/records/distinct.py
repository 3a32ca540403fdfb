"""Distinct pages of a session over all gatherers of a crawl, for `unique` and `overlap` in the report (G5).

A gatherer knows what it stored twice itself; only the records of all tell what several of them have stored.

Invariant: exact (but for two URLs of one 64-bit hash), in memory that does not grow with the crawl: where there are
more pages than fit, the records are read several times, each time for a part of the hashes.
"""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import xxhash

from gcs.ports.records.reading import rows

_digest = xxhash.xxh3_64_intdigest
#: hashes that are held at a time: 128 MB
_MOST_AT_ONCE = 1 << 24
#: hashes for which a set is no larger than that
_FEW = 1 << 20
_FIELDS = ("url", "gatherer", "session", "status", "failure", "source")


@dataclass(slots=True)
class Distinct:
    """Pages that were stored in a session: how many different ones, and how many records by gatherer."""

    unique: int = 0
    stored: Counter[str] = field(default_factory=Counter)


def distinct(place: str | Path, session: int, pages: int, most: int = _MOST_AT_ONCE) -> Distinct:
    """Count the pages of a session, of which about so many are expected."""
    passes = -(-max(pages, 1) // most)
    found = Distinct()
    for part in range(passes):
        hashes = array("Q")
        for url, gatherer, number, status, failure, source in rows(place, _FIELDS):
            if number != session or not 200 <= status < 300 or failure or source:
                continue
            if (value := _digest(url.encode())) % passes == part:
                hashes.append(value)
                found.stored[gatherer] += 1
        found.unique += _unique(hashes)
    return found


def _unique(hashes: "array[int]") -> int:
    if len(hashes) <= _FEW:
        return len(set(hashes))
    import numpy as np  # slow to load, and not needed for what a set holds

    return len(np.unique(np.frombuffer(hashes, np.uint64)))
