"""The primitives: numpy's form, the loops, and the loops without numba give the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.queues import kernels
from gcs.core.queues.entries import MAX_ID, pack, unpack
from gcs.core.queues.primitives import Vectors
from gcs.errors import UsageError
from gcs.sim.engine import counting_loops
from gcs.sim.engine.counting_loops import Loops

PAIRS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 5)), max_size=50)
FORMS = ("numpy", "compiled", "interpreted")


def entries(pairs):
    return pack(np.array([key for key, _ in pairs], float), np.array([each for _, each in pairs], np.uint64))


def ordered(packed):
    """Best first, as Python sorts."""
    return sorted(zip(*(each.tolist() for each in unpack(packed))), key=lambda pair: (-pair[0], pair[1]))


def listed(packed):
    return list(zip(*(each.tolist() for each in unpack(packed))))


@pytest.fixture(params=FORMS, scope="module")
def do(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "interpreted":
            patch.setattr(counting_loops, "compiled", lambda kernel: kernel)
        elif request.param != "numpy" and not kernels.can_compile():
            pytest.skip("numba is not installed")
        yield Vectors() if request.param == "numpy" else Loops()


@given(pairs=st.lists(st.tuples(st.floats(allow_nan=False), st.integers(0, MAX_ID - 1)), max_size=20))
def test_pack_and_unpack(pairs):
    keys, ids = np.array([key for key, _ in pairs], float), np.array([each for _, each in pairs], np.uint64)
    assert list(zip(*(each.tolist() for each in unpack(pack(keys, ids))))) == pairs


@pytest.mark.parametrize(("key", "each"), [(float("nan"), 1), (1.0, MAX_ID)])
def test_pack_refuses_what_has_no_order(key, each):
    with pytest.raises(UsageError):
        pack(np.array([0.0, key]), np.array([each, each], np.uint64))


@given(pairs=PAIRS)
def test_sort(do, pairs):
    assert listed(do.sort(entries(pairs))) == ordered(entries(pairs))


@given(one=PAIRS, two=PAIRS)
def test_merge(do, one, two):
    merged = do.merge(Vectors().sort(entries(one)), Vectors().sort(entries(two)))
    assert listed(merged) == ordered(entries(one + two))


@given(pairs=PAIRS, pivot=st.tuples(st.integers(-3, 3), st.integers(0, 5)))
def test_split(do, pairs, pivot):
    before = entries(pairs)
    better, others = do.split(before, entries([pivot])[0])
    key, tail = pivot
    expected = [pair for pair in ordered(before) if (-pair[0], pair[1]) < (-key, tail)]
    assert ordered(better) + ordered(others) == ordered(before)
    assert ordered(better) == expected
    assert listed(before) == listed(entries(pairs))


@given(pairs=PAIRS.filter(lambda pairs: len(pairs) > 1), data=st.data())
def test_select(do, pairs, data):
    count = data.draw(st.integers(1, len(pairs) - 1))
    chosen = do.select(entries(pairs), count)
    assert ordered(chosen[:count]) == ordered(entries(pairs))[:count]
    assert ordered(chosen) == ordered(entries(pairs))


@given(pivots=PAIRS, pairs=PAIRS)
def test_classify(do, pivots, pairs):
    bounds = Vectors().sort(entries(pivots))
    chunks = do.classify(bounds, entries(pairs)).tolist()
    keys = [(-key, tail) for key, tail in listed(bounds)]
    assert chunks == [sum(bound <= (-key, tail) for bound in keys) for key, tail in pairs]


def test_counts_are_those_of_the_loops():
    """Merge sort of four: two comparisons for the pairs, three to merge them; a split compares each with the pivot."""
    do = Loops()
    counts = do.counts
    do.sort(entries([(1, 0), (3, 0), (2, 0), (4, 0)]))
    assert counts.comparisons == 2 + 3
    counts.comparisons = 0
    do.split(entries([(1, 0), (2, 0), (3, 0)]), entries([(2, 0)])[0])
    assert counts.comparisons == 3
