"""Every queue against a sorted list: the same calls give the same pairs in the same order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.queues import chunks, queue_maker, quickheap, tournament_rows
from gcs.core.queues.entries import MAX_ID
from gcs.core.queues.kernels import can_compile
from gcs.core.queues.primitives import Vectors
from gcs.core.queues.queue_forest import make_forest
from gcs.core.queues.queue_maker import QUEUES, make_queue
from gcs.errors import UsageError
from gcs.sim.engine.counting_loops import Loops

#: few keys and ids, so that ties and twins are common; and the edges of what can be ordered
KEYS = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([0.0, -0.0, float("inf"), float("-inf"), 5e-324]))
IDS = st.one_of(st.integers(0, 9), st.sampled_from([MAX_ID - 1, 1 << 52, 1 << 53]))
BATCH = st.lists(st.tuples(KEYS, IDS), max_size=60)
CALLS = st.lists(st.one_of(BATCH, st.integers(0, 90), st.just("restore")), max_size=25)
#: the trees in memory: of numpy, in rows, and in rows as these are without numba
TREES = ("numpy", "rows", "interpreted")


def insert(queue, pairs):
    queue.insert_many(np.array([key for key, _ in pairs], float), np.array([id_ for _, id_ in pairs], np.uint64))


def extract(queue, count):
    keys, ids = queue.extract_top(count)
    assert keys.dtype == np.float64 and ids.dtype == np.uint64
    return list(zip(keys.tolist(), ids.tolist()))


def agrees_with_a_list(make, calls):
    queue, model = make(), []
    for call in calls:
        if call == "restore":
            queue, old = make(), queue
            queue.restore(old.state())
        elif isinstance(call, int):
            best, model = model[:call], model[call:]
            assert extract(queue, call) == best
        else:
            insert(queue, call)
            model = sorted(model + call, key=lambda pair: (-pair[0], pair[1]))
        assert len(queue) == len(model)


@pytest.fixture(params=TREES, scope="module")
def tree(request):
    """Tournament trees are of one kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue_maker, "can_compile", lambda: request.param != "numpy")
        patch.setattr(tournament_rows, "MOST_PAIRS", 50)
        if request.param == "interpreted":
            patch.setattr(tournament_rows, "compiled", lambda kernel: kernel)
        elif request.param == "rows" and not can_compile():
            pytest.skip("numba is not installed")
        yield request.param


@pytest.fixture(autouse=True, scope="module")
def small_strides():
    """Chunks are split and strides end within what a test inserts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quickheap, "SMALL", 3)
        patch.setattr(chunks, "STRIDE", 5)
        yield


@pytest.mark.parametrize("do", [None, Loops()], ids=["numpy", "loops"])
@pytest.mark.parametrize("name", QUEUES)
@settings(deadline=None)
@given(calls=CALLS, node_keys=st.integers(1, 20))
def test_queue_gives_what_a_sorted_list_gives(name, do, calls, node_keys):
    agrees_with_a_list(lambda: make_queue(name, do, node_keys), calls)


@pytest.mark.parametrize("name", QUEUES)
def test_queue_refuses_what_has_no_order(name):
    queue = make_queue(name)
    with pytest.raises(UsageError, match="NaN"):
        insert(queue, [(float("nan"), 1)])
    with pytest.raises(UsageError, match="too large"):
        insert(queue, [(1.0, MAX_ID)])
    with pytest.raises(UsageError, match="one length"):
        queue.insert_many(np.zeros(2), np.zeros(3, np.uint64))
    assert len(queue) == 0


def test_unknown_queue_is_named():
    with pytest.raises(UsageError, match="no queue is called 'stack'"):
        make_queue("stack")


def test_heap_counts_its_comparisons():
    do = Vectors()
    counts, heap = do.counts, make_queue("heap", do)
    insert(heap, [(3.0, 1), (2.0, 2), (1.0, 3)])  # each is compared with its parent, and stays
    assert counts.comparisons == 2
    extract(heap, 1)  # the last sinks from the root: one child is left, and is better
    assert counts.comparisons == 3


@pytest.mark.parametrize("name", QUEUES)
def test_queue_of_equal_pairs_and_of_sorted_ones(name):
    """What quicksort is bad at: all equal, in order, against it."""
    for keys in (np.zeros(3000), np.arange(3000.0), -np.arange(3000.0)):
        queue = make_queue(name, node_keys=100)
        queue.insert_many(keys, np.zeros(3000, np.uint64))
        assert np.concatenate([queue.extract_top(70)[0] for _ in range(43)]).tolist() == sorted(keys, reverse=True)
        assert len(queue) == 0


@pytest.mark.parametrize("name", ["quickheap", "tournament"])
def test_queue_compares_less_than_a_heap(name):
    """Figure 8: in batches of a thousand, insert and extract cost fewer comparisons than the textbook's heap."""
    random = np.random.default_rng(1)
    counts = {}
    for each in (name, "heap"):
        do = Loops()
        counts[each], queue = do.counts, make_queue(each, do, node_keys=1000)
        queue.insert_many(random.random(50_000), np.arange(50_000, dtype=np.uint64))
        queue.extract_top(1000)
        counts[each].comparisons = 0
        for _ in range(40):
            keys, ids = queue.extract_top(1000)
            queue.insert_many(keys - random.random(1000), ids)
    assert counts[name].comparisons < counts["heap"].comparisons


@settings(deadline=None)
@given(calls=CALLS, node_keys=st.integers(1, 20))
def test_tree_gives_what_a_sorted_list_gives(tree, calls, node_keys):
    agrees_with_a_list(lambda: make_queue("tournament", node_keys=node_keys), calls)


@settings(deadline=None, max_examples=40)
@given(calls=CALLS, threads=st.integers(2, 4))
def test_forest_gives_what_a_sorted_list_gives(tree, calls, threads):
    agrees_with_a_list(lambda: make_forest(threads, node_keys=7), calls)


def test_tree_of_random_keys_gives_them_in_order(tree):
    """Of either sign and every size, as they come: some before all that wait, some behind."""
    random, size = np.random.default_rng(1), 300 if tree == "interpreted" else 5000
    queue, waiting = make_queue("tournament", node_keys=64), np.empty(0)
    for step in range(12):
        keys = random.standard_normal(size) * 10.0 ** random.integers(-9, 9, size)
        queue.insert_many(keys, np.arange(size * step, size * (step + 1), dtype=np.uint64))
        waiting = np.sort(np.concatenate((waiting, keys)))[::-1]
        assert np.array_equal(queue.extract_top(size // 2)[0], waiting[: size // 2])
        waiting = waiting[size // 2 :]
    assert np.array_equal(queue.extract_top(len(waiting))[0], waiting)


def test_tree_takes_nothing_of_what_it_refuses(tree):
    queue = make_queue("tournament", node_keys=4)
    with pytest.raises(UsageError, match="NaN"):
        insert(queue, [(1.0, each) for each in range(200)] + [(float("nan"), 1)])
    with pytest.raises(UsageError, match="too large"):
        insert(queue, [(1.0, 1), (1.0, MAX_ID)])
    assert len(queue) == 0 and extract(queue, 9) == []


def test_forest_spreads_ids_evenly():
    """Table 1: what the busiest tree does is hardly more than the mean."""
    forest = make_forest(8)
    forest.insert_many(np.arange(80_000.0), np.arange(80_000, dtype=np.uint64))
    sizes = [len(tree) for tree in forest.trees]
    assert sum(sizes) / 8 / max(sizes) > 0.93
