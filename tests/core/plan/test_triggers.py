"""When to rebalance, and when not to."""

import random
from dataclasses import replace

import msgspec
import pytest

from gcs.core.messages.tuples import Member
from gcs.core.plan.expression import Expression
from gcs.core.plan.plan import Plan
from gcs.core.plan.team_settings import TeamSettings
from gcs.core.plan.triggers import NAMES, RebalancePace, TeamState, is_forced, reason

SETTINGS = TeamSettings(rebalance_s=2.0, idle_share=0.25, idle_urls=50, locality=2.0)
PLAN = Plan(4, ("g1", "g2", "g3"), (b"", b"b", b"c"), (0, 1, 2))
LATER = 1000.0


def team(*queued: int, **other) -> TeamState:
    members = (Member(f"g{n + 1}", "r", figures={"queued": left}) for n, left in enumerate(queued))
    return TeamState(PLAN, tuple(members), **other)


def replace_figures(member: Member, **figures: float) -> Member:
    return msgspec.structs.replace(member, figures=member.figures | figures)


def why(state: TeamState, now: float = LATER, pace: RebalancePace | None = None, trigger: str = "") -> str:
    expression = Expression(trigger, NAMES) if trigger else None
    return reason(state, SETTINGS, pace or RebalancePace.begin(0.0, SETTINGS), now, expression)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (team(100, 100, 100), ""),
        (team(), ""),
        (team(0, 0, 0), ""),
        (team(300, 300, 10), "idle: g3"),
        (team(300, 300, 60), ""),
        (team(100, 10, 0), ""),  # too little to share
        (team(100, 100, 100, 100), "join: g4"),
        (team(100, 100, leaving=("g3",)), "quit: g3"),
        (team(100, leaving=("g2", "g3")), "quit: g2, g3"),
        (team(100, 100, 100, asked="user"), "asked: user"),
        (team(300, 300, 10, asked="user", leaving=("g3",)), "asked: user"),
        (team(100, 100, 100, locality=2.5), "locality: 2.50"),
        (team(100, 100, 100, locality=1.9), ""),
        (team(300, 300, 10, paused=True), ""),
        (team(100, 100, 100, locality=9.0, paused=True), ""),
        (team(100, 100, 100, 100, paused=True), "join: g4"),
        (team(900), ""),
    ],
)
def test_reason(state, expected):
    assert why(state) == expected


def test_what_is_in_flight_is_no_work_to_give():
    """A gatherer that only waits for answers will soon have nothing to do; and nobody can relieve it of these."""
    *others, last = team(300, 300, 300).active
    last = replace_figures(last, in_flight=290.0)
    assert why(replace(team(), active=(*others, last))) == "idle: g3"
    others = [replace_figures(member, in_flight=290.0) for member in others]
    assert why(replace(team(), active=(*others, last))) == ""


@pytest.mark.parametrize(("pages_per_s", "expected"), [(100.0, "idle: g3"), (290.0, "idle: g3"), (310.0, "")])
def test_work_that_is_over_sooner_than_a_rebalance_pays_is_not_shared(pages_per_s, expected):
    first, *others = team(300, 300, 0).active
    first = replace_figures(first, pages_per_s=pages_per_s)
    assert why(replace(team(), active=(first, *others))) == expected


def test_short_queue_of_a_slow_site_is_shared():
    """At one page a second, 60 URLs are a minute of work, and two gatherers have none."""
    first, *others = team(60, 0, 0).active
    state = replace(team(), active=(replace_figures(first, pages_per_s=1.0), *others))
    settings = TeamSettings()
    assert reason(state, settings, RebalancePace.begin(0.0, settings), 100.0) == "idle: g2"


def test_member_without_superpages_is_no_reason_to_join():
    plan = Plan(4, ("g1", "g2", "g3"), (b"",), (0,))
    assert why(replace(team(10, 0, 0), plan=plan)) == ""


@pytest.mark.parametrize(
    ("trigger", "holds"),
    [
        ("members == 3 and queued == 610", True),
        ("imbalance > 0.4", True),
        ("epoch_s >= 1000 and superpages == 3", True),
        ("urls_per_page > 0 or busy > 0", False),
        ("queued / pages > 5", True),  # nothing fetched yet: infinitely many
    ],
)
def test_users_expression_is_a_reason(trigger, holds):
    state = team(300, 300, 10)
    pace = replace(RebalancePace.begin(0.0, SETTINGS), futile=610.0)  # so that idle is none
    expected = f"trigger: {trigger}" if holds else ""
    assert why(state, pace=pace, trigger=trigger) == expected


