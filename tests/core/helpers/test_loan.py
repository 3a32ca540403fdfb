"""What a helper may start: never more than its owner lends, whatever happens when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.helpers.loan import Allowance, LoanLimits
from gcs.errors import UsageError

steps = st.lists(st.tuples(st.floats(0.0, 2.0), st.floats(0.0, 1.0)), max_size=60)


def test_allowance_without_limits_is_its_connections():
    allowance = Allowance(LoanLimits(connections=4), 0.0, 0.0)
    assert [allowance.starts(0.0, 100.0, doing) for doing in (0, 3, 4, 5)] == [4, 1, 0, 0]


@given(steps, st.floats(0.5, 20.0))
def test_allowance_of_a_rate_is_kept_over_any_time(happened, rate):
    allowance, now, started = Allowance(LoanLimits(4, rate=rate), 0.0, 0.0), 0.0, 0
    for passed, _ in happened:
        now += passed
        free = allowance.starts(now, 0.0, 0)
        allowance.started(now, free)
        started += free
        assert started <= now * rate + 1.001


@given(steps, st.floats(0.05, 0.95))
def test_allowance_of_cpu_is_kept_over_any_time(happened, share):
    """Each errand costs some CPU after it was started; what is spent stays near the share."""
    allowance, now, spent, costliest = Allowance(LoanLimits(1, cpu=share), 0.0, 0.0), 0.0, 0.0, 0.0
    for passed, cost in happened:
        now += passed
        if allowance.starts(now, spent, 0):
            spent += cost
            costliest = max(costliest, cost)
        assert spent <= share * now + costliest + 0.2501


def test_allowance_of_cpu_lets_go_on_after_a_rest():
    allowance = Allowance(LoanLimits(2, cpu=0.5), 0.0, 0.0)
    assert allowance.starts(0.0, 5.0, 0) == 0
    assert allowance.starts(9.0, 5.0, 0) == 0
    assert allowance.starts(10.0, 5.0, 0) == 2


def test_allowance_of_bytes_ends_all_help():
    allowance = Allowance(LoanLimits(4, max_bytes=1000), 0.0, 0.0)
    allowance.fetched(999)
    assert not allowance.is_spent and allowance.starts(1.0, 0.0, 0) == 4
    allowance.fetched(1)
    assert allowance.is_spent and allowance.starts(1.0, 0.0, 0) == 0


@pytest.mark.parametrize("limits", [{"connections": 0}, {"rate": -1.0}, {"cpu": -0.1}, {"max_bytes": -1}])
def test_allowance_of_less_than_nothing_is_told(limits):
    with pytest.raises(UsageError, match="limits of a helper"):
        LoanLimits(**limits)
