"""The graphs that are partitioned: pages (C2), sites (C3) or superpages as vertices, links as weighted edges.

A `SessionLinks` is what the last crawl saw, page by page. A model coarsens it into *units* (pages, sites with the giant
ones cut, or superpages), each with two weights (bytes, requests), and `LinkArrays` between units whose cost is what an
exchange of them would send. Cambazoglu's two models and Teng's coarsened graph differ only in the unit.

Invariant: `LinkArrays` is symmetric, has no loops and no duplicates, rows ascend; its cost counts both directions.
It does not know about gatherers: the owner of a unit is the business of `core.partition`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = Ints | Floats
#: page ids may come as int32 (a graph of 20M links) or int64
Ids = NDArray[np.int32] | NDArray[np.int64]

#: a site heavier than this share of a part is cut: coarser pieces are hard to balance, finer ones cut more links
GIANT_SHARE = 1 / 64
#: links looked at in one go
CHUNK_LINKS = 1 << 21


@dataclass(frozen=True, slots=True)
class LinkArrays:
    """Undirected links of m units: those of unit j are `targets[offsets[j] : offsets[j + 1]]` with their `costs`."""

    offsets: Ints
    targets: Ints
    costs: Ints

    @classmethod
    def between(cls, units: int, sources: Ids, targets: Ids, costs: Ints | None = None) -> Self:
        """Collapse directed links (a cost each, or 1) into one edge per pair; loops vanish."""
        crossing = sources != targets
        low = np.minimum(sources, targets)[crossing].astype(np.int64)
        high = np.maximum(sources, targets)[crossing].astype(np.int64)
        pairs = low * units + high
        order = np.argsort(pairs)
        pairs = pairs[order]
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        if costs is None:
            sums = np.diff(first, append=len(pairs))
        else:
            sums = np.add.reduceat(costs[crossing][order], first) if len(first) else np.empty(0, np.int64)
        low, high = np.divmod(pairs[first], units)
        # low → high is sorted already; high → low gets there by one more stable sort
        both = np.concatenate([high * units + low, low * units + high])
        order = np.argsort(both, kind="stable")
        offsets = np.zeros(units + 1, np.int64)
        np.cumsum(np.bincount(low, minlength=units) + np.bincount(high, minlength=units), out=offsets[1:])
        return cls(offsets, both[order] % max(units, 1), np.concatenate([sums, sums])[order].astype(np.int64))

    @property
    def units(self) -> int:
        """How many units there are, linked or not."""
        return len(self.offsets) - 1

    def sources(self) -> Ints:
        """The unit that each entry leaves, parallel to `targets`."""
        return np.repeat(np.arange(self.units), np.diff(self.offsets))

    def among(self, units: Ints) -> "LinkArrays":
        """The links among some units, which are renumbered in the order given."""
        number = np.full(self.units, -1)
        number[units] = np.arange(len(units))
        sources, targets = number[self.sources()], number[self.targets]
        once = (sources >= 0) & (targets >= 0) & (sources < targets)
        return LinkArrays.between(len(units), sources[once], targets[once], self.costs[once])

    def crossing(self, owners: Ints) -> int:
        """The cost of the links between units of different owners, each counted once."""
        return int(self.costs[owners[self.sources()] != owners[self.targets]].sum()) // 2


@dataclass(frozen=True, slots=True)
class SessionLinks:
    """What one crawl saw: the input of the next session's plan. Pages stand in the order of their sort keys.

    That order is what makes a range of pages a range of keys, so that a cut site is a few superpages.
    """

    #: the links, as two parallel arrays of page numbers
    sources: Ids
    targets: Ids
    #: length of each page's URL: what naming it to another gatherer costs
    url_bytes: Ints
    #: size of each page
    page_bytes: Ints
    #: site of each page, numbered from 0; the pages of a site stand together
    sites: Ints

    @property
    def pages(self) -> int:
        """How many pages were fetched."""
        return len(self.page_bytes)

    def chunks(self) -> Iterator[tuple[Ids, Ids]]:
        """The links, some at a time: what is made of them on the way takes little memory, however many there are."""
        for start in range(0, len(self.sources), CHUNK_LINKS):
            yield self.sources[start : start + CHUNK_LINKS], self.targets[start : start + CHUNK_LINKS]

    def without_replicated(self, pages: Ids) -> "SessionLinks":
        """The session as if the URLs of these pages were known everywhere (G4): nobody names them to anybody."""
        known = np.zeros(self.pages, np.bool_)
        known[pages] = True
        return self.only(~known[self.targets])

    def only(self, kept: NDArray[np.bool_]) -> "SessionLinks":
        return SessionLinks(self.sources[kept], self.targets[kept], self.url_bytes, self.page_bytes, self.sites)


@dataclass(frozen=True, slots=True)
class Model:
    """A session coarsened into units: what a partitioner sees, and the way back to the pages."""

    #: (m, 2): bytes and requests of each unit
    weights: Ints
    #: cost = total length of the URLs named between two units
    links: LinkArrays
    unit_of_page: Ints


def page_model(session: SessionLinks) -> Model:
    """Cambazoglu's page graph: a unit is a page; weights (bytes, 1)."""
    return superpage_model(session, np.arange(session.pages))


