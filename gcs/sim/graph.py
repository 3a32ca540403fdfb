"""A web graph, read from a folder: the web that the studies crawl.

The folder holds `edges.txt.gz` ("src dst" per line, 0-based; lines that begin with # at the top are remarks) and, where
there are URLs, `urls.txt.gz` (line k is the URL of page k) and `pages.tsv.gz` (columns site_id and bytes of page k).

Invariant: the out-links of page u are `targets[offsets[u] : offsets[u + 1]]`, ascending and without duplicates.
It must not be changed once made: the arrays are shared between the sub-graphs and the studies.
"""

import gzip
import warnings
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gcs.errors import UsageError

Ids = NDArray[np.int64]
_NOTHING: Ids = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class WebGraph:
    """A directed graph of pages in compressed sparse rows, with what is known of the pages."""

    name: str
    offsets: Ids
    targets: NDArray[np.int32]
    #: URL of each page, as the data set spells it; empty where it has none
    urls: Sequence[str] = field(default=(), repr=False)
    #: site of each page, and its size; None where the data set does not say
    sites: NDArray[np.int32] | None = field(default=None, repr=False)
    sizes_bytes: Ids | None = field(default=None, repr=False)

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return len(self.offsets) - 1

    @property
    def links(self) -> int:
        """How many links there are."""
        return len(self.targets)

    def outlinks(self, page: int) -> NDArray[np.int32]:
        """The pages that a page links to (a view, not a copy)."""
        return self.targets[self.offsets[page] : self.offsets[page + 1]]

    def sources(self) -> NDArray[np.int32]:
        """The page that each link leaves, parallel to `targets`."""
        return np.repeat(np.arange(self.pages, dtype=np.int32), np.diff(self.offsets))

    def in_degrees(self) -> Ids:
        """How many links point at each page."""
        return np.bincount(self.targets, minlength=self.pages)

    def induced(self, keep: NDArray[np.bool_]) -> "WebGraph":
        """The sub-graph of the pages marked in `keep`, renumbered in their old order."""
        sources = self.sources()
        inside = keep[sources] & keep[self.targets]
        renumber = np.cumsum(keep) - 1
        ids = np.flatnonzero(keep)
        return WebGraph(
            self.name,
            *_rows(renumber[sources[inside]], renumber[self.targets[inside]], len(ids)),
            urls=[self.urls[i] for i in ids.tolist()] if self.urls else (),
            sites=None if self.sites is None else self.sites[ids],
            sizes_bytes=None if self.sizes_bytes is None else self.sizes_bytes[ids],
        )

    def breadth_first(self, seeds: Sequence[int], more: Sequence[int] = ()) -> Iterator[int]:
        """The pages in the order in which a breadth-first crawl of the seeds fetches them.

        When the queue runs dry, the crawl goes on from the next page of `more` that it has not met.
        """
        known = np.zeros(self.pages, dtype=np.bool_)
        further = iter(more)
        batch = np.unique(np.asarray(seeds, dtype=np.int64))
        while True:
            known[batch] = True
            queue: deque[NDArray[np.signedinteger]] = deque([batch])
            while queue:
                for page in queue.popleft().tolist():
                    yield page
                    links = self.outlinks(page)
                    fresh = links[~known[links]]
                    if len(fresh):
                        known[fresh] = True
                        queue.append(fresh)
            for page in further:
                if not known[page]:
                    batch = np.array([page])
                    break
            else:
                return


def from_links(name: str, sources: Ids, targets: Ids, pages: int) -> WebGraph:
    """A graph without URLs from two parallel arrays of links, in any order, duplicates allowed."""
    return WebGraph(name, *_rows(sources, targets, pages))


def load(folder: Path, upstream: bool = False) -> WebGraph:
    """Read a graph; with `upstream`, the links of `edges_upstream.txt.gz` too."""
    links = _numbers(folder / "edges.txt.gz")
    if upstream:
        links = np.concatenate([links, _numbers(folder / "edges_upstream.txt.gz")])
    urls_file, pages_file = folder / "urls.txt.gz", folder / "pages.tsv.gz"
    urls = _read(urls_file).decode().split("\n") if urls_file.exists() else []
    if urls and not urls[-1]:
        urls.pop()
    known = _numbers(pages_file) if pages_file.exists() else None
    named = len(urls) or (len(known) if known is not None else 0)
    linked = int(links.max(initial=-1)) + 1
    if named and named < linked:
        raise UsageError(f"{folder}: a link names page {linked - 1}, but there are only {named} pages")
    if known is not None and len(known) != named:
        raise UsageError(f"{pages_file}: {len(known)} pages, but {named} URLs")
    pages = named or linked
    offsets, targets = _rows(links[:, 0], links[:, 1], pages)
    if known is None:
        return WebGraph(folder.name, offsets, targets, urls)
    return WebGraph(folder.name, offsets, targets, urls, known[:, 0].astype(np.int32), known[:, 1].copy())


def _rows(sources: Ids, targets: Ids, pages: int) -> tuple[Ids, NDArray[np.int32]]:
    """Compressed sparse rows of the links, sorted and without duplicates."""
    links = sources.astype(np.int64) * pages + targets
    if np.any(links[1:] <= links[:-1]):
        links = np.unique(links)
    offsets = np.zeros(pages + 1, dtype=np.int64)
    np.cumsum(np.bincount(links // max(pages, 1), minlength=pages), out=offsets[1:])
    return offsets, (links % max(pages, 1)).astype(np.int32)


def _numbers(path: Path) -> Ids:
    """The two columns of whole numbers below the head of a file: the lines that begin with no digit."""
    text = _read(path)
    start = 0
    while start < len(text) and not text[start : start + 1].isdigit():
        start = text.find(b"\n", start) + 1 or len(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # numpy's way to say that it met a word
            numbers = np.fromstring(text[start:], dtype=np.int64, sep=" ") if start < len(text) else _NOTHING
    except (DeprecationWarning, ValueError) as error:
        raise UsageError(f"{path}: every line must hold two whole numbers") from error
    if len(numbers) % 2:
        raise UsageError(f"{path}: every line must hold two whole numbers")
    return numbers.reshape(-1, 2)


def _read(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: not a readable gzip file ({error}); a graph folder holds edges.txt.gz") from error
