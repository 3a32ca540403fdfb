"""Special sub-graphs (Teng §8): the few pages that tie the parts of a web together.

A team that knows them beforehand names them to nobody, and without the links to them what remains is easier to
partition. How such pages are recognised, for units that will be shared out (superpages, sites, pages):

| recogniser | takes the pages                                                                              |
|------------|----------------------------------------------------------------------------------------------|
| hot        | that most pages link to                                                                      |
| named      | that most other units link to: what the most gatherers would name                            |
| core       | of the densest cores of the links between units: communities that link one another, the most |
|            | named first                                                                                  |

Invariant: a recogniser gives different pages, at most as many as asked for, and none that no other unit links to
(`hot`: no other page). It must not know about gatherers.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from gcs.core.partition.partition_graph import Ids, Ints, LinkArrays, SessionLinks

Recogniser = Callable[[SessionLinks, Ints, int], Ints]


def hot(session: SessionLinks, _units: Ints, most: int) -> Ints:
    """The pages with most links from other pages, most first."""
    return _best(most, _in_links(session))


def named(session: SessionLinks, units: Ints, most: int) -> Ints:
    """The pages with links from most other units, most first; of equals those with more links."""
    return _best(most, _naming(session, units), _in_links(session))


def core(session: SessionLinks, units: Ints, most: int) -> Ints:
    """The pages of the highest cores of the links between units; within a core those that most units name."""
    crossing = [(sources[cross], targets[cross]) for sources, targets, cross in _chunks(session, units)]
    sources, targets = (np.concatenate(ends) for ends in zip((units[:0], units[:0]), *crossing))
    naming = _naming(session, units)
    numbers = core_numbers(LinkArrays.between(session.pages, sources, targets))
    return _best(most, np.where(naming > 0, numbers, 0), naming)


RECOGNISERS: Mapping[str, Recogniser] = MappingProxyType({"hot": hot, "named": named, "core": core})


def core_numbers(links: LinkArrays) -> Ints:
    """For each unit the largest c such that it lies in a sub-graph where everybody has at least c neighbours."""
    degrees = np.diff(links.offsets)
    numbers = np.zeros(links.units, np.int64)
    remains = np.ones(links.units, np.bool_)
    level = 0
    while remains.any():
        level = max(level, int(degrees[remains].min()))
        peeled = np.flatnonzero(remains & (degrees <= level))
        while len(peeled):  # a unit that loses a neighbour may have to go as well
            numbers[peeled], remains[peeled] = level, False
            neighbours = _neighbours(links, peeled)
            neighbours = neighbours[remains[neighbours]]
            np.subtract.at(degrees, neighbours, 1)
            neighbours = np.unique(neighbours)
            peeled = neighbours[degrees[neighbours] <= level]
    return numbers


def _neighbours(links: LinkArrays, units: Ints) -> Ints:
    starts, counts = links.offsets[units], np.diff(links.offsets)[units]
    ends = np.cumsum(counts)
    return links.targets[np.repeat(starts - ends + counts, counts) + np.arange(int(ends[-1]))]


def _chunks(session: SessionLinks, units: Ints) -> Iterator[tuple[Ids, Ids, NDArray[np.bool_]]]:
    """The links, some at a time, and which of them lead to another unit."""
    for sources, targets in session.chunks():
        yield sources, targets, units[sources] != units[targets]


def _in_links(session: SessionLinks) -> Ints:
    others = session.sources != session.targets
    return np.bincount(session.targets[others], minlength=session.pages)


def _naming(session: SessionLinks, units: Ints) -> Ints:
    """How many other units link to each page."""
    count = int(units.max(initial=-1)) + 1
    pairs = np.empty(0, np.int64)
    for sources, targets, cross in _chunks(session, units):
        pairs = np.union1d(pairs, targets[cross].astype(np.int64) * count + units[sources[cross]])
    return np.bincount(pairs // max(count, 1), minlength=session.pages)


def _best(most: int, scores: Ints, ties: Ints | None = None) -> Ints:
    """The pages with the highest scores, none with a score of 0."""
    order = np.lexsort((-(scores if ties is None else ties), -scores))[:most]
    return order[scores[order] > 0]
