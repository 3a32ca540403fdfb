"""What a helper may start: never more than its owner lends, whatever happens when; and shifts as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.helpers.loan import ALL_DAYS, Allowance, LoanLimits, Shift, parse
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


MONDAY = datetime(2026, 11, 16)
shifts = st.builds(Shift, st.integers(0, 1439), st.integers(0, 1439), st.frozensets(st.integers(0, 6), min_size=1))
moments = st.integers(0, 14 * 1440).map(lambda minutes: MONDAY + timedelta(minutes=minutes))


def at(text: str) -> datetime:
    day, hour = text.split()
    number = ("mon", "tue", "wed", "thu", "fri", "sat", "sun").index(day)
    return MONDAY + timedelta(days=number, hours=int(hour[:2]), minutes=int(hour[3:]))


@pytest.mark.parametrize(
    ("moment", "on"),
    [
        *(("fri 21:59", False), ("fri 22:00", True), ("sat 00:00", True), ("sat 05:59", True), ("sat 06:00", False)),
        *(("sat 22:00", False), ("sun 03:00", False), ("mon 03:00", False), ("mon 22:00", True), ("tue 03:00", True)),
    ],
)
def test_shift_over_midnight_belongs_to_the_day_on_which_it_begins(moment, on):
    assert (parse("22:00-06:00", "mon-fri").ends_at(at(moment)) is not None) is on


def test_shift_says_when_it_ends_and_begins_next():
    shift = parse("22:00-06:00", "mon-fri")
    assert shift.ends_at(at("fri 23:30")) == at("sat 06:00")
    assert shift.ends_at(at("sat 01:00")) == at("sat 06:00")
    assert shift.next_begin(at("sat 01:00")) == at("mon 22:00") + timedelta(days=7)
    assert parse("9:00-12:30").next_begin(at("mon 09:00")) == at("mon 09:00")


def test_shift_of_equal_hours_lasts_the_whole_day():
    assert parse("08:00-08:00", "sun").ends_at(at("sun 08:00")) == at("sun 08:00") + timedelta(days=1)
    assert parse("00:00-00:00").ends_at(at("wed 23:59")) == at("thu 00:00")


@pytest.mark.parametrize(
    ("text", "days"),
    [("", range(7)), ("mon-fri", range(5)), ("sat,sun", (5, 6)), ("sun-tue", (6, 0, 1)), ("Wed , fri-sat", (2, 4, 5))],
)
def test_shift_days_as_people_write_them(text, days):
    assert parse("22:00-06:00", text).days == frozenset(days)


@pytest.mark.parametrize(
    "hours", ["", "22-6", "24:00-06:00", "22:00-06:60", "22:00", "22:00-06:00-07:00", "-1:00-2:00"]
)
def test_shift_that_is_none_is_told(hours):
    with pytest.raises(UsageError, match="22:00-06:00"):
        parse(hours)
    with pytest.raises(UsageError, match="mon-fri"):
        parse("22:00-06:00", "mon-fry")


@given(shifts, moments)
def test_shift_is_on_exactly_between_its_beginnings_and_its_ends(shift, now):
    """The oracle walks back minute by minute to the last beginning."""
    begin = next(
        (
            before
            for before in (now - timedelta(minutes=ago) for ago in range(shift.minutes))
            if before.hour * 60 + before.minute == shift.begin_min and before.weekday() in shift.days
        ),
        None,
    )
    assert shift.ends_at(now) == (begin + timedelta(minutes=shift.minutes) if begin else None)


@given(shifts, moments)
def test_shift_is_on_when_it_begins(shift, now):
    begin = shift.next_begin(now)
    assert begin >= now
    assert shift.ends_at(begin) == begin + timedelta(minutes=shift.minutes)


@given(shifts)
def test_shift_reads_what_it_writes(shift):
    hours, _, days = str(shift).partition(" ")
    assert parse(hours, days) == shift
    assert days or shift.days == ALL_DAYS


@given(shifts, moments, st.integers(-12 * 4, 14 * 4))
def test_shift_in_utc_rings_when_the_wall_shows_its_beginning(shift, now, quarters):
    """cron's own reckoning is the oracle."""
    here = timezone(timedelta(minutes=15 * quarters))
    now = now.replace(tzinfo=here)
    rings = croniter(shift.cron(now), (now - timedelta(seconds=1)).astimezone(UTC)).get_next(datetime)
    assert rings == shift.next_begin(now)
