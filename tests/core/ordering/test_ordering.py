"""The orders: what a link is worth, and who goes first."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.ordering import BEHIND, BFS, ORDERS, Found, Ledger, Ordering, Scored, listed, rank, redirected
from gcs.errors import OrderError
from gcs.sim.engine.supersteps import ranks

OPIC, BACKLINK = ORDERS["opic"], ORDERS["backlink"]


def page(depth: int = 0, url: str = "http://a.example/") -> Found:
    return Found(url, "", depth)


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_bfs_goes_by_depth(one: int, other: int) -> None:
    assert BFS.rank(page(one), 9.0) < BEHIND
    if one < other < BEHIND:
        assert BFS.rank(page(one), 0.0) < BFS.rank(page(other), 9.0)


@pytest.mark.parametrize("order", [OPIC, BACKLINK])
def test_weighing_orders_go_by_worth_alone(order: Ordering) -> None:
    assert order.weighs
    assert order.rank(page(9), 2.0) < order.rank(page(0), 1.0)


@given(st.floats(0.0, 1e6), st.integers(1, 500))
def test_opic_gives_what_it_has(cash: float, links: int) -> None:
    assert OPIC.gift(cash, links) * links == pytest.approx(cash)
    assert redirected(OPIC, cash) == cash


def test_back_links_count_pages_and_no_sitemaps() -> None:
    assert BACKLINK.gift(7.0, 3) == 1.0
    assert listed(BACKLINK, 7.0, 3) == 0.0
    assert listed(OPIC, 6.0, 3) == 2.0
    assert redirected(BACKLINK, 7.0) == 7.0
    assert redirected(BFS, 7.0) == 0.0


def test_scored_asks_the_function_with_what_is_known() -> None:
    order = Scored("mine", lambda found: found.backlinks - 10 * found.depth)
    assert order.rank(page(1), 30.0) < order.rank(page(0), 19.0)
    assert order.rank(page(3), 0.0) < BEHIND, "a score may be negative"


@pytest.mark.parametrize("answer", [math.nan, "much", None])
def test_scored_says_which_function_failed_and_where(answer: object) -> None:
    with pytest.raises(OrderError, match=r"mine.*http://a\.example/"):
        Scored("mine", lambda _: answer).rank(page(), 0.0)


@given(st.lists(st.floats(0, 100), min_size=5, max_size=5))
def test_ledger_survives_its_bytes_and_adds_up(accounts: list[float]) -> None:
    ledger = Ledger(*accounts)
    assert Ledger.decode(ledger.encode()) == ledger
    assert (ledger + ledger).waiting() == pytest.approx(2 * ledger.waiting())
    assert Ledger.decode(None) == Ledger()


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
