"""Leases as holders see them."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.messages.election import TRIPS, ElectionStep, RoundTrips, Tenure, decide
from gcs.core.messages.tuples import LeaderLease

MINE, OTHER = LeaderLease("g1", 3), LeaderLease("g2", 4)


def test_tenure_ends_for_its_holder_before_it_ends_in_the_space():
    tenure = Tenure(since=100.0, lease_s=10.0)
    assert tenure.holds(100.0)
    assert tenure.holds(107.9)
    assert not tenure.holds(108.0)


def test_tenure_is_due_early_enough_for_three_tries():
    tenure = Tenure(since=0.0, lease_s=9.0)
    assert not tenure.due(2.9)
    assert tenure.due(3.0)
    assert tenure.holds(3.0 + 3.0)


@given(st.floats(0, 1e6), st.floats(0.1, 1e3), st.floats(0, 10), st.floats(0, 1e4))
def test_tenure_never_outlives_the_lease(since, lease_s, delay_s, later_s):
    """However long the renewal took to reach the space, the holder stops first."""
    tenure = Tenure(since, lease_s)
    ends_in_space = since + delay_s + lease_s
    if tenure.holds(since + later_s):
        assert since + later_s < ends_in_space


def test_decide_takes_each_step():
    fresh = Tenure(since=0.0, lease_s=9.0)
    assert decide(None, None, None, 5.0) is ElectionStep.STAND
    assert decide(None, None, OTHER, 5.0) is ElectionStep.FOLLOW
    assert decide(MINE, fresh, MINE, 1.0) is ElectionStep.LEAD
    assert decide(MINE, fresh, MINE, 4.0) is ElectionStep.RENEW
    assert decide(MINE, fresh, MINE, 99.0) is ElectionStep.RENEW


def test_decide_waits_for_the_lease_of_an_earlier_run_of_its_own():
    assert decide(None, None, MINE, 5.0) is ElectionStep.FOLLOW


@given(st.floats(0.001, 60), st.floats(0.1, 60))
def test_lease_outlasts_the_round_trips_between_two_renewals(round_trip_s, lease_s):
    """The answer to one renewal, then that to the next: the holder never stops between two, however slow the line."""
    trips = RoundTrips(lease_s)
    for _ in range(5):
        trips.add(round_trip_s)
    tenure = Tenure(0.0, trips.lease_s)
    next_at = round_trip_s if tenure.due(round_trip_s) else trips.lease_s / 3
    assert tenure.holds(next_at + round_trip_s)
    assert trips.is_too_long == (TRIPS * round_trip_s > lease_s)


def test_one_late_answer_does_not_stretch_the_lease():
    """A process that was stopped for a while measures that, too."""
    trips = RoundTrips(3.0)
    for seconds in (0.01, 0.01, 20.0, 0.01, 0.01):
        trips.add(seconds)
    assert trips.lease_s == 3.0
    assert not trips.is_too_long
