"""What queues cost, against slow queues from textbook and paper whose keys count each time that they are compared."""

import heapq
from bisect import bisect_left, bisect_right
from math import ceil, log2

import numpy as np
import pytest

import gcs.core.queues.quickheap as quickheaps
from gcs.core.queues.blocks import MemoryStorage
from gcs.sim.studies import marin_queues
from gcs.sim.studies.marin_queues import trace
from gcs.sim.studies.study import StudyRequest


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

    def insert(self, keys):
        for key in keys:
            self.push(key)

    def top(self, count):
        return [self.pop() for _ in range(min(count, len(self.keys)))]

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


def merge_sort(keys):
    """Runs of one, two, four … keys are merged; from eight on, two that stand in order cost one comparison."""
    width = 1
    while width < len(keys):
        merged = []
        for start in range(0, len(keys), 2 * width):
            one, two = keys[start : start + width], keys[start + width : start + 2 * width]
            in_order = width >= 8 and two and not two[0] < one[-1]
            while one and two and not in_order:
                merged.append((two if two[0] < one[0] else one).pop(0))
            merged += one + two
        keys, width = merged, 2 * width
    return keys


def merge(one, two):
    """Two sorted runs: where the second one ends in the first is bisected; up to there its keys look for their places
    by bisection if they are few, and one after the other (but for the first) if not.
    """
    if not one or not two:
        return one + two
    inner = bisect_left(two, one[-1])
    few = inner * max(ceil(log2(len(one))), 1) < inner + len(one)
    merged, at = [], 0
    for place, key in enumerate(two[:inner]):
        to = bisect_right(one, key, at) if few or not place else at
        while not few and place and to < len(one) and not key < one[to]:
            to += 1
        merged, at = [*merged, *one[at:to], key], to
    return merged + one[at:] + two[inner:]


