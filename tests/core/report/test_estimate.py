"""The one estimate: bounds that hold for all workloads, and the words for those that matter."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gcs.core.report.estimate import ENDED, NO_TIME, Outlook, deciding_hosts, estimate, limit_of, queue_s, span
from gcs.core.report.workload import SlowHost, TimeSpent, Workload

COUNTS, RATES, SECONDS = st.integers(0, 10**7), st.floats(0, 1e5), st.floats(0, 1e6)
HOSTS = st.builds(
    SlowHost, st.sampled_from(["a", "b", "c"]), st.integers(1, 10**6), st.floats(1e-3, 60), wait_s=SECONDS
)
SPENT = st.builds(TimeSpent, *[SECONDS] * 5)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    known = draw(COUNTS)
    return Workload(
        known=known,
        queued=draw(st.integers(0, known)),
        pages=draw(COUNTS),
        explored=draw(st.tuples(*[st.floats(0, 1)] * 3)),
        urls_per_s=draw(RATES),
        pages_per_s=draw(RATES),
        found_per_s=draw(RATES),
        spent=draw(SPENT),
        in_flight=draw(COUNTS),
        latency_s=draw(st.floats(0, 100)),
        slow=draw(st.lists(HOSTS, max_size=3)),
        slow_hosts=draw(COUNTS),
        counted=draw(COUNTS),
        max_pages=draw(st.just(0) | COUNTS),
        max_seconds=draw(st.just(0.0) | SECONDS),
        seconds_left=draw(st.none() | SECONDS),
        holds=draw(st.sampled_from(["", "waiting for the plan of the team"])),
    )


STATES = st.sampled_from(["running", "away", *NO_TIME])
TEAMS = st.lists(workloads(), max_size=4)


@given(TEAMS, STATES)
def test_estimate_is_within_its_bounds_and_never_negative(works: list[Workload], state: str) -> None:
    found = estimate(works, state)
    assert 0 <= found.low <= found.fraction <= found.high <= 1
    assert found.fraction <= found.progress <= 1
    known = [seconds for seconds in (found.soonest_s, found.eta_s, found.latest_s) if seconds is not None]
    assert known == sorted(known) and all(seconds >= 0 for seconds in known)
    assert found.limited_by in ("politeness", "latency", "cpu", "nothing")
    assert found.left or state == "away"


@given(TEAMS)
def test_estimate_of_a_limited_crawl_ends_with_its_limits(works: list[Workload]) -> None:
    found = estimate(works)
    most, rate = max((work.max_pages for work in works), default=0), sum(work.pages_per_s for work in works)
    ends = [work.seconds_left for work in works if work.seconds_left is not None]
    if most and rate:
        ends.append(max(most - sum(work.pages for work in works), 0) / rate)
    for seconds in (found.soonest_s, found.eta_s, found.latest_s):
        assert seconds is None or seconds <= min(ends, default=math.inf) + 0.1


@given(workloads(), st.integers(0, 10**6), st.sampled_from(["politeness", "latency", "cpu", "nothing"]))
def test_more_queued_urls_never_make_the_queue_shorter(work: Workload, more: int, limit: str) -> None:
    slow = [replace(work.slow[0], queued=work.slow[0].queued + more), *work.slow[1:]] if work.slow else []
    longer = replace(work, known=work.known + more, queued=work.queued + more, slow=slow, counted=work.counted + more)
    before, after = queue_s([work], limit), queue_s([longer], limit)
    if before is None:
        assert after is None
    elif after is not None and (limit != "politeness" or work.counted >= work.queued):
        assert after >= before * (1 - 1e-9)


@given(TEAMS, st.sampled_from(["paused", "stopping", "waiting"]))
def test_crawl_that_rests_has_no_time_left_and_no_limit(works: list[Workload], state: str) -> None:
    found = estimate(works, state)
    assert (found.eta_s, found.soonest_s, found.latest_s, found.at_least) == (None, None, None, False)
    assert (found.left, found.limited_by, found.why) == (NO_TIME[state], "nothing", "")


POLITE = TimeSpent(10, 0.5, 9, 1, 0)
WAITING = TimeSpent(10, 2, 0, 10, 0)
BUSY = TimeSpent(10, 9, 3, 7, 0)
IDLE = TimeSpent(10, 0.1, 0, 0, 10)


def polite(queued: int = 100, delay_s: float = 1.0, **more: object) -> Workload:
    """A gatherer that has asked one host for all it knows of, every `delay_s` seconds, and finds nothing new."""
    slow = [SlowHost("a.example", queued, delay_s, f"--delay {delay_s:g}")]
    share = 100 / (100 + queued)
    facts = {"slow": slow, "slow_hosts": 1, "counted": queued, "spent": POLITE, "urls_per_s": 0.9 / delay_s, **more}
    return Workload(100 + queued, queued, 100, (share, share, share), **facts)  # type: ignore[arg-type]


def test_polite_crawl_ends_with_the_queue_of_its_slowest_host() -> None:
    found = estimate([polite()])
    assert (found.soonest_s, found.eta_s, found.at_least) == (99.0, 99.0, False)
    assert found.text == "50 % explored, 1 min 39 s left, limited by 1 host at 1 page/s (--delay 1)"


def test_slowest_host_decides_whatever_the_others_bring() -> None:
    work = replace(polite(), known=100_000, queued=50_000, counted=50_000, urls_per_s=10_000.0)
    work = replace(work, slow=[*work.slow, SlowHost("b.example", 7, 0.2, "--delay 0.2")], explored=(0.5, 0.5, 0.5))
    assert estimate([work]).soonest_s == 99.0


def test_crawl_that_waits_for_answers_ends_at_its_rate() -> None:
    work = Workload(200, 100, 100, (0.5, 0.5, 0.5), 10.0, 10.0, spent=WAITING, in_flight=64, latency_s=0.5)
    assert estimate([work]).text == "50 % explored, 10 s left, waiting for answers (64 requests, 0.5 s each)"


def test_crawl_that_the_cpu_limits_says_so() -> None:
    found = estimate([Workload(200, 100, 100, (0.5, 0.5, 0.5), 10.0, 10.0, spent=BUSY)])
    assert (found.limited_by, found.why) == ("cpu", "limited by the CPU")


def test_end_is_at_least_so_far_while_urls_are_found() -> None:
    work = replace(polite(found_per_s=0.5), explored=(0.25, 0.1, 0.5))
    found = estimate([work])
    assert found.at_least and found.left == "at least 1 min 39 s left"
    assert found.soonest_s == 99.0 and found.eta_s == pytest.approx(99 + 200 / 0.9, abs=0.1)
    assert found.latest_s == pytest.approx(99 + 800 / 0.9, abs=0.1)


def test_hosts_of_several_gatherers_are_counted_once() -> None:
    """What two owners have queued for one host takes the time of both; other hosts are further ones."""
    one, other = polite(100), polite(50)
    found = estimate([one, other, replace(one, slow=[SlowHost("b.example", 90, 1.0, "--delay 1")])])
    assert found.soonest_s == 149.0
    assert found.why == "limited by 2 hosts at 1 page/s each (--delay 1)"


@pytest.mark.parametrize(
    ("delay_s", "text"),
    [(0.2, "5 pages/s"), (0.5, "2 pages/s"), (1.0, "1 page/s"), (10.0, "1 page in 10 s"), (0.03, "33.3 pages/s")],
)
def test_pace_of_a_host_is_said_in_words(delay_s: float, text: str) -> None:
    assert estimate([polite(delay_s=delay_s)]).why == f"limited by 1 host at {text} (--delay {delay_s:g})"


def test_max_pages_bounds_progress_and_time() -> None:
    found = estimate([polite(max_pages=110, pages_per_s=1.0, found_per_s=3.0)])
    assert (found.progress, found.eta_s, found.at_least) == (0.9091, 10.0, False)
    assert found.fraction == 0.5, "the share of the web is another figure"
    assert found.text.startswith("90 % of 110 pages, 10 s left until 110 pages, limited by")
    far = estimate([polite(max_pages=10_000, pages_per_s=1.0)])
    assert far.text.startswith("50 % explored, 1 min 39 s left, limited by"), "the crawl ends before"


def test_max_seconds_bounds_progress_and_time() -> None:
    found = estimate([polite(max_seconds=60.0, seconds_left=15.0)])
    assert (found.progress, found.eta_s) == (0.75, 15.0)
    assert found.text.startswith("75 % of 1 min 0 s, 15 s left until 1 min 0 s")


def test_gatherers_weigh_by_what_they_know() -> None:
    works = [Workload(900, 90, 0, (0.9, 0.9, 0.9)), Workload(100, 60, 0, (0.4, 0.4, 0.4))]
    assert estimate(works).fraction == 0.85


def test_idle_gatherers_do_not_hide_what_limits_the_others() -> None:
    idle = Workload(spent=IDLE)
    assert estimate([polite(), idle, idle, idle]).limited_by == "politeness"
    assert estimate([idle, replace(idle, known=5, queued=5, holds="waiting for the plan of the team")]).why == (
        "waiting for the plan of the team"
    )
    assert estimate([replace(idle, known=9, queued=2)]).why == "waiting to ask again for 2 URLs"


def test_limit_of_one_gatherer_is_known_after_its_first_seconds() -> None:
    assert limit_of(Workload(spent=BUSY)) == "cpu"
    assert limit_of(Workload(spent=TimeSpent(2, 2, 1, 1))) == "nothing"


def test_hosts_that_take_half_of_the_time_decide_the_end() -> None:
    hosts = [SlowHost("a", 100, 1.0), SlowHost("b", 60, 1.0), SlowHost("c", 10, 1.0)]
    assert deciding_hosts(Workload(500, 170, urls_per_s=3.0, slow=hosts)) == {"a", "b"}
    assert deciding_hosts(Workload(9_000, 8_000, urls_per_s=3.0, slow=hosts)) == frozenset(), "the others take longer"
    assert deciding_hosts(Workload(9, 8)) == frozenset()


def test_cpu_is_no_limit_of_a_gatherer_that_rests_most_of_the_time() -> None:
    """After a pause, what the process does beside the crawl must not count as its work."""
    assert limit_of(Workload(spent=TimeSpent(10, 1.2, 1.3, 0.2, 8.5))) == "politeness"


def test_what_limits_most_of_the_work_limits_a_team() -> None:
    works = [Workload(9, 5, spent=BUSY), Workload(9, 5, spent=POLITE), Workload(9, 5, spent=POLITE)]
    assert estimate(works).limited_by == "politeness"


def test_estimate_says_nothing_where_nothing_can_be_said() -> None:
    assert estimate([]) == replace(Outlook(), done="0 % explored")
    assert estimate([Workload()]).left == "no estimate yet"
    assert estimate([Workload(10, 5, 5, (0.5, 0.2, 0.5))]).left == "no estimate yet"


def test_whiteboard_that_does_not_answer_is_named() -> None:
    found = estimate([polite()], "away")
    assert (found.text, found.limited_by, found.eta_s) == ("50 % explored, waiting for Redis", "nothing", None)


def test_crawl_whose_queue_is_empty_is_ending() -> None:
    assert estimate([Workload(5, 0, 5, (1.0, 1.0, 1.0), spent=POLITE)]).left == "ending"


@pytest.mark.parametrize("state", sorted(ENDED))
def test_what_limited_a_crawl_names_no_host_of_its_last_moment(state: str) -> None:
    """The progress line has the last heartbeats, the report has the whole session: they say the same."""
    slow = [SlowHost("a", 1, 0.2, "--delay 0.2")]
    last = Workload(9, 0, 9, spent=TimeSpent(60, 1, 59, 0, 0), slow=slow, slow_hosts=1, in_flight=1)
    assert estimate([last], state).why == "limited by the delays of hosts"


@pytest.mark.parametrize("state", sorted(ENDED))
def test_estimate_of_the_end_says_what_limited_the_crawl(state: str) -> None:
    found = estimate([Workload(5, 0, 5, (1.0, 1.0, 1.0), spent=POLITE)], state)
    assert found.text == f"100 % explored, {NO_TIME[state]}, limited by the delays of hosts"


def test_all_but_a_little_is_not_all() -> None:
    assert estimate([Workload(10_000, 1, 9_999, (0.9999, 0.9999, 0.9999))]).done == "99 % explored"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (0.2, "1 s"), (59.5, "1 min 0 s"), (125, "2 min 5 s"), (3_900, "1 h 5 min"), (100_000, "1 d 3 h")],
)
def test_span_is_said_as_people_do(seconds: float, text: str) -> None:
    assert span(seconds) == text
