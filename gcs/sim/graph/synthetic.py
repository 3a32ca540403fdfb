"""Webs that nobody wrote: sites of Zipf size, about ten links a page, nine of them inside the site, Zipf in-degree.

Made for Cho's experiments at his own size (40 million pages, 400 million links). Links inside a site go to pages of it
by chance, half of them rather to its first ones. Of those that leave it, three in four go to popular pages, whose r-th
gets a share of 1/r (the home pages of all sites stand first), and one in four to a partner of the site: a few pages
elsewhere to which all its pages link again and again, as templates make them do. A site of s pages has √s partners.

The sizes are cut off, as crawlers do. Popularity does not depend on size. With these few rules the shapes of Cho's
figures come out; the share of popular links (3/4) was chosen by Figure 8, the cut by Figure 4.

Invariant: the same pages and seed make the same web.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import xxhash
from numpy.typing import NDArray

from gcs.sim.graph.web_graph import Ids, WebGraph

#: pages made in one go: bounds the memory
CHUNK = 1 << 20
#: domains of the sites, each with the share that it has
DOMAINS = (("com", 0.52), ("org", 0.14), ("net", 0.12), ("edu", 0.12), ("de", 0.06), ("it", 0.04))


@dataclass(frozen=True, slots=True)
class Shape:
    """What the web is like."""

    pages: int
    seed: int = 1
    site_pages: float = 40.0
    #: no site has more pages, as crawlers see to
    largest_site: int = 1000
    #: before those to the same page are taken for one: nine are left
    links_inside: float = 12.5
    links_outside: float = 1.0
    #: part of the links outside that goes to popular pages
    popular: float = 0.75


def synthetic(shape: Shape) -> WebGraph:
    chance = np.random.default_rng(shape.seed)
    sizes = site_sizes(shape, chance)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    sites = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    homes = starts[:-1][chance.permutation(len(sizes))].astype(np.int32)
    counts, targets = [np.zeros(1, np.int64)], []
    for begin in range(0, shape.pages, CHUNK):
        part = sites[begin : begin + CHUNK]
        degrees, links = _links(shape, chance, part, starts, homes)
        counts.append(degrees)
        targets.append(links)
    bytes_ = np.exp(chance.normal(np.log(7_000), 0.9, shape.pages)).astype(np.int64) + 200
    return WebGraph(
        f"synthetic-{shape.pages}",
        np.cumsum(np.concatenate(counts)),
        np.concatenate(targets),
        Names(sites, starts),
        sites,
        bytes_,
        xxhash.xxh3_128_hexdigest(repr(shape).encode()),
    )


def site_sizes(shape: Shape, chance: np.random.Generator) -> Ids:
    """Pages of each site: inverse to its rank, cut off at the largest, in random order."""
    count = max(round(shape.pages / shape.site_pages), 1)
    largest = min(shape.largest_site, shape.pages)
    ranks = np.arange(1, count + 1)
    low, high = 1.0, float(shape.pages) + count
    for _ in range(60):  # the size that the first would have, were it not cut off
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle / ranks, largest).sum() < shape.pages else (low, middle)
    sizes = np.maximum(np.minimum(high / ranks, largest).astype(np.int64), 1)
    missing = shape.pages - int(sizes.sum())
    if missing >= 0:
        sizes += missing // count
        sizes[: missing % count] += 1
    else:  # the single pages have taken too much
        spare = np.cumsum(sizes - 1)
        cut = np.diff(np.minimum(spare, -missing), prepend=0)
        sizes -= cut
    return chance.permutation(sizes[sizes > 0])


def _links(
    shape: Shape, chance: np.random.Generator, sites: NDArray[np.int32], starts: Ids, homes: NDArray[np.int32]
) -> tuple[Ids, NDArray[np.int32]]:
    """The links of a run of pages: how many each has, and where they lead."""
    pages = len(sites)
    sizes = starts[sites + 1] - starts[sites]
    inside = chance.geometric(1 / (1 + shape.links_inside), pages) - 1
    inside[sizes == 1] = 0
    outside = chance.poisson(shape.links_outside, pages)
    near = _inside(chance, np.repeat(starts[sites], inside), np.repeat(sizes, inside))
    far = _outside(shape, chance, np.repeat(sites, outside), np.repeat(sizes, outside), homes)
    rows = np.arange(pages, dtype=np.int64)
    keys = np.concatenate([np.repeat(rows, inside), np.repeat(rows, outside)])
    keys *= shape.pages
    keys += np.concatenate([near, far])
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    counts = np.diff(np.searchsorted(keys, np.arange(pages + 1) * shape.pages))
    keys %= shape.pages
    return counts, keys.astype(np.int32)


def _inside(chance: np.random.Generator, starts: Ids, sizes: Ids) -> Ids:
    """Pages of the same site: half of them any, half of them rather the first."""
    where = chance.random(len(starts))
    where[::2] **= 6
    return starts + (where * sizes).astype(np.int64)


def _outside(
    shape: Shape, chance: np.random.Generator, sites: NDArray[np.int32], sizes: Ids, homes: NDArray[np.int32]
) -> Ids:
    """Popular pages, and partners of the site."""
    ranks = np.exp(chance.random(len(sites)) * np.log(shape.pages)).astype(np.int64) - 1
    popular = np.where(ranks < len(homes), homes[np.minimum(ranks, len(homes) - 1)], _mixed(ranks) % shape.pages)
    partner = (chance.random(len(sites)) * np.ceil(np.sqrt(sizes))).astype(np.int64)
    partners = _mixed(sites.astype(np.int64) * 65_537 + partner + (shape.seed << 40)) % shape.pages
    return np.where(chance.random(len(sites)) < shape.popular, popular, partners)


def _mixed(numbers: Ids) -> Ids:
    """A number that looks random for each (splitmix64), not negative."""
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((bits ^ (bits >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


class Names(Sequence[str]):
    """The URLs of a synthetic web, made when they are asked for."""

    def __init__(self, sites: NDArray[np.int32], starts: Ids) -> None:
        self._sites, self._starts = sites, starts
        edges = np.cumsum([share for _, share in DOMAINS])
        places = _mixed(np.arange(len(starts))) % 1000 / 1000
        self._domains = np.searchsorted(edges, places, side="right").clip(0, len(DOMAINS) - 1)

    def __len__(self) -> int:
        return len(self._sites)

    @overload
    def __getitem__(self, page: int) -> str: ...
    @overload
    def __getitem__(self, page: slice) -> list[str]: ...
    def __getitem__(self, page: int | slice) -> str | list[str]:
        """http://s17.org/p3 is the fourth page of site 17."""
        if isinstance(page, slice):
            return [self[each] for each in range(*page.indices(len(self)))]
        site = int(self._sites[page])
        number = (page if page >= 0 else page + len(self)) - int(self._starts[site])
        return f"http://s{site}.{DOMAINS[self._domains[site]][0]}/p{number}"
