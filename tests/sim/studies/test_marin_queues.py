"""What queues cost, against textbook queues that are counted by hand."""

import heapq

import numpy as np
import pytest

from gcs.core.queues.blocks import MemoryStorage
from gcs.sim.studies import marin_queues
from gcs.sim.studies.study import Wish
from gcs.sim.trace import Insert, trace


class Key:
    """A pair that counts how often it is compared."""

    compared = 0

    def __init__(self, key, number):
        self.pair = (-key, number)

    def __lt__(self, other):
        Key.compared += 1
        return self.pair < other.pair


class Heap:
    """From the textbook: a new key climbs; the last one takes the place of the root, and sinks."""

    def __init__(self):
        self.keys = []

    def push(self, key):
        at = len(self.keys)
        self.keys.append(key)
        while at and self.keys[at] < self.keys[(at - 1) // 2]:
            parent = (at - 1) // 2
            self.keys[at], self.keys[parent], at = self.keys[parent], self.keys[at], parent

    def pop(self):
        best, last, at = self.keys[0], self.keys.pop(), 0
        while self.keys:
            self.keys[at] = last
            children = [child for child in (2 * at + 1, 2 * at + 2) if child < len(self.keys)]
            if not children:
                break
            child = (
                children[-1] if len(children) == 2 and self.keys[children[1]] < self.keys[children[0]] else children[0]
            )
            if not self.keys[child] < last:
                break
            self.keys[at], at = self.keys[child], child
        return best


class Pool:
    """No order at all: the best are selected around pivots, and sorted."""

    def __init__(self):
        self.keys = []

    def top(self, count):
        best = sorted(self.select(self.keys, count))
        self.keys = [key for key in self.keys if key not in best]
        return best

    def select(self, keys, count):
        if count >= len(keys):
            return keys
        pivot = keys[len(keys) // 2]
        better = [key for key in keys if key is not pivot and key < pivot]
        if count <= len(better):
            return self.select(better, count)
        others = [key for key in keys if key is not pivot and key not in better]
        return [*better, pivot, *self.select(others, count - len(better) - 1)]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(marin_queues, "TOPS", (4, 16))
    monkeypatch.setattr(marin_queues, "MOST", 150)
    monkeypatch.setattr(marin_queues, "BLOCK_KEYS", 8)
    monkeypatch.setattr(marin_queues, "TREES_KEYS", 20_000)
    monkeypatch.setattr(marin_queues, "TREES_TOP", 800)


def test_trace_is_what_the_slow_team_asks(web, slow_crawl):
    """The pages that come out fresh are those that it fetches, superstep by superstep."""
    calls = trace(web, np.array([3, 50, 120]), 5, 100)
    assert calls.inserted == sum(len(call.keys) for call in calls.calls if isinstance(call, Insert))
    waiting, out = [], []
    for call in calls.calls:
        if isinstance(call, Insert):
            for key, number in zip(call.keys.tolist(), call.ids.tolist()):
                heapq.heappush(waiting, (-key, number))
        else:
            out.append([heapq.heappop(waiting) for _ in range(min(call.count, len(waiting)))])
    assert calls.extracted == sum(map(len, out))
    fetched = list(dict.fromkeys(number for batch in out for _, number in batch))
    assert len(fetched) >= 100 and len(set(fetched)) == len(fetched)


def asked(calls, push, top):
    """The comparisons of a slow queue that is asked the same, per pair that went in, and what came out."""
    Key.compared, out = 0, []
    for call in calls.calls:
        if isinstance(call, Insert):
            for key, number in zip(call.keys.tolist(), call.ids.tolist()):
                push(Key(key, number))
        else:
            out += top(call.count)
    return Key.compared / calls.inserted, [key.pair[1] for key in out]


@pytest.mark.parametrize("top", [4, 16])
def test_comparisons_are_those_of_slow_queues(web, silent, small, top):
    """The heap's exactly. A small quickheap is one chunk: selected from, and sorted, in a way of its own."""
    at = {row.queue: row for row in marin_queues.run(web, Wish(), silent) if (row.figure, row.top) == (8, top)}
    calls = trace(web, marin_queues.home_pages(web), top, 150)
    heap, pool = Heap(), Pool()
    by_heap, from_heap = asked(calls, heap.push, lambda n: [heap.pop() for _ in range(min(n, len(heap.keys)))])
    by_pool, from_pool = asked(calls, lambda key: pool.keys.append(key), pool.top)
    assert from_heap == from_pool
    assert at["heap"].comparisons == pytest.approx(by_heap)
    assert at["quickheap"].comparisons == pytest.approx(by_pool, rel=0.3)
    assert at["tournament"].comparisons == pytest.approx(by_heap, rel=0.3)  # both go up and down a binary tree


def test_blocks_are_those_that_the_storage_sees(web, silent, small, monkeypatch):
    """Counted again where they are read and written."""
    seen = []

    class Storage(MemoryStorage):
        def __init__(self):
            super().__init__()
            seen.append(0)

        def read(self, *words):
            seen[-1] += 1
            return super().read(*words)

        def write(self, *words):
            seen[-1] += 1
            return super().write(*words)

    monkeypatch.setattr(marin_queues, "MemoryStorage", Storage)
    rows = [row for row in marin_queues.run(web, Wish(), silent) if row.figure == 9]
    inserted = {top: trace(web, marin_queues.home_pages(web), top, 150).inserted for top in (4, 16)}
    assert [row.blocks for row in rows] == [pytest.approx(1000 * n / inserted[row.top]) for n, row in zip(seen, rows)]
    assert sum(seen) > 0


def test_rows_cover_all_figures(web, silent, small):
    rows = marin_queues.run(web, Wish(), silent)
    assert [(row.queue, row.top) for row in rows if row.figure == 8] == [
        (name, top) for top in (4, 16) for name in ("heap", "quickheap", "tournament")
    ]
    trees = [row for row in rows if row.figure == 10]
    assert [row.trees for row in trees] == [1, 2, 4, 8] and trees[0].speedup == 1.0
    assert all(row.speedup == pytest.approx(row.trees, rel=0.25) for row in trees)
    assert len(marin_queues.findings(rows)) == 4 and len(marin_queues.charts(rows)) == 3
