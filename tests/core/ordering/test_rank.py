"""Ranks: larger importances go first, arrays agree with single values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.ordering import BEHIND, rank
from gcs.sim.engine.supersteps import ranks

importances = st.floats(allow_nan=False, allow_infinity=True)


@given(importances, importances)
def test_rank_falls_as_importance_grows(one: float, other: float) -> None:
    assert 0 <= rank(one) < BEHIND
    if one >= other:
        assert rank(one) <= rank(other)


@given(st.integers(0, (1 << 23) - 1))
def test_rank_tells_counts_apart(count: int) -> None:
    assert rank(count + 1) < rank(count)


@given(st.lists(importances))
def test_ranks_is_rank_of_each(values: list[float]) -> None:
    assert ranks(np.array(values, np.float64)).tolist() == [rank(value) for value in values]


def test_rank_of_the_two_zeros_is_one() -> None:
    assert rank(-0.0) == rank(0.0)
