"""What a crawl asks of its queue, written down, so that other queues can be asked the same.

One gatherer crawls in supersteps of R pages. A page whose rank has changed is inserted again and dropped when its old
pair comes out, as in the live crawl; since all queues give the same answers, one trace fits them all.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gcs.core.queues.contract import Ids, Keys, Queue
from gcs.core.queues.queue_maker import make_queue
from gcs.sim.engine.supersteps import Crawl, SuperstepRules
from gcs.sim.graph.web_graph import Ids as PageIds
from gcs.sim.graph.web_graph import WebGraph


@dataclass(frozen=True, slots=True)
class InsertStep:
    """Pairs that went in."""

    keys: Keys = field(repr=False)
    ids: Ids = field(repr=False)


@dataclass(frozen=True, slots=True)
class ExtractStep:
    """How many were asked for."""

    count: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The calls of one crawl in their order."""

    calls: tuple[InsertStep | ExtractStep, ...] = field(repr=False)
    #: pairs that went in, pairs that came out, and the most that waited at once
    inserted: int
    extracted: int
    longest: int


class _Listener:
    """A queue that writes down what it is asked."""

    def __init__(self) -> None:
        self._queue = make_queue("quickheap")
        self.calls: list[InsertStep | ExtractStep] = []
        self.inserted = self.extracted = self.longest = 0

    def __len__(self) -> int:
        return len(self._queue)

    def insert_many(self, keys: Keys, ids: Ids) -> None:
        """Take the pairs in."""
        self._queue.insert_many(keys, ids)
        self.calls.append(InsertStep(keys, ids))
        self.inserted += len(keys)
        self.longest = max(self.longest, len(self._queue))

    def extract_top(self, count: int) -> tuple[Keys, Ids]:
        """Give out the best pairs."""
        found = self._queue.extract_top(count)
        self.calls.append(ExtractStep(count))
        self.extracted += len(found[0])
        return found

    def state(self) -> bytes:
        """Nobody asks."""
        raise NotImplementedError

    def restore(self, state: bytes) -> None:
        """Nobody asks."""
        raise NotImplementedError


def trace(graph: WebGraph, seeds: PageIds, pages_each: int, most: int, order: str = "opic") -> Trace:
    """Crawl so many pages with one gatherer."""
    listener = _Listener()
    owners: NDArray[np.int16] = np.zeros(graph.pages, np.int16)
    rules = SuperstepRules(owners, 1, order=order, pages_each=pages_each, make_queue=lambda: listener)
    for _ in Crawl(graph, rules, seeds).steps(most):
        pass
    return Trace(tuple(listener.calls), listener.inserted, listener.extracted, listener.longest)


def replay(trace: Trace, queue: Queue) -> None:
    """Ask a queue the same."""
    for call in trace.calls:
        if isinstance(call, InsertStep):
            queue.insert_many(call.keys, call.ids)
        else:
            queue.extract_top(call.count)
