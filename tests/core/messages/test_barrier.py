"""Gatherers in supersteps, on a clock and a board that the test moves."""

import random
from dataclasses import replace

import pytest

from gcs.core.messages.barrier import REPEAT_S, Barrier, Phase, SuperstepState
from gcs.core.messages.tuples import SuperstepDone
from gcs.core.report.counters import PhaseTimes

AT_WORK = SuperstepState(("a", "b"), is_quiet=False, is_full=False, is_sent=True, is_committed=True)
QUIET = replace(AT_WORK, is_quiet=True)


def begun(me: str = "a", pages: int = 3) -> Barrier:
    """A gatherer in its first superstep, while the other one is idle."""
    barrier = Barrier(me, pages, 60.0, PhaseTimes())
    barrier.heard(SuperstepDone("b" if me == "a" else "a", 0, idle=True))
    assert barrier.turn(0.0, AT_WORK) == SuperstepDone(me, 0)
    assert (barrier.phase, barrier.number) == (Phase.COMPUTE, 1)
    return barrier


def test_no_request_may_start_before_the_others_are_known() -> None:
    barrier = Barrier("a", 3, 60.0, PhaseTimes())
    note = barrier.turn(0.0, AT_WORK)
    assert (note.number, note.idle) == (0, True)
    assert barrier.room(0) == 0
    barrier.heard(Barrier("b", 3, 60.0, PhaseTimes()).turn(0.0, QUIET))
    barrier.turn(0.1, AT_WORK)
    assert barrier.room(0) == 3


def test_superstep_has_room_for_its_pages() -> None:
    barrier = begun(pages=3)
    assert [barrier.room(under_way) for under_way in (0, 2, 3)] == [3, 1, 0]
    barrier.fetched()
    assert barrier.room(1) == 1


@pytest.mark.parametrize("end", ["pages", "time", "full", "no work"])
def test_superstep_ends(end: str) -> None:
    barrier, state, now = begun(pages=2), replace(AT_WORK, is_sent=False, is_committed=False), 59.9
    barrier.turn(now, state)
    assert barrier.phase is Phase.COMPUTE
    if end == "pages":
        barrier.fetched()
        barrier.turn(now, state)
        assert barrier.phase is Phase.COMPUTE
        barrier.fetched()
    now += 0.1 if end == "time" else 0
    state = replace(state, is_full=end == "full", is_quiet=end == "no work")
    barrier.turn(now, state)
    assert barrier.phase is Phase.COMMUNICATE
    assert barrier.room(0) == 0


def test_gatherer_says_that_it_is_done_when_the_others_have_what_it_found() -> None:
    barrier = begun(pages=1)
    barrier.fetched()
    assert barrier.turn(0.1, replace(AT_WORK, is_sent=False, is_committed=False)) is None
    assert barrier.turn(0.2, replace(AT_WORK, is_committed=False)) is None
    assert barrier.phase is Phase.WAIT
    assert barrier.turn(0.3, AT_WORK) == SuperstepDone("a", 1)


def test_gatherer_waits_for_those_that_are_behind_and_says_again_where_it_is() -> None:
    barrier, behind = begun(pages=1), begun("b", pages=1)
    for one, other in ((barrier, behind), (behind, barrier)):
        one.heard(other.turn(REPEAT_S, AT_WORK))
    barrier.fetched()
    done = barrier.turn(2.0, AT_WORK)
    assert done == SuperstepDone("a", 1)
    assert barrier.turn(2.0 + REPEAT_S / 2, AT_WORK) is None
    assert barrier.turn(2.0 + REPEAT_S, AT_WORK) == done
    assert barrier.phase is Phase.WAIT
    behind.fetched()
    barrier.heard(behind.turn(4.0, AT_WORK))
    assert barrier.turn(4.0, AT_WORK) == SuperstepDone("a", 1)
    assert (barrier.phase, barrier.number) == (Phase.COMPUTE, 2)


def test_gatherer_that_joins_takes_part_in_the_next_superstep() -> None:
    barrier = Barrier("a", 3, 60.0, PhaseTimes())
    state = replace(AT_WORK, gatherers=("a", "b", "c"))
    assert barrier.turn(0.0, state).idle
    barrier.heard(SuperstepDone("b", 7))
    barrier.heard(SuperstepDone("c", 6))
    barrier.turn(0.1, state)
    assert barrier.phase is Phase.WAIT, "c is still in superstep 7"
    barrier.heard(SuperstepDone("c", 7))
    assert barrier.turn(0.2, state) == SuperstepDone("a", 7)
    assert (barrier.phase, barrier.number) == (Phase.COMPUTE, 8)


def test_nobody_waits_for_a_gatherer_that_has_left_the_plan() -> None:
    barrier = begun(pages=1)
    barrier.heard(SuperstepDone("b", 0))
    barrier.fetched()
    barrier.turn(1.0, AT_WORK)
    assert barrier.phase is Phase.WAIT
    barrier.turn(1.1, replace(AT_WORK, gatherers=("a",)))
    assert (barrier.phase, barrier.number) == (Phase.COMPUTE, 2)


def test_time_of_each_phase_is_counted() -> None:
    times = PhaseTimes()
    barrier = Barrier("a", 1, 60.0, times)
    alone = replace(AT_WORK, gatherers=("a",))
    barrier.turn(0.0, alone)
    barrier.turn(5.0, alone)
    barrier.fetched()
    barrier.turn(7.0, replace(alone, is_sent=False, is_committed=False))  # computed for 7 s
    barrier.turn(10.0, replace(alone, is_committed=False))  # communicated for 3 s
    barrier.turn(10.5, alone)  # waited for 0.5 s
    assert times == PhaseTimes(supersteps=2, computation_s=7.0, communication_s=3.0, waiting_s=0.5)


@pytest.mark.parametrize("is_rough", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_team_never_drifts_apart_and_never_stands_still(seed: int, is_rough: bool) -> None:
    """Gatherers of all speeds; URLs come by chance.

    Rough: one is started again, and the board forgets some of what it was told. Then the team only has to go on.
    """
    chance, names = random.Random(seed), ("a", "b", "c", "d")
    speeds = {name: chance.choice((1, 3, 30)) for name in names}
    todo = {name: chance.randrange(1, 60) for name in names}
    team = {name: Barrier(name, 5, 1_000.0, PhaseTimes()) for name in names}
    sent: dict[str, int] = dict.fromkeys(names, 0)  # turns until what was sent is committed
    working: dict[str, bool] = dict.fromkeys(names, False)
    now = 0.0
    while any(todo.values()) and now < 5_000:
        now += 0.5
        if is_rough and now == 40.0:
            team["a"] = Barrier("a", 5, 1_000.0, PhaseTimes())
        for name in chance.sample(names, 4):
            barrier = team[name]
            if now % speeds[name] == 0 and todo[name] and barrier.room(0) > 0:
                barrier.fetched()
                todo[name] -= 1
                sent[name] = 2
                if chance.random() < 0.3:
                    todo[chance.choice(names)] += 1
            sent[name] = max(sent[name] - 1, 0) if barrier.phase is not Phase.COMPUTE else sent[name]
            state = SuperstepState(names, todo[name] == 0, False, sent[name] < 2, sent[name] == 0)
            note = barrier.turn(now, state)
            working[name] = barrier.phase is Phase.COMPUTE
            if note and not (is_rough and chance.random() < 0.2):
                for other in team.values():
                    other.heard(note)
        at_work = [team[name].number for name in names if working[name]]
        assert is_rough or not at_work or max(at_work) - min(at_work) <= 1
    assert not any(todo.values()), "everybody waits"