def select(keys, count):
    """Hoare's FIND, with the median of three for a pivot: the best `count` are in front."""
    keys, low, high = list(keys), 0, len(keys) - 1
    while low < high:
        x, y, z = keys[low], keys[(low + high) // 2], keys[high]
        x, y = (y, x) if y < x else (x, y)
        y, z = (z, y) if z < y else (y, z)
        pivot = x if y < x else y
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                keys[i], keys[j], i, j = keys[j], keys[i], i + 1, j - 1
        if j < count - 1 < i:
            break
        low, high = (low, j) if count - 1 <= j else (i, high)
    return keys


class QuickHeap:
    """Chunks as lists, the best first, and the pivots between them. The dice for pivots are those of the real one."""

    def __init__(self, small):
        self.chunks, self.pivots, self.small = [[]], [], small
        self.chance = np.random.default_rng(0)

    def insert(self, keys):
        groups = [[] for _ in self.chunks]
        for key in keys:
            groups[bisect_right(self.pivots, key)].append(key)
        for at, group in enumerate(groups):
            # room for those that go before it is made by moving as many keys from the front of a chunk to its end
            moved = sum(map(len, groups[:at]))
            self.chunks[at] = self.chunks[at][moved:] + self.chunks[at][:moved] + group

    def top(self, count):
        best, need = [], min(count, sum(map(len, self.chunks)))
        while need:
            size = len(self.chunks[0])
            if size <= need:
                best, need = best + merge_sort(self.chunks[0]), need - size
                self.chunks, self.pivots = self.chunks[1:] or [[]], self.pivots[1:]
            elif size <= self.small or not self.split():
                chosen = select(self.chunks[0], need)
                best, self.chunks[0], need = best + merge_sort(chosen[:need]), chosen[need:], 0
        return best

    def split(self):
        """At the median of nine times five keys; where that is the best of all, behind it."""
        first = self.chunks[0]
        places = [int(self.chance.integers(max(len(first) - 5, 0) + 1)) for _ in range(9)]
        ordered = merge_sort([key for place in places for key in first[place : place + 5]])
        key, number = ordered[len(ordered) // 2].pair
        for pivot in (Key(-key, number), Key(-key, number + 0.5)):
            compared = [(each, each < pivot) for each in self.chunks[0]]
            better = [each for each, is_better in compared if is_better]
            others = [each for each, is_better in compared if not is_better][::-1]
            self.chunks[0] = better + others
            if better and others:
                self.chunks[:1], self.pivots = [better, others], [pivot, *self.pivots]
                return True
        return False


class Tree:
    """Marin 3.1: place → node, a sorted list; 1 is the root, the sons of p are 2p and 2p + 1. The winner of a match
    has the better half of both and stands at its father's place too.
    """

    def __init__(self, size):
        self.size, self.at, self.front, self.pending = size, {}, [], []

    def insert(self, keys):
        keys = merge_sort(keys)
        while len(keys) >= self.size:
            self.sink(keys[: self.size])
            keys = keys[self.size :]
        self.pending = merge(self.pending, keys)
        if len(self.pending) >= self.size:
            self.sink(self.pending[: self.size])
            self.pending = self.pending[self.size :]

    def top(self, count):
        while len(self.front) < count and self.at:
            self.front = self.front + self.climb()
        head = self.front[:count]
        if head and self.pending:
            # the one figure that is not counted: what a bisection takes at most
            Key.compared += len(self.pending).bit_length()
            called = [key for key in self.pending if key.pair < head[-1].pair]
            self.front, self.pending = merge(head, called) + self.front[count:], self.pending[len(called) :]
        if not self.at and len(self.front) < count:
            self.front, self.pending = self.front + self.pending, []
        best, self.front = self.front[:count], self.front[count:]
        return best

    def sink(self, node):
        """A new leaf: from the root down, each winner keeps the best of its own and the new keys."""
        self.front, node = self.match(self.front, node)
        first = (len(self.at) + 1) // 2  # the first leaf becomes a match
        leaf = 2 * first + 1 if first else 1
        if first:
            self.at[2 * first] = self.at[first]
        above = {id(self.at[leaf >> up]): self.at[leaf >> up] for up in range(leaf.bit_length() - 1, 0, -1)}
        self.at[leaf] = node = list(node)
        for winner in above.values():
            winner[:], node[:] = self.match(winner, node)

    def climb(self):
        """The root's node leaves; the loser of the last match takes its leaf and plays its way up."""
        best, last = self.at[1], len(self.at)
        place = max(place for place, node in self.at.items() if node is best)
        if last == 1:
            return self.at.pop(1)
        one, two = self.at.pop(last), self.at.pop(last - 1)
        if best is one or best is two:
            place = last // 2
            node = two if one is best else one
        else:
            node = two if self.at[last // 2] is one else one
        self.at[place] = node
        while place > 1:
            rival = self.at[place ^ 1]
            node, rival = (rival, node) if rival[-1] < node[-1] else (node, rival)
            node[:], rival[:] = self.match(node, rival)
            place //= 2
            self.at[place] = node
        return best

    @staticmethod
    def match(winner, loser):
        if not winner or not loser or not loser[0] < winner[-1]:
            return winner, loser
        both = merge(winner, loser)
        return both[: len(winner)], both[len(winner) :]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(marin_queues, "TOPS", (4, 16))
    monkeypatch.setattr(marin_queues, "MOST", 150)
    monkeypatch.setattr(marin_queues, "BLOCK_KEYS", 8)
    monkeypatch.setattr(quickheaps, "SMALL", 8)  # so that small chunks are split, too
    monkeypatch.setattr(marin_queues, "TREES_KEYS", 20_000)
    monkeypatch.setattr(marin_queues, "TREES_TOP", 800)


def test_trace_is_what_the_slow_team_asks(web, slow_crawl):
    """The pages that come out fresh are those that it fetches, superstep by superstep."""
    calls = trace(web, np.array([3, 50, 120]), 5, 100)
    assert calls.inserted == sum(len(call[0]) for call in calls.calls if isinstance(call, tuple))
    waiting, out = [], []
    for call in calls.calls:
        if isinstance(call, tuple):
            for key, number in zip(*(column.tolist() for column in call)):
                heapq.heappush(waiting, (-key, number))
        else:
            out.append([heapq.heappop(waiting) for _ in range(min(call, len(waiting)))])
    assert calls.extracted == sum(map(len, out))
    fetched = list(dict.fromkeys(number for batch in out for _, number in batch))
    assert len(fetched) >= 100 and len(set(fetched)) == len(fetched)


def asked(calls, insert, top):
    """The comparisons of a slow queue that is asked the same, per pair that went in, and what came out."""
    Key.compared, out = 0, []
    for call in calls.calls:
        if isinstance(call, tuple):
            insert([Key(key, number) for key, number in zip(*(column.tolist() for column in call))])
        else:
            out += top(call)
    return Key.compared / calls.inserted, [key.pair[1] for key in out]


@pytest.mark.parametrize("top", [4, 16])
def test_comparisons_are_those_of_slow_queues(web, silent, small, top):
    """To the last one: a slow key counts each time that it is compared, the real ones add up what a kernel did."""
    at = {row.queue: row for row in marin_queues.run(web, StudyRequest(), silent) if (row.figure, row.top) == (8, top)}
    calls = trace(web, marin_queues.home_pages(web), top, 150)
    heap, quickheap, tree = Heap(), QuickHeap(quickheaps.SMALL), Tree(top)
    by_heap, from_heap = asked(calls, heap.insert, heap.top)
    by_quickheap, from_quickheap = asked(calls, quickheap.insert, quickheap.top)
    by_tree, from_tree = asked(calls, tree.insert, tree.top)
    assert from_heap == from_quickheap == from_tree
    assert at["heap"].comparisons == pytest.approx(by_heap, rel=1e-12)
    assert at["quickheap"].comparisons == pytest.approx(by_quickheap, rel=1e-12)
    assert at["tournament"].comparisons == pytest.approx(by_tree, rel=1e-12)
    assert len(quickheap.chunks) > 1  # it was split


@pytest.mark.parametrize("trees", [1, 2, 4])
def test_trees_share_the_work_as_slow_ones_do(trees, monkeypatch):
    """Table 1: mean over most of the comparisons of T slow trees that are asked the same, call by call."""
    monkeypatch.setattr(marin_queues, "TREES_KEYS", 800)
    monkeypatch.setattr(marin_queues, "TREES_TOP", 40)
    monkeypatch.setattr(marin_queues, "TREES_ROUNDS", 6)
    row, chance = marin_queues._shared(trees), np.random.default_rng(1)
    slow = [Tree(40 // trees) for _ in range(trees)]
    for tree in slow:
        tree.insert([Key(key, number) for number, key in enumerate(chance.random(800 // trees).tolist())])
    mean, most = {"extract": 0.0, "insert": 0.0}, {"extract": 0, "insert": 0}
    taken = [[] for _ in slow]
    for _ in range(6):
        for kind in mean:
            work = []
            for at, tree in enumerate(slow):
                Key.compared = 0
                if kind == "extract":
                    taken[at] = tree.top(40 // trees)
                else:
                    less = chance.random(len(taken[at])).tolist()
                    tree.insert([Key(-key.pair[0] - by, key.pair[1]) for key, by in zip(taken[at], less)])
                work.append(Key.compared)
            mean[kind] += sum(work) / trees
            most[kind] += max(work)
    assert row.extract_efficiency == pytest.approx(mean["extract"] / most["extract"])
    assert row.insert_efficiency == pytest.approx(mean["insert"] / most["insert"])
    assert row.speedup == pytest.approx(trees * sum(mean.values()) / sum(most.values()))


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
    rows = [row for row in marin_queues.run(web, StudyRequest(), silent) if row.figure == 9]
    inserted = {top: trace(web, marin_queues.home_pages(web), top, 150).inserted for top in (4, 16)}
    assert [row.blocks for row in rows] == [pytest.approx(1000 * n / inserted[row.top]) for n, row in zip(seen, rows)]
    assert sum(seen) > 0


def test_rows_cover_all_figures(web, silent, small):
    rows = marin_queues.run(web, StudyRequest(), silent)
    assert [(row.queue, row.top) for row in rows if row.figure == 8] == [
        (name, top) for top in (4, 16) for name in ("heap", "quickheap", "tournament")
    ]
    trees = [row for row in rows if row.figure == 10]
    assert [row.trees for row in trees] == [1, 2, 4, 8] and trees[0].speedup == 1.0
    assert all(row.speedup == pytest.approx(row.trees, rel=0.25) for row in trees)
    assert len(marin_queues.findings(rows)) == 4 and len(marin_queues.charts(rows)) == 3
