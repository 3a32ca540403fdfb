"""The outlook: bounds in order, and times that follow from them."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.report.estimate import Eta, eta

FRACTIONS = st.tuples(*[st.floats(0, 1)] * 3)


@given(
    st.lists(st.tuples(st.integers(0, 10**9), FRACTIONS), max_size=5),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.floats(0, 1e6),
)
def test_outlook_bounds_are_in_order(parts, done, queued, rate):
    found = eta(parts, done, queued, rate)
    assert 0 <= found.low <= found.fraction <= found.high <= 1
    times = (found.soonest_s, found.eta_s, found.latest_s)
    known = [seconds for seconds in times if seconds is not None]
    assert known == sorted(known) and all(seconds >= 0 for seconds in known)


def test_outlook_of_a_crawl_that_is_halfway():
    assert eta([(100, (0.5, 0.25, 0.8))], 100, 60, 10.0) == Eta(0.5, 0.25, 0.8, 10.0, 2.5, 30.0)


def test_outlook_weighs_gatherers_by_what_they_know():
    assert eta([(900, (0.9, 0.9, 0.9)), (100, (0.4, 0.4, 0.4))], 850, 150, 0.0).fraction == 0.85


def test_outlook_says_nothing_where_nothing_can_be_said():
    assert eta([], 0, 0, 5.0) == Eta()
    assert eta([(10, (0.5, 0.2, 0.9))], 5, 5, 0.0).eta_s is None
    assert eta([(10, (0.5, 0.0, 0.9))], 5, 5, 1.0).latest_s is None


def test_outlook_is_done_when_nothing_is_queued():
    assert eta([(10, (0.7, 0.2, 0.9))], 10, 0, 3.0) == Eta(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
