"""Politeness: delays, their growth and decay, and the turns at a shared host."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.polite.politeness import (
    JITTER_S,
    HostPace,
    HostTurn,
    Politeness,
    answered,
    connections_of,
    delay_of,
    next_turn,
    retry_after_s,
    retry_at,
    start_at,
    started,
)

RULES = Politeness(delay_s=1.0, retry_s=5.0, tries=3, max_pause_s=100.0)


def test_delay_is_the_largest_of_setting_robots_and_adaptive() -> None:
    assert delay_of(HostPace(), RULES) == 1.0
    assert delay_of(HostPace(crawl_delay_s=7.0), RULES) == 7.0
    assert delay_of(HostPace(crawl_delay_s=1e9), RULES) == RULES.max_crawl_delay_s
    assert delay_of(HostPace(adaptive_s=3.0, crawl_delay_s=2.0), RULES) == 3.0


def test_delay_counts_from_the_end_of_a_request() -> None:
    pace = HostPace()
    started(pace, RULES, 10.0)
    answered(pace, RULES, 14.0, 200)
    assert start_at(pace, RULES, 14.0) == 15.0


def test_overload_doubles_the_delay_and_good_answers_bring_it_back() -> None:
    pace = HostPace()
    delays = []
    for status in (503, 503, 429, *[200] * 30):
        started(pace, RULES, 0.0)
        answered(pace, RULES, 0.0, status)
        delays.append(delay_of(pace, RULES))
    assert delays[:3] == [2.0, 4.0, 8.0]
    assert delays[3:] == sorted(delays[3:], reverse=True)
    assert delays[-1] == RULES.delay_s


def test_retry_after_is_obeyed_up_to_the_longest_pause() -> None:
    for asked, pause in ((30.0, 30.0), (1e9, RULES.max_pause_s)):
        pace = HostPace()
        started(pace, RULES, 0.0)
        answered(pace, RULES, 0.0, 429, asked)
        assert start_at(pace, RULES, 0.0) == pause


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120.0), (" 7 ", 7.0), ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0), ("soon", 0.0), ("-3", 0.0), ("\xb2", 0.0)],
)
def test_retry_after_is_seconds_or_a_date_and_whatever_else_a_server_says_is_nothing(
    header: str, seconds: float
) -> None:
    assert retry_after_s(header, 60.0) == seconds


def test_host_without_delay_may_be_asked_over_several_connections() -> None:
    assert connections_of(HostPace(), Politeness(delay_s=0.0, host_connections=4)) == 4
    assert connections_of(HostPace(crawl_delay_s=0.1), Politeness(delay_s=0.0, host_connections=4)) == 1


def test_retry_backs_off_and_gives_up() -> None:
    assert [retry_at(tries, RULES, 100.0) for tries in (1, 2, 3)] == [105.0, 110.0, None]
    assert retry_at(1, RULES, 100.0, retry_after_s=60.0) == 160.0


@given(
    count=st.integers(2, 8),
    delay=st.floats(0.05, 20.0),
    starts=st.lists(st.tuples(st.integers(0, 7), st.floats(0, 1000)), min_size=2, max_size=40),
)
def test_turns_keep_the_owners_of_a_host_one_delay_apart(count: int, delay: float, starts: list) -> None:
    """Owners that know nothing of one another, each starting whenever its turn lets it."""
    at: set[float] = set()
    for owner, earliest in starts:
        at.add(next_turn(earliest, delay, HostTurn(owner % count, count)))
    slots: dict[int, list[float]] = {}
    for moment in sorted(at):
        slots.setdefault(round(moment / (1.25 * delay + JITTER_S) - 0.05), []).append(moment)
    moments = [group[0] for _, group in sorted(slots.items())]  # one owner's own starts are spaced by its pace
    assert all(later - earlier >= 1.1 * delay for earlier, later in pairwise(moments))


@given(adaptive=st.floats(0, 50), crawl_delay=st.floats(0, 5), now=st.floats(0, 1e6))
def test_turn_is_where_all_owners_expect_it_whatever_one_of_them_was_answered(adaptive, crawl_delay, now) -> None:
    """A 503 that only one has seen makes it wait longer, but does not shift it into another's slot."""
    pace = HostPace(crawl_delay_s=crawl_delay, adaptive_s=adaptive, next_at=now + adaptive, turn=HostTurn(1, 3))
    at = start_at(pace, RULES, now)
    assert at >= now + adaptive
    assert at == pytest.approx(next_turn(at, max(RULES.delay_s, crawl_delay), pace.turn))


@given(earliest=st.floats(0, 1e6), delay=st.floats(0.01, 60), count=st.integers(1, 16), data=st.data())
def test_turn_is_never_early_and_at_most_a_round_late(earliest: float, delay: float, count: int, data) -> None:
    turn = HostTurn(data.draw(st.integers(0, count - 1)), count)
    at = next_turn(earliest, delay, turn)
    assert earliest <= at <= earliest + (1.25 * delay + JITTER_S) * count * 1.001 + 1e-6
