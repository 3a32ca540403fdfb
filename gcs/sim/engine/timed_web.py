"""The web that a team crawls against the clock: its hosts, where the crawl begins, and how fast everything is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gcs.core.polite.politeness import Politeness
from gcs.core.url.sortkey import host_of_key
from gcs.sim.graph.owners import page_keys
from gcs.sim.graph.web_graph import Ids, WebGraph


@dataclass(frozen=True, slots=True)
class CrawlPace:
    """How fast the web answers, and how fast it may and can be asked."""

    politeness: Politeness = field(default_factory=Politeness)
    #: seconds to an answer, and the hosts that take another time (by `sortkey.host_of_key`)
    latency_s: float = 0.1
    latencies_s: Mapping[bytes, float] = field(default_factory=dict)
    #: seconds of CPU that a page takes, and what it takes more in a team
    page_cpu_s: float = 0.001
    team_cpu_s: float = 0.0
    #: cores of all machines together
    cores: int = 2
    #: requests of one gatherer that run at once
    connections: int = 128


@dataclass(frozen=True, slots=True)
class TimedWeb:
    """A web graph, and what politeness is owed to: its hosts."""

    graph: WebGraph = field(repr=False)
    #: the sort key of each page, and the number of its host
    keys: Sequence[bytes] = field(repr=False)
    host_of: NDArray[np.int32] = field(repr=False)
    #: the key of each host
    hosts: Sequence[bytes] = field(repr=False)
    #: pages from which all others are found
    seeds: Ids = field(repr=False)

    @classmethod
    def of(cls, graph: WebGraph, seeds: Sequence[int] = (0,)) -> "TimedWeb":
        """The web of a graph; where the seeds do not lead to all of its pages, there are further seeds."""
        keys = page_keys(graph)
        number: dict[bytes, int] = {}
        host_of = np.array([number.setdefault(host_of_key(key), len(number)) for key in keys], np.int32)
        return cls(graph, keys, host_of, list(number), _covering(graph, np.array(seeds, np.int64)))


def _covering(graph: WebGraph, first: Ids) -> Ids:
    """These pages; then those to which no page links; then whatever is needed to reach the rest."""
    seen, seeds = np.zeros(graph.pages, np.bool_), [first]

    def reach(pages: Ids) -> None:
        while len(pages):
            seen[pages] = True
            targets = graph.links_of(pages)[1]
            pages = np.unique(targets[~seen[targets]]).astype(np.int64)

    reach(first)
    seeds.append(np.flatnonzero(~seen & (graph.in_degrees() == 0)))
    reach(seeds[-1])
    for page in np.flatnonzero(~seen).tolist():
        if not seen[page]:
            seeds.append(np.array([page]))
            reach(seeds[-1])
    return np.concatenate(seeds)
