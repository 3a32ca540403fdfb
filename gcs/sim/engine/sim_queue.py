"""The pages that wait at the gatherers of a simulated team, and the choice of those that go next.

Two ways to the same answer: `ScanWaiting` looks at all waiting pages when asked (a few numpy calls, good for the long
supersteps of a study), `QueueWaiting` keeps a queue of `core.queues` for each gatherer, as the live crawl does.

Invariant: both give out the pages of lowest rank, ties in the order of discovery; a page that waits waits once.
filled by: put; emptied by: take.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gcs.core.queues.contract import Queue
from gcs.sim.graph.owners import Owners

Pages = NDArray[np.int32]


class Ranks(Protocol):
    """What is known of the pages: `SteppedCrawl` has it, and the waiting pages are chosen by it."""

    #: its rank now: the smaller, the sooner
    rank: NDArray[np.int64]
    #: its place in the order of discovery, and the page at each place
    number: NDArray[np.int32]
    page_of: NDArray[np.int32]
    owners: Owners
    #: whether it still waits
    waits: NDArray[np.bool_]


class ScanWaiting:
    """All that waits, looked through at every take."""

    def __init__(self, known: Ranks, k: int) -> None:
        self._known = known
        self._parts: list[list[Pages]] = [[] for _ in range(k)]

    def put(self, fresh: Pages, changed: Pages) -> None:  # noqa: ARG002
        """Add fresh pages. Ranks are looked up by `take`, so a change of rank does not matter."""
        for me, pages in grouped(fresh, self._known.owners):
            self._parts[me].append(pages)

    def take(self, me: int, count: int) -> Pages:
        """The best pages of one gatherer, best first: by selection, in linear time."""
        parts = self._parts[me]
        if not parts:
            return np.empty(0, np.int32)
        pages = np.concatenate(parts) if len(parts) > 1 else parts[0]
        ranks = self._known.rank[pages]
        if len(pages) > count:
            border = np.partition(ranks, count - 1)[count - 1]
            chosen = ranks < border
            chosen[np.flatnonzero(ranks == border)[: count - int(chosen.sum())]] = True
            self._parts[me] = [pages[~chosen]]
            pages, ranks = pages[chosen], ranks[chosen]
        else:
            self._parts[me] = []
        best: Pages = pages[np.argsort(ranks, kind="stable")]
        return best


class QueueWaiting:
    """A queue for each gatherer. A page whose rank has changed is put in again; its old pair is dropped."""

    def __init__(self, known: Ranks, queues: list[Queue]) -> None:
        self._known, self._queues = known, queues

    def put(self, fresh: Pages, changed: Pages) -> None:
        """Insert pages that wait from now on, and pages whose rank has changed."""
        known = self._known
        for me, pages in grouped(np.concatenate([fresh, changed]), known.owners):
            self._queues[me].insert_many(-known.rank[pages].astype(np.float64), known.number[pages].astype(np.uint64))

    def take(self, me: int, count: int) -> Pages:
        """The best pages of one gatherer, best first: extracts until enough of them are not stale."""
        known, parts, missing = self._known, [np.empty(0, np.int32)], count
        while missing and len(self._queues[me]):
            keys, numbers = self._queues[me].extract_top(missing)
            pages = known.page_of[numbers.astype(np.int64)]
            parts.append(pages[known.waits[pages] & (known.rank[pages] == -keys.astype(np.int64))])
            known.waits[parts[-1]] = False
            missing -= len(parts[-1])
        return np.concatenate(parts)


def grouped(pages: Pages, owners: Owners) -> list[tuple[int, Pages]]:
    """The pages of each owner, in the order given."""
    if not len(pages):
        return []
    whose = owners[pages]
    order = np.argsort(whose, kind="stable")
    cuts = np.flatnonzero(np.diff(whose[order])) + 1
    return [(int(owners[part[0]]), part) for part in np.split(pages[order], cuts)]