def site_model(session: SessionLinks, k: int, share: float = GIANT_SHARE) -> Model:
    """Cambazoglu's site graph for k parts: a unit is a site, or a range of a giant one; weights (bytes, pages).

    Links inside a unit cost nothing. A site heavier than `share` of a part is cut, or no partition could be balanced.
    """
    return superpage_model(session, cut_giants(session, share / k))


def superpage_model(session: SessionLinks, unit_of_page: Ints) -> Model:
    """The graph of any coarsening: unit u is the set of pages with unit_of_page == u (numbered from 0, none empty)."""
    units = int(unit_of_page.max(initial=-1)) + 1
    weights = np.empty((units, 2), np.int64)
    weights[:, 0] = np.bincount(unit_of_page, session.page_bytes, units)
    weights[:, 1] = np.bincount(unit_of_page, minlength=units)
    crossing: list[tuple[Ints, Ints, Ints]] = []
    for pages, others in session.chunks():
        sources, targets = unit_of_page[pages], unit_of_page[others]
        across = sources != targets
        crossing.append((sources[across], targets[across], session.url_bytes[others[across]]))
    columns = [np.concatenate(column) for column in zip(*crossing)] or [np.empty(0, np.int64)] * 3
    return Model(weights, LinkArrays.between(units, *columns), unit_of_page)


def cut_giants(session: SessionLinks, limit: float, whole: float = 0.0) -> Ints:
    """The unit of each page: its site, or a range of it where the site holds more than `limit` of all bytes or pages.

    Sites that hold no more than `whole` of both stay whole.
    A range is cut where the fewest bytes of links reach across, between half the limit and the limit.
    A single page above the limit stays one unit.
    """
    pages = session.pages
    shares = np.stack([session.page_bytes / max(session.page_bytes.sum(), 1), np.full(pages, 1 / max(pages, 1))])
    upto = np.concatenate([np.zeros((2, 1)), np.cumsum(shares, axis=1)], axis=1)
    first = np.flatnonzero(np.diff(session.sites, prepend=-1))
    last = np.append(first, pages)[1:]
    giants = np.flatnonzero((upto[:, last] - upto[:, first]).max(axis=0) > max(limit, whole))
    starts = [first]
    if len(giants):
        reach = _reach(session)
        starts += [_cuts(upto, reach, int(first[g]), int(last[g]), limit) for g in giants.tolist()]
    begins = np.zeros(pages, np.int64)
    begins[np.concatenate(starts)] = 1
    return np.cumsum(begins) - 1


def _reach(session: SessionLinks) -> Floats:
    """For each page p, the bytes of links inside a site that reach across the border between p - 1 and p."""
    size = session.pages + 1
    across = np.zeros(size)
    for sources, targets in session.chunks():
        cost = np.where(session.sites[sources] == session.sites[targets], session.url_bytes[targets], 0)
        across += np.bincount(np.minimum(sources, targets) + 1, cost, size)
        across -= np.bincount(np.maximum(sources, targets) + 1, cost, size)
    return np.cumsum(across)


def _cuts(upto: Floats, reach: Floats, start: int, end: int, limit: float) -> Ints:
    """Where the ranges of the pages start … end - 1 begin, the first one left out."""
    cuts: list[int] = []
    while (upto[:, end] - upto[:, start]).max() > limit:
        weight = (upto[:, start : end + 1] - upto[:, start : start + 1]).max(axis=0)
        farthest = max(int(np.searchsorted(weight, limit, side="right")) - 1, 1)
        nearest = min(max(int(np.searchsorted(weight, limit / 2)), 1), farthest)
        start += nearest + int(np.argmin(reach[start + nearest : start + farthest + 1]))
        if start >= end:
            break
        cuts.append(start)
    return np.array(cuts, np.int64)
