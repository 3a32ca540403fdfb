"""Politeness: delays, their growth and decay."""

import pytest

from gcs.core.polite.politeness import (
    HostPace,
    Politeness,
    answered,
    connections_of,
    delay_of,
    retry_after_s,
    retry_at,
    start_at,
    started,
)
from tests.limits import cpu_limit

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
    assert start_at(pace, 14.0) == 15.0


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


def test_answers_to_requests_that_were_under_way_together_count_once() -> None:
    """Five 429 within milliseconds are one event: the host could not be left alone any sooner."""
    rules, pace, now = Politeness(delay_s=0.0, overload_s=1.0), HostPace(), 0.0
    for _ in range(5):
        started(pace, rules, now)
    for status in (200, 429, 429, 200, 429):
        now += 0.01
        answered(pace, rules, now, status, 7.0 if now > 0.04 else 0.0)
    assert delay_of(pace, rules) == 1.0, "raised once, and not worn off by what was under way"
    assert pace.next_at == pytest.approx(0.05 + 7.0), "whoever says for how long to wait is heard"
    started(pace, rules, 10.0)
    answered(pace, rules, 10.0, 429)
    assert delay_of(pace, rules) == 2.0, "a request that was sent later counts"


def test_retry_after_is_obeyed_up_to_the_longest_pause() -> None:
    for asked, pause in ((30.0, 30.0), (1e9, RULES.max_pause_s)):
        pace = HostPace()
        started(pace, RULES, 0.0)
        answered(pace, RULES, 0.0, 429, asked)
        assert start_at(pace, 0.0) == pause


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120.0), (" 7 ", 7.0), ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0), ("soon", 0.0), ("-3", 0.0), ("\xb2", 0.0)],
)
def test_retry_after_is_seconds_or_a_date_and_whatever_else_a_server_says_is_nothing(
    header: str, seconds: float
) -> None:
    assert retry_after_s(header, "Thu, 01 Jan 1970 00:01:00 GMT") == seconds


def test_retry_after_is_nothing_where_it_is_a_date_and_the_server_does_not_say_what_time_it_is() -> None:
    for date in ("", "noon"):
        assert retry_after_s("Thu, 01 Jan 1970 00:01:40 GMT", date) == 0.0


def test_host_without_delay_may_be_asked_over_several_connections() -> None:
    assert connections_of(HostPace(), Politeness(delay_s=0.0, host_connections=4)) == 4
    assert connections_of(HostPace(crawl_delay_s=0.1), Politeness(delay_s=0.0, host_connections=4)) == 1


def test_retry_backs_off_and_gives_up() -> None:
    assert [retry_at(tries, 3, RULES, 100.0) for tries in (1, 2, 3)] == [105.0, 110.0, None]
    assert retry_at(1, 3, RULES, 100.0, retry_after_s=60.0) == 160.0


@pytest.mark.parametrize("header", ["\x1c20", "20\x1f", " 20 "])
def test_retry_after_bears_the_blanks_that_a_server_sends(header: str) -> None:
    """An engine that hands them on ended the crawl: float() does not strip them, strip() does."""
    assert retry_after_s(header, "") == 20.0


@pytest.mark.parametrize(
    "header", ["", "x", "\ud800", "1" * 5_000 + "x", "Wed, 99 Oct 99999 99:99:99 GMT", "(" * 50_000]
)
def test_retry_after_says_nothing_where_it_is_none(header: str) -> None:
    with cpu_limit(1.0):
        assert retry_after_s(header, "") == 0.0
