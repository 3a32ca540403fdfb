"""The web graph of a crawl, read from its records: every URL as of its last session, and the links between them.

Two passes over a few columns. The first finds, for each URL, the record that tells what is there (a 304 only says that
an older one still holds); the second reads keys, sizes and links of these. URLs are told apart by 64 bits of hash.

Memory: about 150 bytes a page and 8 a link, however much text there is and however many sessions there were.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from gcs.core.page.values import tells
from gcs.core.plan.session_graph import SessionGraph, Visits, crawled
from gcs.core.url.sortkey import sort_key
from gcs.errors import StoreError, UsageError
from gcs.ports.records.reading import rows

_digest = xxhash.xxh3_64_intdigest
#: links that are looked up at a time
_BATCH_LINKS = 1 << 20

Hashes = NDArray[np.uint64]


def read_graph(place: str | Path) -> SessionGraph:
    """The graph of the crawl at this place. A URL that failed is there too: it was asked for, and holds nothing."""
    hashes, telling = _telling(place)
    if not telling.any():
        raise UsageError(f"{place}: there is no page yet; crawl first, then plan the next session")
    links = _Links(hashes[telling])
    keys: list[bytes] = []
    page_bytes, url_bytes = array("q"), array("q")
    row = -1
    for row, (url, size_bytes, outlinks) in enumerate(rows(place, ("url", "bytes", "outlinks"))):
        if row >= len(hashes) or _digest(url.encode()) != hashes[row]:
            raise StoreError(f"{place}: the crawl is running; stop it, or wait for its end, and try again")
        if telling[row]:
            keys.append(sort_key(url))
            page_bytes.append(size_bytes)
            url_bytes.append(len(url))
            links.add(outlinks)
    visits = Visits(keys, np.frombuffer(page_bytes, np.int64), np.frombuffer(url_bytes, np.int64))
    return crawled(visits, *links.arrays())


def _telling(place: str | Path) -> tuple[Hashes, NDArray[np.bool_]]:
    """The hash of each row's URL, and whether the row is the one that tells what is there."""
    found, sessions = array("Q"), array("i")
    for url, session, *what in rows(place, ("url", "session", "status", "failure", "held_at_us")):
        found.append(_digest(url.encode()))
        sessions.append(session if tells(*what) else 0)
    hashes, since = np.frombuffer(found, np.uint64), np.frombuffer(sessions, np.int32)
    order = np.lexsort((since, hashes))  # stable: of one session's, the later row comes last
    last = np.flatnonzero(np.append(hashes[order][1:] != hashes[order][:-1], True)) if len(order) else order
    telling = np.zeros(len(hashes), np.bool_)
    telling[order[last]] = since[order[last]] > 0
    return hashes, telling


@dataclass(slots=True)
class _Links:
    """Links between pages, collected page by page. Filled by `add`; links to URLs that are no page are left out."""

    #: the hash of each page, in the order in which they are added
    pages: Hashes
    _order: NDArray[np.int32] = field(init=False)
    _sorted: Hashes = field(init=False)
    _found: "array[int]" = field(default_factory=lambda: array("Q"))
    _degrees: "array[int]" = field(default_factory=lambda: array("i"))
    _done: int = 0
    _parts: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._order = np.argsort(self.pages).astype(np.int32)
        self._sorted = self.pages[self._order]

    def add(self, outlinks: list[str]) -> None:
        """The links of the next page."""
        different = {_digest(url.encode()) for url in outlinks}
        self._found.extend(different)
        self._degrees.append(len(different))
        if len(self._found) >= _BATCH_LINKS:
            self._look_up()

    def arrays(self) -> Iterator[NDArray[np.int32]]:
        """Sources and targets of all links."""
        self._look_up()
        for side in zip(*self._parts):
            yield np.concatenate(side)

    def _look_up(self) -> None:
        found, degrees = np.frombuffer(self._found, np.uint64), np.frombuffer(self._degrees, np.int32)
        sources = np.repeat(np.arange(self._done, self._done + len(degrees), dtype=np.int32), degrees)
        places = np.searchsorted(self._sorted, found)
        places[places == len(self._sorted)] = 0
        known = self._sorted[places] == found
        self._parts.append((sources[known], self._order[places[known]]))
        self._done += len(degrees)
        self._found, self._degrees = array("Q"), array("i")