def test_only_calls_and_comings_and_goings_are_forced():
    causes = ["asked: x", "quit: g1", "join: g1", "idle: g1", "locality: 3", "trigger: 1", ""]
    assert [is_forced(cause) for cause in causes] == [True, True, True, False, False, False, False]


def test_join_waits_and_quit_does_not():
    pace = RebalancePace.begin(10.0, SETTINGS)
    assert why(team(1, 1, 1, 1), 11.0, pace) == ""
    assert why(team(1, 1, 1, 1), 12.0, pace) == "join: g4"
    assert why(team(1, 1, 1, 1, leaving=("g2",)), 10.0, pace) == "quit: g2"


def test_pace_doubles_up_to_sixteen_times_and_starts_anew_after_a_quiet_time():
    pace, now, waits = RebalancePace.begin(0.0, SETTINGS), 0.0, []
    for _ in range(7):
        now += pace.wait_s
        assert pace.is_open(now) and not pace.is_open(now - 0.01)
        pace = pace.decided("idle: g1", now, SETTINGS, moved=0.5, left=100)
        waits.append(pace.wait_s)
    assert waits == [1, 2, 4, 8, 16, 32, 32]
    assert pace.decided("join: g9", now + 1, SETTINGS, moved=0.5, left=100).wait_s == 32
    assert pace.decided("idle: g1", now + 64, SETTINGS, moved=0.5, left=100).wait_s == 4


@pytest.mark.parametrize(("left", "rate", "wait_s"), [(0, 0, 1.0), (5, 0, 32.0), (5, 30, 1.0), (6, 30, 32.0)])
def test_member_with_next_to_nothing_waits_a_second_and_one_with_little_as_long_as_all(left, rate, wait_s):
    """Half a second of work of one of the three is next to nothing."""
    pace = replace(RebalancePace.begin(0.0, SETTINGS), wait_s=32.0)
    state = team(600, left, 600)
    first, *others = state.active
    state = replace(state, active=(replace_figures(first, pages_per_s=rate), *others))
    assert (why(state, wait_s - 0.01, pace), why(state, wait_s, pace)) == ("", "idle: g2")


def test_attempt_that_could_not_help_makes_nobody_wait_longer():
    pace = RebalancePace.begin(0.0, SETTINGS)
    assert pace.decided("idle: g1", 1.0, SETTINGS, moved=0.0, left=100).wait_s == pace.wait_s


@pytest.mark.parametrize(("queued", "again"), [(600, False), (1500, False), (300, True), (2200, True)])
def test_idle_member_that_could_not_be_helped_is_no_reason_until_much_has_changed(queued, again):
    pace = RebalancePace.begin(0.0, SETTINGS).decided("idle: g2", 5.0, SETTINGS, moved=0.0, left=1000)
    assert why(team(queued, 0, 0), pace=pace) == ("idle: g2" if again else "")


def test_surveys_become_rare():
    pace, now, times = RebalancePace.begin(0.0, SETTINGS), 0.0, []
    while now < 400:
        now += 0.5
        if pace.is_survey_due(now):
            times.append(now)
            pace = pace.surveyed(now, SETTINGS)
    assert times == [4, 12, 28, 60, 124, 188, 252, 316, 380]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("helps", [True, False])
def test_healthy_crawl_is_not_rebalanced_for_ever(seed, helps):
    """Members drain their queues at their own, unsteady speeds, for an hour; a rebalance evens them out, or cannot."""
    dice = random.Random(seed)
    left = [dice.uniform(500, 2000) for _ in range(3)]
    speeds = [dice.uniform(0.8, 1.2) for _ in range(3)]
    pace, rebalances = RebalancePace.begin(0.0, SETTINGS), 0
    for beat in range(7200):
        now = beat / 2
        left = [max(each + dice.gauss(0, 3) - 0.1 * speed, 0.0) for each, speed in zip(left, speeds)]
        if not helps:
            left[2] = 0.0
        cause = why(team(*(round(each) for each in left)), now, pace)
        if cause:
            rebalances += 1
            pace = pace.decided(cause, now, SETTINGS, moved=0.3 if helps else 0.0, left=sum(left))
            left = [sum(left) / 3] * 3 if helps else left
    assert rebalances <= 8
