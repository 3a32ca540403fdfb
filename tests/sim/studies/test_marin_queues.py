"""What queues cost, against textbook queues that are counted by hand."""

import heapq

import numpy as np
import pytest

from gcs.sim.studies import marin_queues
from gcs.sim.studies.study import Wish
from gcs.sim.trace import Insert, trace


class Key(float):
    """A key that counts its comparisons."""

    compared = 0

    def __lt__(self, other):
        Key.compared += 1
        return float.__lt__(self, other)


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


def test_heap_is_counted_as_a_heap_is(web, silent, small):
    """Within a third of what Python's own heap does, which sinks a key to the bottom and lets it rise again."""
    row = next(row for row in marin_queues.run(web, Wish(), silent) if (row.queue, row.top) == ("heap", 16))
    calls = trace(web, marin_queues.home_pages(web), 16, 150)
    heap, Key.compared = [], 0
    for call in calls.calls:
        if isinstance(call, Insert):
            for key in call.keys.tolist():
                heapq.heappush(heap, Key(-key))
        else:
            for _ in range(min(call.count, len(heap))):
                heapq.heappop(heap)
    assert row.comparisons == pytest.approx(Key.compared / calls.inserted, rel=0.5)


def test_rows_cover_all_figures(web, silent, small):
    rows = marin_queues.run(web, Wish(), silent)
    assert [(row.queue, row.top) for row in rows if row.figure == 8] == [
        (name, top) for top in (4, 16) for name in ("heap", "quickheap", "tournament")
    ]
    for row in rows:
        if row.figure == 9:
            assert row.blocks >= 0
    trees = [row for row in rows if row.figure == 10]
    assert [row.trees for row in trees] == [1, 2, 4, 8] and trees[0].speedup == 1.0
    assert all(row.speedup == pytest.approx(row.trees, rel=0.25) for row in trees)
    assert len(marin_queues.findings(rows)) == 4 and len(marin_queues.charts(rows)) == 3
