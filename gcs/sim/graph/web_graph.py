"""A web graph: the web that the studies crawl.

Invariant: the out-links of page u are `targets[offsets[u] : offsets[u + 1]]`, ascending and without duplicates.
It must not be changed once made: the arrays may be memory-mapped, and are shared between sub-graphs and studies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
#: page numbers of either width
Pages = NDArray[np.int32] | NDArray[np.int64]

#: links looked at in one go: bounds the memory of a crawl, and keeps it near the caches
BATCH_LINKS = 1 << 21


@dataclass(frozen=True, slots=True)
class WebGraph:
    """A directed graph of pages in compressed sparse rows, with URLs, sites and sizes of the pages."""

    name: str
    offsets: Ids
    targets: NDArray[np.int32]
    #: URL of each page, as the data set spells it; empty where it has none
    urls: Sequence[str] = field(default=(), repr=False)
    #: site of each page, and its size; None where they are unknown
    sites: NDArray[np.int32] | None = field(default=None, repr=False)
    sizes_bytes: Ids | None = field(default=None, repr=False)
    #: hash of the input of the graph, under which results are cached; empty for no caching
    digest: str = ""

    @property
    def pages(self) -> int:
        return len(self.offsets) - 1

    @property
    def links(self) -> int:
        return len(self.targets)

    def outlinks(self, page: int) -> NDArray[np.int32]:
        """The pages that a page links to (a view, not a copy)."""
        return self.targets[self.offsets[page] : self.offsets[page + 1]]

    def links_of(self, pages: Pages) -> tuple[Ids, NDArray[np.int32]]:
        """The links of many pages, page after page: how many each has, and where they lead."""
        starts = self.offsets[pages]
        counts = self.offsets[pages + 1] - starts
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        at = np.repeat(starts - ends + counts, counts)
        at += np.arange(total)
        return counts, self.targets[at]

    def batches(self, pages: Pages, links: int = BATCH_LINKS) -> Iterator[Pages]:
        """The pages in order, cut into pieces of about so many links (at least one page each)."""
        if len(pages) <= 1:
            if len(pages):
                yield pages
            return
        upto = np.cumsum(self.offsets[pages + 1] - self.offsets[pages])
        start = 0
        while start < len(pages):
            before = int(upto[start - 1]) if start else 0
            end = max(int(np.searchsorted(upto, before + links, side="right")), start + 1)
            yield pages[start:end]
            start = end

    def sources(self) -> NDArray[np.int32]:
        """The page that each link leaves, parallel to `targets`."""
        return np.repeat(np.arange(self.pages, dtype=np.int32), np.diff(self.offsets))

    def in_degrees(self) -> Ids:
        return np.bincount(self.targets, minlength=self.pages)

    def induced(self, keep: NDArray[np.bool_]) -> "WebGraph":
        """The sub-graph of the pages marked in `keep`, renumbered in their old order."""
        renumber = np.cumsum(keep, dtype=np.int32) - np.int32(1)
        ids = np.flatnonzero(keep)
        offsets = np.zeros(len(ids) + 1, np.int64)
        targets, done = [np.empty(0, np.int32)], 1
        for pages in self.batches(ids):
            counts, links = self.links_of(pages)
            kept = keep[links]
            targets.append(renumber[links[kept]])
            upto = np.concatenate([[0], np.cumsum(kept)])[np.cumsum(counts)]
            offsets[done : done + len(pages)] = offsets[done - 1] + upto
            done += len(pages)
        return WebGraph(
            self.name,
            offsets,
            np.concatenate(targets),
            urls=[self.urls[i] for i in ids.tolist()] if self.urls else (),
            sites=None if self.sites is None else self.sites[ids],
            sizes_bytes=None if self.sizes_bytes is None else self.sizes_bytes[ids],
        )


def from_links(name: str, sources: Pages, targets: Pages, pages: int) -> WebGraph:
    """A graph without URLs from two parallel arrays of links, in any order, duplicates allowed."""
    return WebGraph(name, *rows(sources, targets, pages))


def rows(sources: Pages, targets: Pages, pages: int) -> tuple[Ids, NDArray[np.int32]]:
    """Compressed sparse rows of the links, sorted and without duplicates."""
    links = sources.astype(np.int64) * pages + targets
    if np.any(links[1:] <= links[:-1]):
        links.sort(kind="stable")  # quick where the input is made of a few sorted parts
        links = links[np.diff(links, prepend=-1) > 0]
    offsets = np.zeros(pages + 1, dtype=np.int64)
    np.cumsum(np.bincount(links // max(pages, 1), minlength=pages), out=offsets[1:])
    return offsets, (links % max(pages, 1)).astype(np.int32)
